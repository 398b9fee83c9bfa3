"""Shell completion: ids of runs, paths of steps, options of gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from bakeoff.engine.history import History

MOST, NAMED = 200, 5
"""Words offered at once, and runs that are named where one is missing."""


class RunId(click.ParamType):  # type: ignore[type-arg]
    """The id of a run of this project."""

    name = "run"

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        """Which runs there are, the newest first."""
        from bakeoff.cli.run_lookup import store

        found = [folder.id for folder in store().latest(NAMED + 1)]
        if not found:
            return "There are no runs here yet."
        more = ", and older ones: see `bakeoff runs`" if len(found) > NAMED else ""
        return f"The runs here, the newest first: {', '.join(found[:NAMED])}{more}."

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The runs whose ids begin so, newest first."""
        from bakeoff.cli.run_lookup import store

        folders = (folder.id for folder in store().latest(MOST))
        return [CompletionItem(name) for name in folders if name.startswith(incomplete)]


class StepPath(click.ParamType):  # type: ignore[type-arg]
    """The path of a step of the run that was named before."""

    name = "step"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The paths that begin so, of steps that have begun."""
        history = _history(ctx)
        if history is None:
            return []
        paths = dict.fromkeys([*history.starts, *history.records])
        return [CompletionItem(path) for path in paths if path.startswith(incomplete)][:MOST]


class GatePath(StepPath):
    """The path of a gate that waits in the run that was named before."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The gates that wait."""
        return [CompletionItem(path) for path in _gates(ctx) if path.startswith(incomplete)]


class Choice(click.ParamType):  # type: ignore[type-arg]
    """An option of the gate that was named before."""

    name = "choice"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The gate's options."""
        options = _gates(ctx).get(ctx.params.get("step", ""), ())
        return [CompletionItem(option) for option in options if option.startswith(incomplete)]


RUN = RunId()
STEP = StepPath()
GATE = GatePath()
CHOICE = Choice()


def _history(ctx: click.Context) -> History | None:
    from bakeoff.cli.run_lookup import store
    from bakeoff.errors import BakeoffError

    try:
        return store().open(ctx.params.get("run") or "").history()
    except BakeoffError:
        return None


def _gates(ctx: click.Context) -> dict[str, tuple[str, ...]]:
    from bakeoff.cli.gates import waiting_gates
    from bakeoff.cli.run_lookup import store
    from bakeoff.errors import BakeoffError

    try:
        return waiting_gates(store().open(ctx.params.get("run") or ""))
    except BakeoffError:
        return {}
