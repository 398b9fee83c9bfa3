"""The commands by name. Each is imported when it is called, so that `--help` and small commands start fast."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping

import click

from bakeoff.cli.lazy import LazyGroup
from bakeoff.errors import BakeoffError
from bakeoff.jobs.registry import JOBS
from bakeoff.version import __version__

_FULL = (errno.ENOSPC, errno.EDQUOT)

COMMANDS = {
    "diff": "Print what an attempt or a winner changes.",
    "apply": "Take an attempt or a winner over into your files.",
    "resume": "Go on with a run that stopped.",
    "cancel": "Stop a live run.",
    "answer": "Decide a gate that a run waits at.",
    "runs": "List the runs of this project.",
    "show": "Show one run.",
    "logs": "Print what a run's steps printed.",
    "watch": "Follow a live run.",
    "report": "Write a run as one HTML file.",
    "validate": "Check a workflow file without running it.",
    "schema": "Print the JSON Schema of workflow files.",
    "slots": "List the slots of all projects.",
    "clean": "Remove runs that are no longer wanted, and slots that nobody owns.",
    "doctor": "Tell what this machine and login can do.",
    "completion": "Print a shell's completion script.",
}
"""What `--help` lists after the commands of jobs; the command NAME is `command` in `bakeoff.cli.NAME`."""


class Commands(LazyGroup):
    """The commands of the jobs that are registered, then those that are for runs of all jobs."""

    @property
    def table(self) -> Mapping[str, str]:
        """See `LazyGroup`."""
        return {name: text for name, (_, text) in _of_jobs().items()} | COMMANDS

    @property
    def places(self) -> Mapping[str, str]:
        """See `LazyGroup`."""
        return {name: place for name, (place, _) in _of_jobs().items()}


def _of_jobs() -> dict[str, tuple[str, str]]:
    return {name: command for entry in JOBS.values() for name, command in entry.commands.items()}


@click.command(cls=Commands, prefix="bakeoff.cli.", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bakeoff")
def cli() -> None:
    """Run many attempts at a piece of code work at once, judge them by evidence, keep the best."""
    from bakeoff.cli.run_lookup import sweep_dead_runs

    sweep_dead_runs()


def run_command_line() -> int:
    """Run the command that was typed; returns the exit status. No traceback reaches a person."""
    try:
        status = cli.main(prog_name="bakeoff", standalone_mode=False)
    except click.ClickException as failure:
        failure.show()
        if isinstance(failure, click.NoSuchOption) and any(map(_is_text, sys.argv[1:])):
            click.echo("A text that begins with a hyphen stands last, behind `--`: bakeoff ... -- TEXT", err=True)
        return failure.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BakeoffError as failure:
        from bakeoff.report.escape import visible

        click.echo(f"error: {visible(str(failure))}", err=True)
        return failure.exit_status
    except (Exception, BaseExceptionGroup) as fault:
        if isinstance(fault, OSError) and fault.errno in (errno.EPIPE, errno.EIO):
            from bakeoff.cli.output import stdout_is_gone

            stdout_is_gone()
            return 1
        if isinstance(fault, OSError) and fault.errno in (*_FULL, errno.EFBIG):
            from bakeoff.cli.output import stdout_is_gone

            stdout_is_gone()
            where = fault.filename or "what this command prints"
            click.echo(f"error: {where} cannot be written: {str(fault.strerror).lower()}", err=True)
            return 1
        refused = _refused(fault)
        if refused is not None:
            from bakeoff.report.escape import one_line

            click.echo(f"error: {one_line(refused, 1000)}", err=True)
            return 1
        return _fault(fault)
    return status if isinstance(status, int) else 0


def _is_text(argument: str) -> bool:
    """Whether an argument looks like an option and is a text for people: it has words."""
    return re.match(r"-[^=\s]*\s", argument) is not None


def _refused(fault: BaseException) -> str | None:
    """Refusal by the machine (no permission, no space, ...); None where the fault is another."""
    if isinstance(fault, BaseExceptionGroup):
        found = [_refused(part) for part in fault.exceptions]
        return None if None in found else found[0]
    if not isinstance(fault, OSError) or fault.strerror is None:
        return None
    if fault.filename is not None:
        return f"{fault.filename}: {fault.strerror}"
    if fault.errno in _FULL:
        from bakeoff.workspace.full_disk import full_disk

        return full_disk(fault)
    return fault.strerror


def _fault(fault: BaseException) -> int:
    """A mistake in bakeoff itself: say what it is and where to take it."""
    from bakeoff.report.escape import one_line

    if os.environ.get("BAKEOFF_DEBUG") == "1":
        import traceback

        traceback.print_exception(fault, file=sys.stderr)
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    text = one_line(f"{type(fault).__name__}: {fault}", 400)
    click.echo(f"error: this is a fault in bakeoff, not in your work: {text}", err=True)
    click.echo(
        "Please report it to bakeoff's maintainers (CONTRIBUTING.md says how), with what BAKEOFF_DEBUG=1 adds and "
        "`bakeoff doctor --json`. What a run had committed is safe.",
        err=True,
    )
    return 1
