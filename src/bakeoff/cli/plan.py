"""`bakeoff plan`: its subcommands by name, each imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

SUBCOMMANDS = {
    "decompose": "Split a project's files into subplans.",
}
"""What `bakeoff plan --help` lists; the subcommand NAME is `command` in `bakeoff.cli.plan_NAME`."""


class Subcommands(click.Group):
    """A group that knows its subcommands' names and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = import_module(f"bakeoff.cli.plan_{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `--help`, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.command("plan", cls=Subcommands)
def command() -> None:
    """Split a project into subplans that are worked on side by side. Every subcommand has --json."""
