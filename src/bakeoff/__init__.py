"""Run many attempts at a piece of code work at once, judge them by evidence, keep the best."""

__version__ = "0.1.0"
