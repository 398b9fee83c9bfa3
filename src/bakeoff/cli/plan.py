"""`bakeoff plan`: its subcommands by name."""

from __future__ import annotations

import click

from bakeoff.cli.lazy import LazyGroup

SUBCOMMANDS = {
    "decompose": "Split a project's files into subplans.",
}
"""What `bakeoff plan --help` lists; the subcommand NAME is `command` in `bakeoff.cli.plan_NAME`."""


@click.command("plan", cls=LazyGroup, table=SUBCOMMANDS, prefix="bakeoff.cli.plan_")
def command() -> None:
    """Split a project into subplans that are worked on side by side. Every subcommand has --json."""
