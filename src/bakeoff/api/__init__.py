"""Functions of Python made durable: `fan_out`, `race`, `durable`, workers in processes of their own, plain twins."""
