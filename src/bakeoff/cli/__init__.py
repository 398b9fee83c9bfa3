"""The command line: parse, call a job, show progress, choose an exit status."""

import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    if sys.platform == "win32":
        sys.stderr.write("error: bakeoff does not run on Windows; use it inside WSL 2\n")
        sys.exit(1)
    from bakeoff.cli.main import run_command_line

    sys.exit(run_command_line())
