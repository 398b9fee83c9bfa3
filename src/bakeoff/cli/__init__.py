"""The command line: parse, call a job, show progress, choose an exit status."""

import gc
import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    if sys.platform == "win32":
        sys.stderr.write("error: bakeoff does not run on Windows; use it inside WSL 2\n")
        sys.exit(1)
    # Nearly all that a command makes lives as long as it: searching it for garbage at the usual pace, and once more
    # when the interpreter ends, would take a quarter of a short command's time.
    gc.set_threshold(50_000, 20, 20)
    try:
        from bakeoff.cli.main import run_command_line

        sys.exit(run_command_line())
    finally:
        gc.freeze()
