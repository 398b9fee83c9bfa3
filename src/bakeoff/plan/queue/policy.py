"""Policy of the merge queue: what to test next, as a state machine without git and processes.

Changes are known by their numbers, in plan order. The machine is a generator: it yields what it wants to know and is
sent the answer, so that simulation and real runs drive it alike. The same answers always lead to the same questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

Items = tuple[int, ...]


class Purpose(Enum):
    """Reason that something is tested."""

    TIP = "all together"
    RETRY = "once more"
    SEARCH = "looking for who breaks it"
    CONFIRM = "making sure"
    PARTNER = "looking for its partner"


@dataclass(frozen=True, slots=True)
class Compose:
    """Question: which changes can be merged one on top of the other, in order, without these? Answered by `Items`."""

    without: frozenset[int]


@dataclass(frozen=True, slots=True)
class Probe:
    """Question: does the merge of these, in this order, pass?"""

    items: Items
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Trial:
    """The answer to a probe.

    Attributes:
        passed: None where these cannot be merged without the others.
    """

    passed: bool | None
    tests: tuple[str, ...] = ()


Question: TypeAlias = Compose | tuple[Probe, ...]
"""A tuple of probes may be tested at once; it is answered by as many trials, in its order."""


@dataclass(frozen=True, slots=True)
class Blame:
    """One that breaks the rest.

    Attributes:
        item: the culprit: what is before it passes, and with it does not, twice.
        tests: what failed.
        partner: the change that it does not go together with; None where it fails without any.
        confirmed: whether the two were seen to fail without the others.
        failing: what failed twice, with it as the last; no other culprit is in it.
    """

    item: int
    tests: tuple[str, ...]
    partner: int | None = None
    confirmed: bool = False
    failing: Items = field(default=(), compare=False)


@dataclass(slots=True)
class Outcome:
    """Outcome of a queue.

    Attributes:
        landed: what passes together.
        blamed: who does not, in the order in which they were found.
        flaky: what failed once and passed when it was tested again.
    """

    landed: Items = ()
    blamed: list[Blame] = field(default_factory=list)
    flaky: list[Items] = field(default_factory=list)


def land(alone: Collection[int] = (), width: int = 1) -> Generator[Question, Any, Outcome]:
    """Test all together; on red retry once, then find the first failing prefix, take its last change out, go on.

    Nobody is blamed before what it breaks has failed twice. Partners are looked for when it is clear what lands.

    Args:
        alone: changes that are known to pass on the base by themselves.
        width: prefixes to test at once in a search.
    """
    return (yield from _Queue(alone, width).land())


class _Queue:
    def __init__(self, alone: Collection[int], width: int) -> None:
        self.width = width
        self.green: set[Items] = {(), *((item,) for item in alone)}
        self.red: Counter[Items] = Counter()
        self.tests: dict[Items, tuple[str, ...]] = {}
        self.outcome = Outcome()

    def land(self) -> Generator[Question, Any, Outcome]:
        culprits: list[Items] = []
        while True:
            chain: Items = yield Compose(frozenset(items[-1] for items in culprits))
            failing = yield from self.failing(chain, again=not culprits)
            if failing is None:
                break
            culprits.append(failing)
        self.outcome.landed = chain
        for failing in culprits:
            self.outcome.blamed.append((yield from self.blame(failing)))
        return self.outcome

    def failing(self, chain: Items, *, again: bool) -> Generator[Question, Any, Items | None]:
        """The first prefix that fails, seen twice; None where all of it passes.

        `again`: a red chain is tested once more before anything else. Once a culprit is known a red one surprises
        nobody, and the search is as good a second look.
        """
        if chain in self.green or (yield from self.passes(chain, Purpose.TIP)):
            return None
        if again and (yield from self.passes(chain, Purpose.RETRY)):
            return None
        while True:
            good = max(length for length in range(len(chain)) if chain[:length] in self.green)
            found = yield from self.search(good, len(chain), lambda length: chain[:length], Purpose.SEARCH)
            assert found is not None  # prefixes of a chain can always be merged
            prefix = chain[:found]
            if self.red[prefix] > 1 or not (yield from self.passes(prefix, Purpose.CONFIRM)):
                return prefix
            if prefix == chain:
                return None

    def blame(self, failing: Items) -> Generator[Question, Any, Blame]:
        """Whom the last of `failing` does not go together with: the last change without which it passes."""
        *before, item = failing
        told = Blame(item, self.tests[failing], failing=failing)

        def among(length: int) -> Items:
            return (*before[:length], item)

        lowest = 0 if (item,) in self.green else -1
        if lowest == len(before):  # it passed alone before, and fails alone now
            return told
        found = yield from self.search(lowest, len(before), among, Purpose.PARTNER)
        if not found:
            return told
        partner = before[found - 1]
        pair = (partner, item)
        if not self.red[pair]:
            yield from self.ask([pair], Purpose.PARTNER)
        return replace(told, partner=partner, confirmed=self.red[pair] > 0)

    def search(self, good: int, bad: int, items: Any, purpose: Purpose) -> Generator[Question, Any, int | None]:
        """The first failing length; None where one of the merges that it takes cannot be made."""
        search = first_failing(good, bad, self.width)
        passed: Sequence[bool] | None = None
        while True:
            try:
                lengths = next(search) if passed is None else search.send(passed)
            except StopIteration as end:
                return int(end.value)
            trials = yield from self.ask([items(length) for length in lengths], purpose)
            if any(trial.passed is None for trial in trials):
                return None
            passed = [bool(trial.passed) for trial in trials]

    def passes(self, items: Items, purpose: Purpose) -> Generator[Question, Any, bool]:
        (trial,) = yield from self.ask([items], purpose)
        return bool(trial.passed)

    def ask(self, wanted: Sequence[Items], purpose: Purpose) -> Generator[Question, Any, list[Trial]]:
        trials: list[Trial] = yield tuple(Probe(items, purpose) for items in wanted)
        for items, trial in zip(wanted, trials, strict=True):
            self.learn(items, trial)
        return trials

    def learn(self, items: Items, trial: Trial) -> None:
        if trial.passed:
            self.green.add(items)
            if self.red[items]:
                self.outcome.flaky.append(items)
        elif trial.passed is False:
            self.red[items] += 1
            self.tests[items] = trial.tests


def first_failing(good: int, bad: int, width: int = 1) -> Generator[Sequence[int], Sequence[bool], int]:
    """The first length in `good + 1 ... bad` whose prefix fails.

    It yields the lengths to test next, at most `width`, and is sent whether each passed. What is found was seen to
    fail, or is `bad`; the one before it was seen to pass, or is `good`.

    Args:
        good: a length that passes.
        bad: a greater one that fails.
        width: how many are tested at once. With one the search takes the fewest tests, log2 of the range; with more
            it takes fewer rounds.
    """
    while bad - good > 1:
        lengths = sorted({good + (bad - good) * number // (width + 1) for number in range(1, width + 1)} - {good})
        passed = yield lengths
        for length, fine in zip(lengths, passed, strict=True):
            if not fine:
                bad = length
                break
            good = length
    return bad
