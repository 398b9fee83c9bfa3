"""The commands by name. Each is imported when it is called, so that `--help` and small commands start fast."""

from __future__ import annotations

from importlib import import_module

import click

from bakeoff import __version__

COMMANDS = {
    "run": "Run a workflow file.",
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
    "clean": "Remove runs that are no longer wanted.",
    "doctor": "Tell what this machine and login can do.",
}
"""What `--help` lists; the command NAME is `command` in `bakeoff.cli.NAME`."""


class Commands(click.Group):
    """A group that knows its commands' names and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"bakeoff.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `--help`, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bakeoff")
def cli() -> None:
    """Run many attempts at a piece of code work at once, judge them by evidence, keep the best."""
