"""Asking an agent how a goal is to be split: what it proposes is held to the same limits, and told what is wrong.

Question and judgement are shared with `asking_model`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.agent.boxing import boxed
from bakeoff.agent.override import find_executable
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, AgentResult, run_agent
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import Stored
from bakeoff.engine.spawner import Spawner
from bakeoff.engine.temporary import temporary_folder
from bakeoff.plan.decompose.assemble import leaf_id
from bakeoff.plan.decompose.given import Subplan as Proposed
from bakeoff.plan.decompose.given import from_subplans, problems
from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile
from bakeoff.plan.decompose.links import Imports
from bakeoff.plan.run.plan import NAME, PlanError
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import PlanSettings, Settings
from bakeoff.workspace.running import InSandbox
from bakeoff.workspace.workspace import open_workspace

TRIES = 3
"""How often an agent or a model is asked before it is given up on."""

MOST_LISTED = 4000
"""Files that the question lists; of more, the agent looks for itself."""

MOST_SAID = 20

_QUESTION = """{goal}

Do not do this yet, and change no file. Say how it is to be split into subplans that agents carry out at the same time,
each in a copy of the project of its own, so that what they make can be merged afterwards:

- a file belongs to at most one subplan; leave out files that need no change
- a subplan has at most {files} files, and their tokens together are at most {tokens}
- name each by letters, digits, `.`, `_` and `-`, and say what is to be done in it
- subplans that touch different files and need nothing of each other are best

The project's files, each with its tokens:
{listed}

Answer with one JSON object and nothing else:
{{"subplans": [{{"name": "...", "goal": "...", "files": ["..."]}}]}}"""

AGAIN = """Your last answer cannot be used:
{failures}
Answer again, with the whole JSON object."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an agent or a model proposed.

    Attributes:
        hierarchy: of the subplans' files.
        named: of a leaf's id, the subplan's name and goal.
        calls: how often it was asked.
        usd: what that cost, as far as it says.
        tokens: what that used, as far as it says.
    """

    hierarchy: Hierarchy
    named: Mapping[str, tuple[str, str]]
    calls: int
    usd: float | None
    tokens: int | None = None


async def ask_agent(
    project: Path,
    settings: Settings,
    goal: str,
    files: Sequence[SourceFile],
    imports: Imports,
    options: AttemptOptions,
    say: Callable[[str], None] = lambda text: None,
) -> Proposal:
    """Have the agent split `goal`, in a slot of which nothing is kept; it is asked again when the answer is unusable.

    Cancelled, the agent has ended before this returns.

    Raises:
        PlanError: it failed, or no answer of it could be used.

    Passes on BakeoffError: there is no such agent, or no slot can be made.
    """
    entry = find_entry(options.agent, settings)
    find_executable(entry, str(project), entry.env)
    level = options.agent_sandbox or settings.agent_sandbox
    spawner = Spawner(token=f"plan-{os.getpid()}", base_env=dict(os.environ), masker=Masker())
    calls, spent, wrong = 0, 0.0, ""
    question = question_of(goal, files, settings.plan)
    with temporary_folder("plan") as logs:
        async with (
            spawner,
            open_workspace(
                project, settings, "plan", base=options.base, slots=1, mount_at=True, processes=spawner
            ) as workspace,
        ):
            while calls < TRIES:
                calls += 1
                async with workspace.lease() as slot:
                    slot.disposable = True
                    agent, box = await boxed(entry, slot, level)
                    request = AgentRequest(
                        question + ("\n\n" + AGAIN.format(failures=wrong) if wrong else ""),
                        model=options.model or settings.model,
                        max_usd=settings.max_usd,
                    )
                    try:
                        result = await run_agent(
                            agent, request, InSandbox(box, spawner), cwd=slot.path, log=f"{logs}/{calls}",
                            timeout=options.timeout, grace=settings.grace, temp=str(slot.temp),
                        )  # fmt: skip
                    finally:
                        await slot.end_processes()
                spent += result.usd or 0.0
                if not result.ok:
                    raise PlanError(f"{entry.name} could not say how to split it: {result.error}")
                proposed, found = judged(_text(result), files, settings.plan)
                if not found:
                    return put_together(proposed, files, imports, settings.plan, calls, spent or None)
                wrong = "\n".join(f"- {text}" for text in found[:MOST_SAID])
                say(f"{entry.name} proposed what cannot be used: {found[0]}")
    raise PlanError(f"{entry.name} proposed nothing usable in {TRIES} tries; the last time:\n{wrong}")


def _text(result: AgentResult) -> str:
    return str(result.text.load()) if isinstance(result.text, Stored) else result.text


def question_of(goal: str, files: Sequence[SourceFile], limits: PlanSettings) -> str:
    """What is asked, with the first `MOST_LISTED` of the files."""
    listed = [f"{file.path} {file.tokens}" for file in files[:MOST_LISTED]]
    if len(files) > MOST_LISTED:
        listed.append(f"and {len(files) - MOST_LISTED} more; look for them in the project")
    return _QUESTION.format(
        goal=goal,
        files=limits.max_files_per_subplan,
        tokens=limits.max_tokens_per_subplan,
        listed="\n".join(listed),
    )


def judged(text: str, files: Sequence[SourceFile], limits: PlanSettings) -> tuple[list[Proposed], list[str]]:
    """The subplans in an answer, and what is wrong with them: nothing, where they can be used."""
    try:
        proposed = read_answer(text)
    except ValueError as failure:
        return [], [str(failure)]
    return proposed, list(problems(proposed, files, limits)) + list(_bad_names(proposed))


def put_together(
    proposed: Sequence[Proposed],
    files: Sequence[SourceFile],
    imports: Imports,
    limits: PlanSettings,
    calls: int,
    usd: float | None,
    tokens: int | None = None,
) -> Proposal:
    """The proposal that these subplans are. Passes on DecomposeError: `judged` finds something wrong with them."""
    hierarchy = from_subplans(proposed, files, limits, imports=imports)
    named = {leaf_id(sorted(one.files)): (one.name, one.goal) for one in proposed}
    return Proposal(hierarchy, named, calls, usd, tokens)


def read_answer(text: str) -> list[Proposed]:
    """The subplans in an answer, which may have other words around its JSON object.

    Raises:
        ValueError: there are none, or they are of another form.
    """
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, _ = decoder.raw_decode(text, at)
        except ValueError:
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict) and "subplans" in value:
            return _proposed(value["subplans"])
        at = text.find("{", at + 1)
    raise ValueError('there is no JSON object {"subplans": [...]} in it')


def _proposed(value: Any) -> list[Proposed]:
    if not isinstance(value, list) or not value:
        raise ValueError("`subplans` must be a list with at least one subplan")
    found = []
    for number, one in enumerate(value, 1):
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise ValueError(f"subplan {number} must be an object with a text `name`")
        files, goal = one.get("files"), one.get("goal", "")
        if not isinstance(files, list) or not all(isinstance(path, str) for path in files):
            raise ValueError(f"`files` of subplan {number} must be a list of paths")
        if not isinstance(goal, str):
            raise ValueError(f"`goal` of subplan {number} must be a text")
        found.append(Proposed(one["name"], tuple(files), goal))
    return found


def _bad_names(proposed: Sequence[Proposed]) -> Iterator[str]:
    for one in proposed:
        if not NAME.fullmatch(one.name):
            yield f"{one.name!r} cannot be the name of a subplan: take letters, digits, `.`, `_` and `-`, at most 80"
