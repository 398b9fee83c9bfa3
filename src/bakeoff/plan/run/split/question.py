"""Question of how a goal is to be split, and the judging of an answer, which becomes a proposal.

Whom it is asked of stands in `by_agent` and `by_model`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.errors import BudgetSpentError
from bakeoff.judge.requirement import Requirement
from bakeoff.plan.decompose.assemble import leaf_id
from bakeoff.plan.decompose.hierarchy import Hierarchy, SourceFile
from bakeoff.plan.decompose.links import Imports
from bakeoff.plan.decompose.proposed import Subplan as Proposed
from bakeoff.plan.decompose.proposed import from_subplans, problems
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.plan import NAME
from bakeoff.reader.reading import UnreadError, read_here
from bakeoff.sampling.result import Reason, SamplingResult
from bakeoff.sampling.usage import UsageTotal
from bakeoff.settings import PlanSettings, Settings

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
    """Subplans that an agent or a model proposed.

    Attributes:
        named: of a leaf's id, the subplan's name and goal.
        usd: what that cost, as far as it says.
        tokens: what that used, as far as it says.
    """

    hierarchy: Hierarchy
    named: Mapping[str, tuple[str, str]]
    calls: int
    usd: float | None
    tokens: int | None = None

    @property
    def used(self) -> dict[str, float | None]:
        """Usage of the calls, by kind; None is not known."""
        return {"calls": self.calls, "tokens": self.tokens, "usd": self.usd}


@dataclass(frozen=True, slots=True)
class Question:
    """Question about a goal and the files that it is about.

    Attributes:
        name: who is asked, as it was given.
        imports: of a file's path, the paths it imports; they give the order.
        settings: the limits, and what the user says of models.

    Raises:
        PlanError: there are no files.
    """

    name: str
    goal: str
    files: Sequence[SourceFile]
    imports: Imports
    settings: Settings

    def __post_init__(self) -> None:
        if not self.files:
            raise PlanError("there are no files that a plan could be made for")

    @property
    def text(self) -> str:
        """The question, in words."""
        return question_of(self.goal, self.files, self.settings.plan)

    @property
    def id(self) -> str:
        """The same for the same goal, files, limits and whom it is asked of."""
        asked = json.dumps([self.name, self.text, *self._more])
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def _more(self) -> Sequence[Any]:
        return ()

    def requirement(self) -> Requirement:
        """Requirement that an answer must satisfy."""
        return Requirement("what it proposes", self._usable)

    def _usable(self, answer: Any) -> tuple[bool, str]:
        _, wrong = judged(str(answer), self.files, self.settings.plan)
        return not wrong, "\n- ".join(wrong[:MOST_SAID])

    def proposal(self, result: SamplingResult, used: UsageTotal) -> Proposal:
        """The proposal that answers come to; `used` is what they took.

        Raises:
            PlanError: none of them could be used.
            BudgetSpentError: there is a ceiling in the way of another.
        """
        if result.reason is Reason.CAP and not result.success:
            raise BudgetSpentError(f"{self.name} was not asked to the end: {_in_the_way(result)}")
        if not result.success:
            raise PlanError(_why(self.name, result))
        limits = self.settings.plan
        proposed, _ = judged(str(result.result), self.files, limits)
        hierarchy = from_subplans(proposed, self.files, limits, imports=self.imports)
        named = {leaf_id(sorted(one.files)): (one.name, one.goal) for one in proposed}
        return Proposal(hierarchy, named, used.calls, used.usd, None if used.unknown else used.tokens)


def _in_the_way(result: SamplingResult) -> str:
    """Shortage of the budget in words, and what came of the last call before."""
    said = [error.message for error in result.errors.values() if error.kind == "budget"]
    short = said[-1] if said else result.short or "the budget is spent"
    came: list[str] = []
    for attempt in result.attempts:
        came += [str(verdict.reason) for verdict in attempt.verdicts if not verdict.result]
        if attempt.error is not None and attempt.error.kind != "budget":
            came.append(str(attempt.error))
    return f"{short}; before that: {came[-1]}" if came else short


def _why(name: str, result: SamplingResult) -> str:
    """Reason, in words, that there is no proposal."""
    answers = [attempt for attempt in result.attempts if attempt.judged]
    if not answers:
        return f"{name} could not say how to split it: {list(result.errors.values())[-1]}"
    last = answers[-1]
    cut = " (it was cut off at max_tokens)" if last.receipt.get("finish_reason") == "length" else ""
    wrong = "\n".join(f"- {verdict.reason}" for verdict in last.verdicts)
    return f"{name} proposed nothing usable in {len(result.attempts)} tries; the last time{cut}:\n{wrong}"


def question_of(goal: str, files: Sequence[SourceFile], limits: PlanSettings) -> str:
    """Prompt of the question, with the first `MOST_LISTED` of the files."""
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


def read_answer(text: str) -> list[Proposed]:
    """The subplans in an answer, which may have other words around its JSON object. A reader process looks for them.

    Raises:
        ValueError: there are none, or they are of another form.
    """
    try:
        found = read_here(subplans_in, text.encode("utf-8", "surrogatepass"))
    except UnreadError as failure:
        raise ValueError(str(failure)) from None
    return [Proposed(name, tuple(files), goal) for name, files, goal in found]


def subplans_in(data: bytes) -> list[tuple[str, tuple[str, ...], str]]:
    """The same in that process: name, files and goal of each.

    Raises:
        ValueError: there are none, or they are of another form.
    """
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            value, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and "subplans" in value:
            return [(one.name, one.files, one.goal) for one in _proposed(value["subplans"])]
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
