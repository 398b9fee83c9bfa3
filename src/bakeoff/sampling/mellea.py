"""mellea adapter: `m.instruct(..., strategy=for_mellea(RejectionSamplingStrategy(...)))`."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import Any

import anyio

from bakeoff.errors import BakeoffError
from bakeoff.judge.calling import GRACE
from bakeoff.judge.requirement import Cost
from bakeoff.judge.subject import Subject
from bakeoff.judge.threads import beside_loop
from bakeoff.judge.verdict import ValidationResult, verdict_of
from bakeoff.sampling.action import Generation, Ticket
from bakeoff.sampling.result import SamplingResult
from bakeoff.sampling.sample import sample
from bakeoff.sampling.strategy import SamplingStrategy

_MADE = "mellea"
"""The fact that carries mellea's own objects: output, action, context."""


def for_mellea(strategy: SamplingStrategy, **options: Any) -> Any:
    """A strategy of mellea (0.8) that samples as `strategy` does.

    The models of an `EscalationStrategy` are backends of mellea here. What cannot be chosen (nothing was judged) is
    raised; what the adapted strategy knows beyond mellea's result stands in its attribute `bakeoff`.

    Args:
        strategy: one of bakeoff's.
        options: as for `sample`; `run` is not among them, since mellea's objects cannot be kept.

    Raises:
        BakeoffError: mellea is not installed.
        TypeError: an option is not possible here.
    """
    if "run" in options:
        raise TypeError("run: what mellea makes cannot be kept in a run")
    try:
        from mellea.core import SamplingResult as Result
        from mellea.core import SamplingStrategy as Base
    except ImportError as failure:
        raise BakeoffError(f"mellea cannot be imported ({failure}): pip install mellea") from failure

    class Adapted(Base):  # type: ignore[misc, unused-ignore]
        """A strategy of bakeoff as one of mellea."""

        async def sample(
            self, action: Any, context: Any, backend: Any, requirements: Any, *,
            validation_ctx: Any = None, show_progress: bool = False, **call: Any,
        ) -> Any:  # fmt: skip
            """Sample; see mellea."""
            maker = _Maker(strategy, action, context, backend, call)
            wrapped = [_Wrapped(one, backend, validation_ctx, call.get("model_options")) for one in requirements or ()]
            found = await sample(maker, wrapped, strategy=strategy, **options)
            result = Result(**_translated(found, requirements or ()))
            result.bakeoff = found
            if (log := getattr(result.result, "_generate_log", None)) is not None:
                log.is_final_result = True
            return result

    return Adapted()


class _Maker:
    """Makes attempts with a backend of mellea."""

    def __init__(
        self, strategy: SamplingStrategy, action: Any, context: Any, backend: Any, call: dict[str, Any]
    ) -> None:
        self.strategy = strategy
        self.action, self.context, self.backend, self.call = action, context, backend, call

    async def make(self, ticket: Ticket) -> Generation:
        """Generate and parse; cancelled, mellea's own task is cancelled, too."""
        from mellea.core import Component, ComputedModelOutputThunk

        action, context = self._next(ticket)
        backend: Any = ticket.model or self.backend
        thunk, after = await backend.generate_from_context(action, ctx=context, **self._options(ticket))
        try:
            await thunk.avalue()
        except anyio.get_cancelled_exc_class():
            await _end(thunk, ticket)
            raise
        output = ComputedModelOutputThunk(thunk)
        output.parsed_repr = self.action.parse(output) if isinstance(self.action, Component) else output.value
        said = output.value
        if not (said or "").strip() and (calls := getattr(output, "tool_calls", None)):
            said = f"calls of tools: {', '.join(map(str, calls))}"  # an answer, too, which requirements see whole
        return Generation(said, facts={_MADE: (output, action, after)})

    def _options(self, ticket: Ticket) -> dict[str, Any]:
        """Options of the call; attempts of one seed would be copies of one another."""
        from mellea.backends import ModelOption

        options = self.call.get("model_options")
        if not options or options.get(ModelOption.SEED) is None:
            return self.call
        return {**self.call, "model_options": {**options, ModelOption.SEED: options[ModelOption.SEED] + ticket.id - 1}}

    def _next(self, ticket: Ticket) -> tuple[Any, Any]:
        """The action and the context of an attempt."""
        from mellea.stdlib.components import Instruction, Message

        if ticket.previous is None:
            return deepcopy(self.action), self.context
        said = ticket.feedback
        if self.strategy.repair == "conversation":
            return Message(role="user", content=self.strategy.text(said)), ticket.previous.receipt[_MADE][2]  # type: ignore[attr-defined]
        if isinstance(self.action, Instruction):
            return self.action.copy_and_repair(
                f"An earlier answer did not meet these requirements:\n{said}"
            ), self.context
        return deepcopy(self.action), self.context


async def _end(thunk: Any, ticket: Ticket) -> None:
    """Cancel what mellea started in a task of its own."""
    with anyio.move_on_after(GRACE, shield=True) as scope:
        try:
            await thunk.cancel_generation()
        except anyio.get_cancelled_exc_class():
            pass  # the generation's own, which has ended
        except Exception as failure:
            ticket.not_stopped.append(f"mellea could not cancel a generation: {failure!r}")
    if scope.cancel_called:
        ticket.not_stopped.append(f"mellea did not cancel a generation within {GRACE:g} s")


class _Wrapped:
    """A requirement of mellea as one of bakeoff."""

    takes_subject = True  # it sees the context that made the output

    def __init__(self, inner: Any, backend: Any, context: Any, model_options: Any) -> None:
        self.inner, self.backend, self.context, self.model_options = inner, backend, context, model_options
        self.description = inner.description or "a requirement without a description"
        self.cost = Cost.MODEL if inner.validation_fn is None else Cost.CHEAP

    async def check(self, subject: Subject) -> ValidationResult:
        """Validate the output in its context."""
        from mellea.stdlib.functional import avalidate

        output, _, context = subject.facts[_MADE]
        context = self.context if self.context is not None else context
        if self.inner.validation_fn is None:
            (found,) = await avalidate(
                [self.inner], context, self.backend, output=output, model_options=self.model_options
            )
        else:
            if context.node_data is not output:
                context = context.add(output)
            found = await beside_loop(self.inner.validation_fn, context)
            if inspect.isawaitable(found):
                found = await found
        if not hasattr(found, "as_bool"):
            return verdict_of(found)
        error = getattr(found, "error", None)
        met = found.as_bool() and error is None
        said = None if error is None else f"{type(error).__name__}: {error}"
        return ValidationResult(met, found.reason or "", found.score, said, receipt={_MADE: found})


def _translated(found: SamplingResult, requirements: Any) -> dict[str, Any]:
    """The arguments of mellea's result.

    Raises:
        BakeoffError: no attempt was judged; the cause is what the first of them met.
    """
    from mellea.core import ValidationResult as Theirs

    if found.result_index is None:
        first = next(iter(found.errors.values()), None)
        if first is not None and first.exception is not None:
            raise first.exception
        raise BakeoffError(f"no attempt was judged: {found.reason}{f' ({first})' if first else ''}")
    judged = [attempt for attempt in found.attempts if attempt.judged]
    made = [attempt.receipt[_MADE] for attempt in judged]
    verdicts = [
        [
            (verdict.receipt or {}).get(_MADE) or Theirs(verdict.result, reason=verdict.reason or verdict.error)
            for verdict in attempt.verdicts
        ]
        for attempt in judged
    ]
    return {
        "result_index": found.result_index,
        "success": found.success,
        "sample_generations": [output for output, _, _ in made],
        "sample_actions": [action for _, action, _ in made],
        "sample_contexts": [context for _, _, context in made],
        "sample_validations": [list(zip(requirements, theirs, strict=False)) for theirs in verdicts],
    }
