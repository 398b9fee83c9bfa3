"""The original's answers to calls, asked in processes of two hash seeds; what is not the same in both is left out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from bakeoff.engine.failures import work_group
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded
from bakeoff.optimize.behaviour.differences import same
from bakeoff.optimize.behaviour.discovery import SEEDS
from bakeoff.optimize.behaviour.evaluation import replay
from bakeoff.optimize.behaviour.inside.serving import ONCE
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Call, Replay, TestRun
from bakeoff.optimize.behaviour.server_pool import ProcessPair, ServerPool
from bakeoff.optimize.errors import BehaviourError

ROUNDS = 4
"""How often the original is asked again after calls were dropped, or tests lost."""
LOST = 4 * ROUNDS
"""Calls at which the original may be lost before no more are made."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Asked:
    """A call to be made.

    Attributes:
        before: the arguments, encoded.
        seconds: that it may take.
        derived: the arguments were seen in no test.
    """

    before: bytes
    seconds: float
    derived: bool = False


@dataclass(slots=True)
class Original:
    """The original in processes of its own, and what was noticed of those.

    Attributes:
        servers: that the processes come from.
        pairs: where, one for each seed or one for both.
        options: which parts of a call are compared.
        evidence: what it did besides computing.
        wrote: files of the project that it changed.
        leaves: it left processes running.
        peak: bytes of memory.
        states: state around it after all calls, by seed.
    """

    servers: ServerPool
    pairs: list[ProcessPair]
    options: BehaviourOptions
    evidence: set[tuple[str, str]] = field(default_factory=set)
    wrote: set[str] = field(default_factory=set)
    leaves: bool = False
    peak: int = 0
    states: dict[int, dict[str, str]] = field(default_factory=dict)

    def notice(self, run: TestRun | Replay) -> None:
        """Take down what was seen of one of its processes."""
        watched = run.candidate if isinstance(run, TestRun) else run.watched
        if watched is not None:
            self.evidence |= set(watched.evidence)
            self.leaves = self.leaves or bool(watched.left)
            self.peak = max(self.peak, watched.peak)
            self.wrote |= set(watched.wrote)

    async def twice(self, ask: Callable[[int, ProcessPair], Awaitable[Found]]) -> tuple[Found, Found]:
        """Ask with both seeds: at the same time in two slots, one after the other in one."""
        if len(self.pairs) == 1:
            return await ask(SEEDS[0], self.pairs[0]), await ask(SEEDS[1], self.pairs[0])
        found: dict[int, Found] = {}

        async def one(seed: int, pair: ProcessPair) -> None:
            found[seed] = await ask(seed, pair)

        async with work_group() as group:
            for seed, pair in zip(SEEDS, self.pairs, strict=True):
                group.start(one, seed, pair)
        return found[SEEDS[0]], found[SEEDS[1]]

    async def repeatable(
        self, baseline: Baseline, asked: Sequence[Asked], fits: Callable[[Asked, Call], bool]
    ) -> tuple[list[Asked], list[Recorded], bool]:
        """Calls that give the same with both seeds, with what they give; asked again until none is dropped any more.

        Args:
            baseline: of the function.
            asked: the calls.
            fits: whether what came of one can be compared.

        Returns:
            The calls that stayed; the same with what came of them; whether the last time none was dropped.

        Passes on BehaviourError: it cannot be loaded.
        """
        left, recorded = list(asked), list[Recorded]()
        for _ in range(ROUNDS):
            one, other = await self.twice(partial(self.answers, baseline, left))
            kept, recorded = [], []
            for index, call in enumerate(left):
                first, second = one.get(index), other.get(index)
                if first is None or second is None or not same(first, second, self.options) or not fits(call, first):
                    continue
                kept.append(call)
                recorded.append(Recorded(call.before, first, call.derived))
            if len(kept) == len(left):
                return kept, recorded, True
            left = kept
        return left, recorded, False

    async def answers(
        self, baseline: Baseline, asked: Sequence[Asked], seed: int, pair: ProcessPair, *, mode: str = ONCE
    ) -> dict[int, Call]:
        """Answers of the original, by the place of the call; calls at which it is lost are left out.

        Raises:
            BehaviourError: it could not be loaded.
        """
        found: dict[int, Call] = {}
        start = unready = 0
        serve = {**baseline.serve(self.options, pair.function.root), "mode": mode}
        self.states.pop(seed, None)
        for _ in range(LOST):
            if start >= len(asked):
                break
            calls = [(call.before, call.seconds) for call in asked[start:]]
            async with self.servers.server(seed) as server:
                answers = await replay(server, pair.function, serve, calls)
            self.notice(answers)
            found |= {start + index: call for index, call in enumerate(answers.calls)}
            if start == 0 and answers.state is not None:
                self.states[seed] = answers.state
            if answers.unready is None:
                start += len(answers.calls) + 1
                continue
            unready += 1
            if unready == ROUNDS:
                why = answers.watched.failed or answers.unready[1] or answers.watched.how
                raise BehaviourError(f"{baseline.target.path} cannot be imported in a sandbox: {why}")
        return found
