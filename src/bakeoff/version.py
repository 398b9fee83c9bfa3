"""Version of this package, where every floor can read it: nothing here imports the package's top."""

__version__ = "0.1.0"
