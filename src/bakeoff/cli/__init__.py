"""The command line: parse, call a job, show progress, choose an exit status."""

import contextlib
import gc
import os
import signal
import sys

_DIGITS = 4300


def main() -> None:
    """Run the command line and leave with its exit status."""
    if sys.platform == "win32":
        sys.stderr.write("error: bakeoff does not run on Windows; use it inside WSL 2\n")
        sys.exit(1)
    _open_standard_streams()
    # What others wrote may hold numbers of any length, which take ever longer to read. A variable that lifts Python's
    # own bound on that is meant for other programs.
    sys.set_int_max_str_digits(min(sys.get_int_max_str_digits() or _DIGITS, _DIGITS))
    # Nearly all that a command makes lives as long as it: searching it for garbage at the usual pace, and once more
    # when the interpreter ends, would take a quarter of a short command's time.
    gc.set_threshold(50_000, 20, 20)
    try:
        from bakeoff.cli.command_line import run_command_line

        sys.exit(run_command_line())
    except KeyboardInterrupt:  # before there was anything to stop
        sys.exit(130)
    finally:
        gc.freeze()
        # All is done and said: a Ctrl-C that comes now, a second one mostly, ends what is left without a traceback.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _open_standard_streams() -> None:
    """Open what was closed (`>&-`) to nowhere; else the next file opened takes its number, and is printed into."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, mode, closefd=False, encoding="utf-8"))  # noqa: SIM115 - for good
