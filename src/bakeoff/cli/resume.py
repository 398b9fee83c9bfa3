"""`bakeoff resume`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.opening import DESPITE_DAMAGE

if TYPE_CHECKING:
    from bakeoff.engine.store import RunStore


@click.command("resume")
@click.argument("run", type=RUN)
@click.option("-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="A new value for an input.")
@click.option("--edit", type=click.Path(path_type=Path), help="Go on with this changed file instead.")
@click.option(
    "--max-parallel",
    type=click.IntRange(min=1),
    help="Leaves that run at once, over all nesting; as the run was begun if left out.",
)
@DESPITE_DAMAGE
@click.option("--explain", is_flag=True, help="Say what would run again and why, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what needs you: errors, and a gate that waits.")
def command(
    run: str,
    pairs: tuple[str, ...],
    edit: Path | None,
    max_parallel: int | None,
    despite_damage: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Go on with RUN: what has ended is kept, the rest runs.

    Exit status: as for `run`.
    """
    from bakeoff.cli.ending import parse_inputs
    from bakeoff.cli.opening import misused, refuse_losses, store
    from bakeoff.report.overview import overview

    inputs = parse_inputs(pairs)
    runs = store()
    folder = runs.open(run)
    job = overview(folder).job
    asked = _Asked(runs, run, inputs, max_parallel, as_json, quiet)
    other = None if job is None else _OTHERS.get(job)
    if other is None:
        _workflow(asked, edit, explain, despite_damage)
    if edit is not None or explain:
        hint = "; see `bakeoff plan correct`" if job == "plan" else ""
        misused(f"--edit and --explain are for runs of workflow files{hint}")
    if not despite_damage:
        refuse_losses(folder)
    other(asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be gone on with, and how."""

    runs: RunStore
    run: str
    inputs: dict[str, Any]
    max_parallel: int | None
    as_json: bool
    quiet: bool

    @property
    def how(self) -> dict[str, bool]:
        return {"as_json": self.as_json, "quiet": self.quiet}


def _workflow(asked: _Asked, edit: Path | None, explain: bool, despite_damage: bool) -> NoReturn:
    from bakeoff.cli.ending import run_to_end
    from bakeoff.cli.opening import called_texts_of, hide_secrets_of, refuse_losses
    from bakeoff.workflow.job import Conditions, resume

    runs, run = asked.runs, asked.run
    conditions = Conditions(max_parallel=asked.max_parallel, adopt=True)
    if explain:
        from bakeoff.cli.planning import print_plan
        from bakeoff.workflow.explain import plan_resume

        folder = runs.open(run)
        hide_secrets_of(edit or folder.definition / "workflow.yml", called=called_texts_of(folder))
        print_plan(plan_resume(runs, run, asked.inputs, conditions, edit), as_json=asked.as_json)
        sys.exit(0)
    if not despite_damage:
        refuse_losses(runs.open(run))
    run_to_end(lambda: resume(runs, run, asked.inputs, conditions, edit=edit), conditions, runs.project, **asked.how)


def _attempts(asked: _Asked) -> NoReturn:
    from bakeoff.cli.attempting import Landing, carry_out
    from bakeoff.sampling.attempt.job import Conditions, resume

    runs, conditions = asked.runs, Conditions(max_parallel=asked.max_parallel, adopt=True)
    carry_out(lambda: resume(runs, asked.run, asked.inputs, conditions), conditions, runs, Landing(), **asked.how)


def _optimisation(asked: _Asked) -> NoReturn:
    from bakeoff.cli.optimizing import Landing, carry_out
    from bakeoff.optimize.job import resume
    from bakeoff.sampling.attempt.job import Conditions

    runs, conditions = asked.runs, Conditions(max_parallel=asked.max_parallel, adopt=True)
    carry_out(lambda: resume(runs, asked.run, conditions, asked.inputs), conditions, runs, Landing(), **asked.how)


def _merge(asked: _Asked) -> NoReturn:
    from bakeoff.cli.merging import Landing, carry_out
    from bakeoff.cli.opening import misused
    from bakeoff.plan.queue.job import resume
    from bakeoff.plan.queue.standing import standing
    from bakeoff.sampling.attempt.job import Conditions

    if asked.inputs:
        misused("-i: a merge has no inputs that could be changed")
    runs, conditions = asked.runs, Conditions(max_parallel=asked.max_parallel, adopt=True)
    folder = runs.open(asked.run)
    history = folder.history()
    refs = standing(history, folder.standing(history)[0]).options.refs
    carry_out(lambda: resume(runs, asked.run, conditions), conditions, runs, Landing(), refs=refs, **asked.how)


def _plan(asked: _Asked) -> NoReturn:
    from bakeoff.cli.plan_running import Landing, carry_out
    from bakeoff.plan.run.job import resume
    from bakeoff.sampling.attempt.job import Conditions

    runs, conditions = asked.runs, Conditions(max_parallel=asked.max_parallel, adopt=True)
    carry_out(lambda: resume(runs, asked.run, asked.inputs, conditions), conditions, runs, Landing(), **asked.how)


_OTHERS = {"attempt": _attempts, "optimize": _optimisation, "merge": _merge, "plan": _plan}
"""Jobs that are no workflow."""
