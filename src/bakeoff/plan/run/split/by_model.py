"""Model asked how a goal is to be split: it is told the files, the limits, and what is wrong with its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.api.durable import DurableRun
from bakeoff.model.protocol import Message, Model, Request
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.split.question import AGAIN, MOST_LISTED, TRIES, Proposal, Question
from bakeoff.sampling.repair import MultiTurnStrategy
from bakeoff.sampling.result import SamplingError, SamplingResult
from bakeoff.sampling.sample import sample
from bakeoff.sampling.sampler import ceilings_of
from bakeoff.sampling.usage import UsageTotal, total

MAX_TOKENS = 8192
"""Tokens of output of one answer, where the model's settings name no other limit; a budget reserves them."""

_BYTES_PER_TOKEN = 6
"""More than a token of JSON has, to be on the safe side."""

_SUBPLAN = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "goal": {"type": "string"},
        "files": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "goal", "files"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"subplans": {"type": "array", "items": _SUBPLAN}},
    "required": ["subplans"],
    "additionalProperties": False,
}
"""What an answer looks like."""


@dataclass(frozen=True, slots=True)
class ModelQuestion(Question):
    """Question to a model, which sees no file itself.

    Raises:
        PlanError: there are no files, or too many to tell it.
    """

    def __post_init__(self) -> None:
        Question.__post_init__(self)
        if len(self.files) > MOST_LISTED:
            raise PlanError(
                f"there are {len(self.files)} files, and a model can be told of {MOST_LISTED}: name the paths that the "
                "goal is about, or have directories or an agent split it"
            )

    @property
    def request(self) -> Request:
        """The first request."""
        own = self.settings.models.get(self.name)
        most = MAX_TOKENS if own is None or own.max_tokens is None else own.max_tokens
        return Request((Message("user", self.text),), max_tokens=most, json_schema=SCHEMA)

    @property
    def _more(self) -> Sequence[Any]:
        return (self.request.max_tokens,)


async def ask_model(
    question: ModelQuestion,
    model: Model,
    run: DurableRun,
    *,
    path: str = "split",
    lanes: Iterable[str] = (),
    say: Callable[[str], None] = lambda text: None,
) -> Proposal:
    """Have the model, which is open, split the goal; it is told what is wrong with an answer that cannot be used.

    Each call is a node of the run below `path` and counts in its budget; what an earlier session got from there is not
    asked for again. Where the endpoint turns the JSON Schema away it is asked once more without.

    Cancelled, the request is closed before this returns.

    Raises:
        PlanError: it failed.

    Passes on PlanError: no answer could be used, or nobody knows what a call may cost. BudgetSpentError: there is a
    ceiling in the way.
    """
    sampling = _Sampling(question, model, run, path, tuple(lanes))
    used = UsageTotal()
    try:
        result = await sampling.carry_out(question.request)
    except SamplingError as failure:
        if failure.kind != "bad_request":
            raise PlanError(f"{question.name} could not say how to split it: {failure}") from failure
        say(f"{question.name} turned the request away; it is asked again without a JSON Schema")
        used = failure.result.usage
        sampling = replace(sampling, path=f"{path}/plain")
        try:
            result = await sampling.carry_out(replace(question.request, json_schema=None))
        except SamplingError as again:
            raise PlanError(f"{question.name} could not say how to split it: {again}") from again
    return question.proposal(result, total([used, result.usage]))


@dataclass(frozen=True, slots=True)
class _Sampling:
    """Up to `TRIES` turns of one conversation."""

    question: ModelQuestion
    model: Model
    run: DurableRun
    path: str
    lanes: tuple[str, ...]

    async def carry_out(self, request: Request) -> SamplingResult:
        """Have it. Passes on SamplingError: the model turned the request away for good; PlanError of `_dearest`."""
        return await sample(
            request,
            [self.question.requirement()],
            strategy=MultiTurnStrategy(loop_budget=TRIES, template=AGAIN),
            model=self.model,
            run=self.run,
            name="split",
            version=self.question.id,
            prefix=self.path,
            reserve=self._dearest(request),
            lanes=self.lanes,
        )

    def _dearest(self, request: Request) -> dict[str, float]:
        """Cost of the last turn at most, which has the answers before it.

        Raises:
            PlanError: there is a ceiling on money, and no price is known.
        """
        if "usd" not in ceilings_of(self.run.run.budget):
            return {}
        answers = "x" * (TRIES - 1) * _BYTES_PER_TOKEN * (request.max_tokens or 0)
        longest = replace(request, messages=(*request.messages, Message("assistant", answers)))
        at_most = getattr(self.model, "at_most", None)
        known = None if at_most is None else at_most(longest)
        if known is None or known.usd is None:
            raise PlanError(
                f"a ceiling on money: the price of {self.question.name} is not known; set price_in and price_out in "
                "its [tool.bakeoff.models.NAME], or a ceiling on tokens or calls"
            )
        return {"usd": known.usd}
