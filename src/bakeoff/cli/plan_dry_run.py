"""`bakeoff plan --dry-run`: who is to split, asking for no more than that, and the plan written into a file."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bakeoff.agent.registry import find_entry
from bakeoff.api.durable import DurableRun, durable
from bakeoff.cli.output import covered, print_json, say, tell
from bakeoff.cli.run_lookup import refuse
from bakeoff.engine.mask import Masker
from bakeoff.errors import the_failure
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.document import write_text
from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.split.question import Proposal, Question
from bakeoff.plan.run.split.splitting import MODEL, Split, Splitting
from bakeoff.process.command import Processes
from bakeoff.process.spawner import Spawner
from bakeoff.process.sweep import process_token
from bakeoff.report.words import counted, known_amounts
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.settings import Settings
from bakeoff.system.named_files import write_whole
from bakeoff.system.temporary import temporary_folder
from bakeoff.workspace.workspace import Workspace, open_workspace

USUAL = Path("plan.yml")


def who_splits(
    by: str, plan: Plan, settings: Settings, paths: tuple[str, ...], untracked: bool, limits: dict[str, Any]
) -> tuple[Split, Plan]:
    """Who is to be asked; and the plan, without a model that is not the agent's.

    Raises:
        PlanError: no model is named.

    Passes on BakeoffError: there is no such agent.
    """
    given = {name: value for name, value in limits.items() if value is not None}
    if by != MODEL:
        return Split(by, find_entry(plan.attempt.agent, settings).name, paths, untracked, given), plan
    name = plan.attempt.model or plan.attempt.endpoint or settings.asked_model
    if name is None:
        raise PlanError("--by model needs to know which: say --model NAME, or set `model` in the settings")
    return Split(by, name, paths, untracked, given), replace(plan, attempt=replace(plan.attempt, model=None))


def asked(split: Split, plan: Plan, root: Path, settings: Settings) -> tuple[Plan, dict[str, float | None]]:
    """The plan that is proposed; and what asking took, by kind: None is not known.

    Passes on BakeoffError: nobody can be asked, or what is proposed cannot be used; BudgetSpentError.
    """
    splitting = Splitting.of(split, plan.attempt, settings, str(root))
    question = split.question(root, settings, plan.goal)
    say(f"! {split.announcement(plan.attempt.ceilings)}")
    try:
        proposal = anyio.run(partial(_ask, splitting, question, root, settings))
    except Exception as raised:
        failure = the_failure(raised)
        if failure is None:
            raise
        raise failure from raised
    say(f"split by {split.name}: {known_amounts(proposal.used)}")
    made = plan_of_hierarchy(proposal.hierarchy, plan.goal, plan.attempt, plan.config, question.imports, proposal.named)
    return made, proposal.used


async def _ask(splitting: Splitting, question: Question, root: Path, settings: Settings) -> Proposal:
    """Proposal, made in a run of which nothing is kept."""
    with temporary_folder("plan") as logs:

        async def main(run: DurableRun) -> Proposal:
            opening = partial(_opened, root, settings, splitting.options.base)
            return await splitting.ask(question, run.run, opening, say, logs=Path(logs))

        return await durable(main, budget=splitting.options.ceilings, lanes={AGENTS: 1})


@asynccontextmanager
async def _opened(root: Path, settings: Settings, base: str | None) -> AsyncIterator[tuple[Workspace, Processes]]:
    """A workspace of its own, and what runs processes in it."""
    async with (
        Spawner(token=process_token(), base_env=dict(os.environ), masker=Masker()) as spawner,
        open_workspace(root, settings, "plan", base=base, slots=1, mount_at=True, processes=spawner) as workspace,
    ):
        yield workspace, spawner


def write_plan(
    plan: Plan, output: Path | None, *, as_json: bool, used: Mapping[str, float | None] | None = None
) -> None:
    """Write it; a file that is there is replaced only where it was named.

    Args:
        plan: the plan.
        output: the file.
        as_json: print one JSON object.
        used: what splitting took, by kind, where somebody was asked.
    """
    if output is not None and str(output) == "-":
        sys.stdout.write(covered(write_text(plan)))
        return
    if output is None and USUAL.exists():
        refuse(f"{USUAL} is there already: say -o {USUAL} to have it replaced, or -o FILE")
    file = output or USUAL
    write_whole(file, covered(write_text(plan, str(file))).encode("utf-8"))
    if as_json:
        said = {"file": str(file.absolute()), "subplans": len(plan.subplans), "most_calls": plan.most_calls}
        print_json({**said, **({"split": used} if used else {})})
        return
    tell(f"{file}: {counted(len(plan.subplans), 'subplan')}, at most {counted(plan.most_calls, 'call')} of the agent")
    tell(f"  carry it out with: bakeoff plan run {file}")
