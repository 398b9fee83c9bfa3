"""The command line: parse, call a job, show progress, choose an exit status."""

import gc


def main() -> None:
    """Run the command line."""
    # Nearly all that a command makes lives as long as it: searching it for garbage at the usual pace, and once more
    # when the interpreter ends, would take a quarter of a short command's time.
    gc.set_threshold(50_000, 20, 20)
    try:
        from bakeoff.cli.main import cli

        cli()
    finally:
        gc.freeze()
