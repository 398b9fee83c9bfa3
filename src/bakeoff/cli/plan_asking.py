"""`bakeoff plan --by agent` and `--by model`: who splits is asked, and what that took is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from bakeoff.agent.registry import find_entry
from bakeoff.cli.say import say
from bakeoff.engine.durable import DurableRun, durable
from bakeoff.engine.errors import the_failure
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.decompose.links import Imports
from bakeoff.plan.run.asking import TRIES, Proposal, ask_agent
from bakeoff.plan.run.making import plan_of_hierarchy
from bakeoff.plan.run.plan import Plan, PlanError, SubplanConfig
from bakeoff.report.words import amounts
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import Settings


def asked(
    by: str,
    root: Path,
    settings: Settings,
    files: Sequence[SourceFile],
    imports: Imports,
    attempt: AttemptOptions,
    config: SubplanConfig,
) -> tuple[Plan, dict[str, float | None]]:
    """The plan that the agent, or the model, proposes; and what asking took, by kind: None is not known.

    Passes on BakeoffError: it cannot be asked, or proposes nothing that can be used; BudgetSpentError.
    """
    goal = attempt.task
    if by == "agent":
        name = find_entry(attempt.agent, settings).name
        say(f"! at most {TRIES} calls of {name} to split it; no budget is set for them")
        ask = partial(ask_agent, root, settings, goal, files, imports, attempt, say)
    else:
        name = _model(attempt, settings)
        ceilings = attempt.ceilings
        budget = ", ".join(f"{amount:g} {kind}" for kind, amount in ceilings.items()) or "none is set"
        say(f"! at most {TRIES} calls of {name} to split it; budget: {budget}")
        ask = partial(_ask_model, name, settings, goal, files, imports, ceilings)
        attempt = replace(attempt, model=None)  # it is not the agent's
    try:
        proposal = anyio.run(ask)
    except Exception as raised:
        failure = the_failure(raised)
        if failure is None:
            raise
        raise failure from raised
    used = {"calls": proposal.calls, "tokens": proposal.tokens, "usd": proposal.usd}
    known = {kind: amount for kind, amount in used.items() if amount is not None}
    unknown = "".join(f", {kind} not known" for kind in ("tokens", "usd") if kind not in known)
    say(f"split by {name}: {amounts(known)}{unknown}")
    return plan_of_hierarchy(proposal.hierarchy, goal, attempt, config, imports, proposal.named), used


def _model(attempt: AttemptOptions, settings: Settings) -> str:
    """The name of the model that splits.

    Raises:
        PlanError: none is named.
    """
    name = attempt.model or settings.model
    if name is None:
        raise PlanError("--by model needs to know which: say --model NAME, or set `model` in the settings")
    return name


async def _ask_model(
    name: str,
    settings: Settings,
    goal: str,
    files: Sequence[SourceFile],
    imports: Imports,
    ceilings: dict[str, float],
) -> Proposal:
    from bakeoff.model.registry import model_for
    from bakeoff.plan.run.asking_model import Question, ask_model

    question = Question(name, goal, files, imports, settings)

    async def main(run: DurableRun) -> Proposal:
        async with model_for(name, settings) as model:
            return await ask_model(question, model, run, say=say)

    return await durable(main, budget=ceilings)
