"""Source `model`: asks a model for versions of the target, for mended ones, and for better ones."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import Retry
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.judge.calling import ask, most_tokens
from bakeoff.model.protocol import Model, ModelError, Reply, Request
from bakeoff.model.retrying import LONGEST_WAIT, RETRY
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import InvalidCandidateError
from bakeoff.optimize.source_code.editing import apply_definition
from bakeoff.optimize.sources import prompts
from bakeoff.optimize.sources.as_completed import as_completed
from bakeoff.optimize.sources.replies import files_of, versions_of
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine
from bakeoff.sampling.errors import refused
from bakeoff.sampling.sampler import ceilings_of
from bakeoff.sampling.usage import settled

MAX_TOKENS = 8192
"""Tokens of output of one request, where the settings name no other limit; a budget reserves them."""
MOST_BACK = 4
"""Versions that a refinement is asked for."""


def amounts(model: Model, request: Request, ceilings: frozenset[str]) -> dict[str, float]:
    """Amounts that one request may use at most: a call, and of the kinds that a budget has ceilings on.

    Raises:
        BakeoffError: nobody knows, for want of a price.
    """
    at_most = getattr(model, "at_most", None)
    known = None if at_most is None else at_most(request)
    tokens = most_tokens(request) if known is None or known.tokens is None else known.tokens
    found = {
        "calls": 1.0,
        "tokens": float(tokens),
        "usd": math.inf if known is None or known.usd is None else known.usd,
    }
    if "usd" in ceilings and found["usd"] == math.inf:
        raise BakeoffError(
            "a ceiling on money: the model's price is not known; set price_in and price_out in its "
            "[tool.bakeoff.models.NAME], or a ceiling on tokens or calls"
        )
    return {kind: found[kind] for kind in ceilings | {"calls"}}


@dataclass(slots=True)
class ModelSource:
    """Asks a model, every request being a node of the run: what was answered once is never paid for again.

    Nodes: `source:model/TITLE/propose/N`; `source:model/TITLE/WHAT/DIGEST` for what is asked about candidates, by ids.

    Attributes:
        run: where requests are nodes.
        model: who is asked; open.
        title: its name, as candidates and nodes have it.
        samples: first versions, asked for at once.
        lanes: that each request holds.
        max_tokens: of output of one request.
        completes: it only goes on with a text, as the local model does: it is asked for first versions only.
        busy: held while it works; for a model that takes this machine's processors.
        retry: how failures that may pass are tried again.
        warn: told of a model that could not be stopped.
        prefix: what the paths of nodes begin with.
    """

    run: Run
    model: Model
    title: str
    samples: int = 4
    lanes: tuple[str, ...] = ()
    max_tokens: int = MAX_TOKENS
    completes: bool = False
    busy: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    retry: Retry = RETRY
    warn: Callable[[str], None] = print
    prefix: str = ""
    name: str = field(init=False)
    reads: frozenset[str] = field(default=frozenset({"profile", "calls", "code"}), init=False)

    def __post_init__(self) -> None:
        self.name = f"model/{slug(self.title)}"

    async def propose(self, context: Context) -> AsyncIterator[Candidate]:
        """One version for each sample, and all that a reply holds beyond that. Passes on what `_ask` raises."""
        lead = ""
        requests = []
        for number in range(1, self.samples + 1):
            if self.completes:
                request, lead = prompts.completion(context, self.max_tokens)
                request = replace(request, seed=number, temperature=0.7)
            else:
                request = prompts.proposal(context, number, self.max_tokens)
            requests.append(request)
        works = [partial(self._ask, f"propose/{number}", request) for number, request in enumerate(requests, 1)]
        async with aclosing(as_completed(works)) as replies:
            async for label, text in replies:
                for candidate in self._candidates(context, label, lead + text, ()):
                    yield candidate

    async def repair(self, context: Context, failures: Sequence[Failure]) -> AsyncIterator[Candidate]:
        """Mended versions of all failures, by one request."""
        if self.completes:
            return
        request = prompts.repair(context, failures, self.max_tokens)
        parents = [failure.candidate for failure in failures]
        label, text = await self._ask(f"repair/{digest(parents)}", request)
        for candidate in self._candidates(context, label, text, parents):
            yield candidate

    async def refine(
        self, context: Context, winners: Sequence[Candidate], profile: Sequence[ProfileLine]
    ) -> AsyncIterator[Candidate]:
        """Better versions, by one request."""
        if self.completes:
            return
        count = max(1, min(self.samples, MOST_BACK))
        request = prompts.refinement(context, winners, profile, count, self.max_tokens)
        label, text = await self._ask(f"refine/{digest(winners)}", request)
        for candidate in self._candidates(context, label, text, winners):
            yield candidate

    async def adapt(self, context: Context, lineage: Sequence[Candidate]) -> AsyncIterator[Candidate]:
        """The next version of a line, by one request."""
        if self.completes:
            return
        request = prompts.adaptation(context, lineage, self.max_tokens)
        label, text = await self._ask(f"adapt/{digest(lineage)}", request)
        for candidate in self._candidates(context, label, text, lineage[-1:]):
            yield candidate

    def _candidates(self, context: Context, label: str, text: str, parents: Sequence[Candidate]) -> list[Candidate]:
        """Candidates in a reply, one at least."""
        path, qualname = str(context.target.path), context.target.qualname
        origin = f"{self.name}/{label}"
        found: list[Candidate] = []
        versions = versions_of(text, qualname.rpartition(".")[2]) if qualname else files_of(text)
        for place, version in enumerate(versions):
            parent = _parent(parents, version.number, place)
            name = f"{origin}#{place + 1}" if place else origin
            try:
                content = version.code.encode()
                if qualname:
                    content = apply_definition(context.source, qualname, version.code)
                found.append(Candidate(name, {path: content}, parent=parent))
            except InvalidCandidateError as failure:
                found.append(Candidate(name, {}, parent=parent, invalid=str(failure)))
        if not found:
            said = " ".join(text.split())
            wanted = f"code that defines {qualname}" if qualname else "fenced block"
            why = f"the reply holds no {wanted}: {said[:120]!r}" if said else "the reply is empty"
            found.append(Candidate(origin, {}, parent=_parent(parents, None, 0), invalid=why))
        return found

    async def _ask(self, label: str, request: Request) -> tuple[str, str]:
        """The reply to a request, from an earlier session where that has it.

        Cancelled, the request is closed before this returns.

        Passes on BakeoffError: there is none, after all tries. Passes on BudgetSpentError.
        """
        not_stopped: list[str] = []

        async def work(_: int) -> Outcome:
            try:
                async with self.busy():
                    return _outcome(await ask(self.model, request, not_stopped))
            except ModelError as failure:
                return _refusal(failure)
            finally:
                for what in not_stopped:
                    self.warn(what)

        record = await self.run.leaf(
            f"{self.prefix}source:{self.name}/{label}",
            "generate",
            work,
            lanes=self.lanes,
            retry=self.retry,
            reserve=amounts(self.model, request, ceilings_of(self.run.budget)),
        )
        return label, _text(record)


def slug(name: str) -> str:
    """A name as a part of a path."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-")


def digest(candidates: Sequence[Candidate]) -> str:
    """Names a request about these candidates."""
    return hashlib.sha256(" ".join(each.id for each in candidates).encode()).hexdigest()[:12]


def _outcome(reply: Reply) -> Outcome:
    facts = {"request_id": reply.request_id, "model": reply.model, "finish_reason": reply.finish_reason}
    known = {name: value for name, value in facts.items() if value is not None}
    return Outcome(output={"text": reply.text}, usage=settled(reply.usage), facts=known or None)


def _refusal(failure: ModelError) -> Outcome:
    """A failure, which is only tried again where that may help, and soon."""
    outcome = refused(failure)
    if failure.transient and (failure.retry_after or 0.0) <= LONGEST_WAIT:
        return outcome
    kind = "usage_limit" if failure.kind in RETRY.on else failure.kind
    facts: Mapping[str, object] = {**(outcome.facts or {}), "retry_after": None}
    return replace(outcome, kind=kind, facts=facts)


def _text(record: Record) -> str:
    """The reply that a node has.

    Raises:
        BakeoffError: it failed.
    """
    if record.status is not Status.COMPLETED:
        raise BakeoffError(record.error or "failed")
    return str(record.output["text"])


def _parent(parents: Sequence[Candidate], number: int | None, place: int) -> str | None:
    """The id of the candidate that a version comes from: as it says, else by its place."""
    if not parents:
        return None
    if number is not None and 1 <= number <= len(parents):
        return parents[number - 1].id
    return parents[min(place, len(parents) - 1)].id
