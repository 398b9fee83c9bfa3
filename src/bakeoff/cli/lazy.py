"""A group of commands that imports only the one that is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands' names and what they are for.

    The command NAME is `command` in the module that is called `prefix` with NAME behind it, if `places` has none.
    """

    def __init__(self, *, prefix: str, **more: Any) -> None:
        super().__init__(**more)
        self.prefix = prefix

    @property
    def table(self) -> Mapping[str, str]:
        """Of each name what `--help` says of it."""
        return {}

    @property
    def places(self) -> Mapping[str, str]:
        """Of those that are elsewhere, where: `module:attribute`."""
        return {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.places.get(cmd_name, f"{self.prefix}{cmd_name}:command").partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called.

        Raises:
            UsageError: there is none of that name; the message names one that is near.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as failure:
            from bakeoff.options.kinds import close_to

            hint = close_to(args[0], tuple(self.table))
            raise click.UsageError(failure.message.removesuffix(".") + hint, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list for `--help`, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))
