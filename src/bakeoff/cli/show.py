"""`bakeoff show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli.completing import RUN, STEP

if TYPE_CHECKING:
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
    from bakeoff.cli.output import print_json
    from bakeoff.cli.run_lookup import open_run

    folder = open_run(run)
    if as_json:
        from bakeoff.jobs.job import OpenRun, job_of
        from bakeoff.report.state import run_state

        opened = OpenRun(folder)
        state = run_state(folder, opened.history)
        if step is not None:
            state["steps"] = _inside(folder, state["steps"], step)
        print_json({**state, **job_of(opened).facts(opened)})
        return
    if step is not None:
        from bakeoff.cli.show_view import print_step

        print_step(folder, step, everything)
        return
    from bakeoff.cli.show_view import print_run

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
