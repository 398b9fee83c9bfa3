"""`bakeoff plan`: its subcommands by name, each imported when it is called; anything else is a goal."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import click

from bakeoff.cli.lazy import LazyGroup

SUBCOMMANDS = {
    "decompose": "Split a project's files into subplans.",
    "run": "Carry out a plan that is written in a file.",
    "retry": "Have a subplan of a run tried again.",
    "skip": "Leave a subplan of a run out.",
    "correct": "Tell a subplan of a run something else, and run again what depends on it.",
}
"""What `bakeoff plan --help` lists; the subcommand NAME is `command` in `bakeoff.cli.plan_NAME`, or in `plan_run`."""

GOAL = "goal"
"""The command that is meant where none is named."""


class Subcommands(LazyGroup):
    """The subcommands; what begins with none of their names is a goal."""

    @property
    def table(self) -> Mapping[str, str]:
        """See `LazyGroup`."""
        return SUBCOMMANDS

    @property
    def places(self) -> Mapping[str, str]:
        """See `LazyGroup`."""
        return {name: f"bakeoff.cli.plan_run:{name}" for name in ("retry", "skip", "correct")}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name, or the one that takes goals."""
        if cmd_name == GOAL:
            from bakeoff.cli.plan_goal import command as goal

            return goal
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what begins with no subcommand's name for a goal with its options."""
        if args and args[0] not in SUBCOMMANDS and args[0] not in ctx.help_option_names:
            near = get_close_matches(args[0], SUBCOMMANDS, 1, 0.75)
            if near:  # a slip of the pen is not to be paid for
                ctx.fail(
                    f"there is no command {args[0]!r}; did you mean {near[0]!r}? A goal of that name stands behind --"
                )
            args = [GOAL, *args]
        return super().parse_args(ctx, args)


@click.command(
    "plan",
    cls=Subcommands,
    prefix="bakeoff.cli.plan_",
    options_metavar="",
    subcommand_metavar="GOAL [PATHS]... | COMMAND ...",
)
def command() -> None:
    """Split a goal into subplans, have agents work on them side by side, merge what they make, land what passes.

    \b
    bakeoff plan "rename Parser to Reader" src tests --agent codex --check "pytest -q"
    bakeoff plan "..." --dry-run               writes plan.yml, to be edited
    bakeoff plan run plan.yml                  carries it out
    bakeoff plan goal --help                   lists all options

    A goal that reads like one of the commands below stands behind `--`. Every command has --json.
    """  # noqa: D301 - click takes the backspace for lines that it must not join
