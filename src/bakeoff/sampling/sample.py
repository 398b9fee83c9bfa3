"""Entry point `sample`: attempts at one answer until one meets all requirements."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from bakeoff.api.arguments import check_name
from bakeoff.api.durable import DurableRun, durable, keeps
from bakeoff.api.sync import run_sync
from bakeoff.engine.budget import Budget
from bakeoff.engine.events import Events
from bakeoff.engine.failures import is_cancel
from bakeoff.engine.history import used
from bakeoff.engine.record import Status
from bakeoff.engine.run import Run
from bakeoff.judge.isolating import isolating
from bakeoff.judge.requirement import as_requirement
from bakeoff.judge.subject import Subject
from bakeoff.model.protocol import Model
from bakeoff.sampling.action import Ask, Call, Ticket, as_action
from bakeoff.sampling.events import Announcer, SamplingEnded, SamplingStarted
from bakeoff.sampling.options import Options, check_amounts
from bakeoff.sampling.rejection import RejectionSamplingStrategy
from bakeoff.sampling.result import Attempt, Reason, SamplingError, SamplingResult, assemble
from bakeoff.sampling.sampler import Sampler, ceilings_of
from bakeoff.sampling.strategy import SamplingStrategy, check_budget

_numbers = count()


async def sample(
    action: Any,
    requirements: Any = (),
    *,
    strategy: SamplingStrategy | None = None,
    model: Model | None = None,
    run: str | DurableRun | None = None,
    project: Path | str | None = None,
    events: Events | None = None,
    **options: Any,
) -> SamplingResult:
    """Make attempts at `action`, judge each by the requirements, and return the chosen one with all that is known.

    When none passes, `success` is False and the best failure is chosen: most requirements met, then the highest
    score, then the lowest id.

    Args:
        action: a prompt, a `Request`, an async function of the attempt (a `Ticket`), or an object with an async
            `make(attempt)`. The latter return text, a JSON value, or a `Generation`.
        requirements: each a `Requirement`, a function of the output, or a text that `judge` judges.
        strategy: which attempts are made; two rounds of rejection sampling if left out.
        model: who answers prompts.
        run: a name makes it durable: called again with it, finished generations and checks are taken from the run.
            An open run shares its bound, budget and journal.
        project: folder that holds `.bakeoff`; this one if left out.
        events: the stream of what happens; its consumers never delay a result.
        options: see `Options`.

    Cancelled, no attempt begins any more, and the running ones have ended before this returns.

    Raises:
        TypeError: something is of the wrong kind.

    Passes on SamplingError: an error that no attempt can avoid; it carries the cause, how often it was met, and the
    result. Passes on ValueError: an option is out of its range, or a hook made it so. Passes on what `durable` raises.
    """
    try:
        asked = Options(**options).checked()
    except TypeError as failure:
        raise TypeError(str(failure).replace("Options.__init__()", "sample()")) from None
    call = _Call(action, requirements, strategy or RejectionSamplingStrategy(loop_budget=2), model, asked)
    if isinstance(run, DurableRun):
        if project is not None or events is not None:
            raise TypeError("an open run has its project and events already: give them to `durable`")
        call.check(run.run.budget, durable=keeps(run.run))
        return await call.told(run.run.events, lambda: _inside(call, run))
    check_name(run)
    call.check(Budget(asked.budget or {}), durable=run is not None)
    stream = events or Events()

    async def alone() -> SamplingResult:
        return await durable(
            lambda handle: call.carry_out(handle.run, handle.run),
            run=run,
            project=project,
            max_parallel=call.concurrency_budget,
            lanes=dict.fromkeys(asked.lanes, call.concurrency_budget),
            budget=asked.budget,
            events=stream,
        )

    return await call.told(stream, alone)


def sample_sync(action: Any, requirements: Any = (), **options: Any) -> SamplingResult:
    """`sample` for code that is not async, inside a running event loop too; see there.

    Passes on KeyboardInterrupt: Ctrl-C; running attempts have been cancelled and have ended by then.
    """
    return run_sync(lambda: sample(action, requirements, **options))


async def _inside(call: _Call, run: DurableRun) -> SamplingResult:
    async with run.joined() as engine:
        return await call.carry_out(_under(engine, call.options.budget, call.prefix), engine)
    raise AssertionError("a run that is over says so")


class _Call:
    """One call of `sample`."""

    def __init__(
        self, action: Any, requirements: Any, strategy: SamplingStrategy, model: Model | None, options: Options
    ) -> None:
        if not isinstance(strategy, SamplingStrategy):
            raise TypeError(f"strategy is a SamplingStrategy, such as RejectionSamplingStrategy(), not {strategy!r}")
        given = (
            [requirements] if isinstance(requirements, str) or not isinstance(requirements, Iterable) else requirements
        )
        judge = options.judge or model
        self.strategy, self.options = strategy, options
        self.action: Ask | Call = as_action(action, model, strategy.brings_model)
        self.requirements = strategy.requirements([as_requirement(one, judge) for one in given])
        self.loop_budget, self.concurrency_budget = strategy.loop_budget, strategy.concurrency_budget
        self.sampling_id = os.urandom(8).hex()
        self.durable = False
        self.prefix = ""
        self.identity = ""
        self.announcer: Announcer | None = None
        self.sampler: Sampler | None = None

    def check(self, budget: Budget, *, durable: bool) -> None:
        """See to it that the call can be made under a budget.

        Raises:
            ValueError: somebody may use what nobody can foresee, or results would not be found again.
        """
        kinds = ceilings_of(budget) | set(self.options.budget or {})
        if kinds:
            self.options.amounts(self.action, Ticket(1, 0, 0), kinds)
            for requirement in self.requirements:
                check_amounts(requirement, Subject(""), kinds)
        if durable and self.options.name is None and self.action.title.endswith("<lambda>"):
            raise ValueError("results of a durable run are found by the function's name, and this one has none: "
                             "give `name=`")  # fmt: skip
        self.durable = durable

    def _find_place(self) -> None:
        """The path that all leaves stand under, and what results are found by after an edit."""
        name = self.options.name or self.action.title
        if not self.durable:
            self.prefix = f"{name}~{next(_numbers)}/"
            return
        whole = hashlib.blake2b(digest_size=12)
        strategy = self.strategy
        parts = [self.action.identity(name), strategy.identity, self.options.version]
        if strategy.chained:  # what an attempt makes depends on what the one before it failed
            parts += [str(self.loop_budget), *(str(getattr(one, "identity", one)) for one in self.requirements)]
        for part in parts:
            whole.update(f"{len(part)}\0{part}\0".encode("utf-8", "surrogatepass"))
        self.identity = whole.hexdigest()
        place = self.options.prefix
        self.prefix = f"{name}:{self.identity}/" if place is None else f"{place}/"

    async def told(self, events: Events, carry_out: Any) -> SamplingResult:
        """Carry it out between one start and one end that everybody hears of."""
        self.announcer = announcer = Announcer(events, self.options.hooks)
        raised: BaseException | None = None
        result: SamplingResult | None = None
        names = tuple(str(one.description) for one in self.requirements)
        started = SamplingStarted(
            announcer.now(), self.sampling_id, type(self.strategy).__name__, names,
            self.loop_budget, self.concurrency_budget,
        )  # fmt: skip
        try:
            await announcer.tell(started)
            self.loop_budget = check_budget("loop_budget", started.loop_budget)
            self.concurrency_budget = check_budget("concurrency_budget", started.concurrency_budget)
            self._find_place()
            async with isolating():
                result = await carry_out()
            return result
        except BaseException as failure:
            raised = failure
            raise
        finally:
            await self._tell_end(announcer, result, raised)

    async def _tell_end(
        self, announcer: Announcer, result: SamplingResult | None, raised: BaseException | None
    ) -> None:
        try:
            await announcer.tell_end(self._end(result, raised))
        except Exception as failure:
            if raised is None:
                raise
            raised.add_note(f"a hook failed at the end, too: {failure!r}")

    def _end(self, result: SamplingResult | None, raised: BaseException | None) -> SamplingEnded:
        assert self.announcer is not None
        ended = list(self.sampler.attempts.values()) if self.sampler else []
        if result is not None:
            reason = result.reason.value
        else:
            reason = "cancelled" if raised is not None and is_cancel(raised) else f"{type(raised).__name__}: {raised}"
        return SamplingEnded(
            self.announcer.now(),
            self.sampling_id,
            result is not None and result.success,
            sum(attempt.status != "cancelled" for attempt in ended),
            reason,
            result,
            raised,
        )

    async def carry_out(self, run: Run, home: Run) -> SamplingResult:
        """Make the attempts as leaves of a run."""
        assert self.announcer is not None
        self.sampler = sampler = Sampler(
            run=run,
            home=home,
            prefix=self.prefix,
            identity=self.identity,
            durable=self.durable,
            action=self.action,
            requirements=self.requirements,
            options=self.options,
            announcer=self.announcer,
            sampling_id=self.sampling_id,
            loop_budget=self.loop_budget,
            concurrency_budget=self.concurrency_budget,
        )
        winner: Attempt | None = None
        with anyio.move_on_after(self.options.deadline) as scope:
            winner = await self.strategy.search(sampler)
        if scope.cancelled_caught:
            sampler.stopped = sampler.stopped or Reason.DEADLINE
        if winner is None:
            winner = await self.strategy.choose(sampler)
        return self._result(sampler, winner)

    def _result(self, sampler: Sampler, winner: Attempt | None) -> SamplingResult:
        passed = winner is not None and winner.status == "passed"
        result = assemble(
            sampler.attempts,
            self.requirements,
            winner,
            Reason.PASSED if passed else sampler.stopped or _used_up(sampler.attempts.values()),
            strategy=type(self.strategy).__name__,
            loop_budget=self.loop_budget,
            concurrency_budget=self.concurrency_budget,
            facts=sampler.facts,
            short=sampler.short,
        )
        if sampler.fatal is not None and not passed:
            raise SamplingError(sampler.fatal, sampler.fatal_count, result) from sampler.fatal.exception
        return result


def _used_up(attempts: Iterable[Attempt]) -> Reason:
    """Why no attempt passed, where nothing stopped them."""
    made = [attempt for attempt in attempts if attempt.status != "cancelled"]
    return Reason.ERRORS if made and all(attempt.status == "error" for attempt in made) else Reason.EXHAUSTED


def _under(run: Run, ceilings: Any, prefix: str) -> Run:
    """The run, with a budget of its own under the run's: what earlier sessions did there counts."""
    if not ceilings:
        return run
    spent: dict[str, float] = {}
    records = run.history.records
    for start in run.history.spans:
        if start.path.startswith(prefix):
            record = records.get(start.path)
            last = record is not None and record.status in (Status.COMPLETED, Status.FAILED)
            for kind, amount in start.reserved.items():
                reply = run.history.checkpoints.get(start.path)
                usage = None if reply is None else reply.usage
                if record is not None and last and start.attempt == record.attempts and not record.replied:
                    usage = record.usage
                spent[kind] = spent.get(kind, 0.0) + used(kind, usage, amount)
    return Run(
        journal=run.journal,
        history=run.history,
        root=run.root,
        lanes=run.lanes,
        budget=Budget(ceilings, spent, run.budget),
        events=run.events,
        masker=run.masker,
        clock=run.clock,
        random=run.random,
    )
