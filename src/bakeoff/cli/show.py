"""`bakeoff show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli.completing import RUN, STEP

if TYPE_CHECKING:
    from bakeoff.engine.history import History
    from bakeoff.engine.store import RunFolder


@click.command("show")
@click.argument("run", required=False, type=RUN)
@click.argument("step", required=False, type=STEP)
@click.option("--all", "everything", is_flag=True, help="List every item and pass, not only those that need a look.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, step: str | None, everything: bool, as_json: bool) -> None:
    """Show RUN, or the latest run: its status and what each of its steps gave; or STEP and what is inside it.

    STEP is a path as `tests:one:7`, or its end as it is printed here, `one:7`.
    """
    from bakeoff.cli.opening import open_run
    from bakeoff.cli.say import print_json

    folder = open_run(run)
    if as_json:
        from bakeoff.report.state import run_state

        history = folder.history()
        state = run_state(folder, history)
        if step is not None:
            state["steps"] = _inside(folder, state["steps"], step)
        print_json({**state, **_attempts(folder, history)})
        return
    if step is not None:
        from bakeoff.cli.picture import print_step

        print_step(folder, step, everything)
        return
    from bakeoff.cli.picture import print_run

    print_run(folder, everything)


def _inside(folder: RunFolder, steps: dict[str, Any], step: str) -> dict[str, Any]:
    """Those that `step` names, and what is inside them.

    Raises:
        BakeoffError: there is none.
    """
    from bakeoff.errors import BakeoffError
    from bakeoff.report.outline import is_inside
    from bakeoff.report.words import no_step

    found = {path: shown for path, shown in steps.items() if is_inside(path, step)}
    if not found:
        raise BakeoffError(no_step(folder.id, step))
    return found


def _attempts(folder: RunFolder, history: History) -> dict[str, Any]:
    """What a run of attempts has besides; nothing of any other."""
    job = history.meta.get("job")
    if job == "optimize":
        return _optimisation(folder, history)
    if job == "merge":
        return _merge(folder, history)
    if job == "plan":
        return _plan(folder, history)
    if job != "attempt":
        return {}
    from bakeoff.cli.attempting import shown_run
    from bakeoff.sampling.attempt.standing import standing

    status, _ = folder.standing(history)
    shown = shown_run(folder, standing(history, status), None, history.usage)
    return {name: shown[name] for name in ("job", "reason", "winner", "closest", "snapshot", "attempts")}


def _optimisation(folder: RunFolder, history: History) -> dict[str, Any]:
    from bakeoff.cli.optimizing import shown_run
    from bakeoff.optimize.standing import standing

    status, _ = folder.standing(history)
    shown = shown_run(folder, standing(history, status), None)
    names = ("job", "target", "snapshot", "baseline", "candidates", "winner", "bench", "functions")
    return {name: shown[name] for name in names if name in shown}


def _merge(folder: RunFolder, history: History) -> dict[str, Any]:
    from bakeoff.cli.merging import shown_run
    from bakeoff.plan.queue.standing import standing

    shown = shown_run(folder, standing(history, folder.standing(history)[0]), None)
    return {name: value for name, value in shown.items() if name not in ("run_id", "status", "error", "moved")}


def _plan(folder: RunFolder, history: History) -> dict[str, Any]:
    from bakeoff.plan.run.shown import shown_plan
    from bakeoff.plan.run.standing import standing

    shown = shown_plan(folder.id, standing(history, folder.standing(history)[0]), None, history.usage)
    return {
        name: value for name, value in shown.items() if name not in ("run_id", "status", "error", "usage", "applied")
    }
