"""The command line: parse, call a job, show progress, choose an exit status."""

import gc
import sys


def main() -> None:
    """Run the command line and leave with its exit status."""
    if sys.platform == "win32":
        sys.stderr.write("error: bakeoff does not run on Windows; use it inside WSL 2\n")
        sys.exit(1)
    # What imports and short commands make lives to the end; looking for garbage in it costs a tenth of their time.
    # Commands that go on for long switch it on again.
    gc.disable()
    from bakeoff.cli.main import run_command_line

    sys.exit(run_command_line())


def go_on_for_long() -> None:
    """From here on garbage is collected; what has been imported is none."""
    gc.freeze()
    gc.enable()
