"""One fork of one contender, as it was reported and as it was seen from outside."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.judge.codec import Malformed, explain

OWN = 1.005
"""What may pass, in processor time, before something else must have run. (The one is read around the other.)"""
WARMING = 16
"""Calls after which CPython runs specialised code."""
OVERHEAD = 1.05
"""Processor time above the time that passed, as a part of it, that one processor does not give."""


@dataclass(frozen=True, slots=True)
class Job:
    """Task of a fork.

    Attributes:
        inputs: encoded calls.
        calls: how often each is called in one batch.
        repeats: batches of each, after one single call of each.
        order: in which the inputs are taken.
        depth: calls below the one that calls.
        seed: of the memory's layout.
        seconds: after which it has hung.
        force: results are iterators, and are read within the time.
        keep_files: files cannot grow, so that nothing is remembered from fork to fork.
        extra: further passes over each batch with the arguments that were made for it, so that what a call takes shows
            on the clock outside. They are not timed inside.
        probe: say, too, which calls change their arguments, what was imported, and what is kept from call to call.
        trace: measure memory instead.
        warm_up: first calls of the second half of `order` are those of warm code: before them the inputs of the first
            half are called some more times, which is not timed inside.
    """

    inputs: Sequence[bytes]
    calls: Sequence[int]
    repeats: int
    order: Sequence[int]
    depth: int
    seed: int
    seconds: float
    force: bool = False
    keep_files: bool = True
    extra: int = 0
    probe: bool = False
    trace: bool = False
    warm_up: bool = False

    @property
    def warming(self) -> int:
        """Calls of each input of the first half that warm the code up."""
        half = len(self.order) // 2
        return math.ceil(WARMING / half) if self.warm_up and half else 0

    @property
    def later(self) -> Sequence[int]:
        """Places of the second half, whose first calls are those of warm code."""
        return self.order[len(self.order) // 2 :]

    def repeated(self, place: int) -> int:
        """Number of times that an input is called beside the first: in batches, and to warm up; once, if never."""
        warming = self.warming if place not in self.later else 0
        return self.calls[place] * (self.repeats + self.extra) + warming or 1


Taken = tuple[int, int]
"""Nanoseconds that passed, and that were used of the processor."""


@dataclass(slots=True)
class Sample:
    """Report of a fork, and what was seen of it from outside. Times in nanoseconds.

    Attributes:
        contender: its number.
        failure: the reason why there is nothing to compare, as in `Speed.verdict`; None where there is.
        detail: in words.
        place: of the input whose outcome differs; None where nothing differs.
        load: from asking for the fork until it had loaded the contender, on our clock.
        outside: from sending the inputs until the report was there, on our clock.
        cold: of the first call on each input: passed, and used of the processor by that thread.
        warm: the same, of each batch of each input.
        waits: how often it gave up the processor by itself.
        messages: what the first call on each input gave.
        digests: of what the calls in batches gave.
        facts: what the parent saw: `threads`, `moved`, `children`, `left`, `status`, `cpu_seconds`, `maxrss`.
        changed: what the fork says was changed: clocks, gc, trace functions.
        modules: that were imported for it, where that was asked for.
        changes: places of inputs that a call changes, where that was asked for.
        kept: names of what holds more, or something else, after all first calls than after the first; where asked for.
        keeps: those of them that the original does not keep: only first calls count then.
        peak: bytes, where memory was asked for.
    """

    contender: int
    failure: str | None = None
    detail: str = ""
    place: int | None = None
    load: int = 0
    outside: int = 0
    cold: list[Taken] = field(default_factory=list)
    warm: list[list[Taken]] = field(default_factory=list)
    waits: int = 0
    messages: list[bytes] = field(default_factory=list)
    digests: list[list[str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    keeps: list[str] = field(default_factory=list)
    peak: int | None = None

    def fail(self, reason: str, detail: str) -> None:
        """Note why there is nothing to compare; the first reason stays."""
        if self.failure is None:
            self.failure, self.detail = reason, detail

    def quiet(self, place: int, job: Job, waits: bool) -> float | None:
        """Nanoseconds of one call on an input, by its best batch; None where something else ran during all of them.

        Args:
            place: of the input.
            job: what was asked for.
            waits: the code waits by itself, so that it cannot be told.
        """
        batches, count = self._batches(place, job)
        return min((passed / count for passed, used in batches if waits or passed <= used * OWN), default=None)

    def first(self, place: int, waits: bool) -> float | None:
        """Nanoseconds of the first call on an input, as `quiet`."""
        passed, used = self.cold[place]
        return float(passed) if waits or passed <= used * OWN else None

    def used(self, place: int, job: Job) -> float:
        """Nanoseconds of processor time of one call on an input, by its best batch."""
        batches, count = self._batches(place, job)
        return max(1.0, min(used for _, used in batches) / count)

    def _batches(self, place: int, job: Job) -> tuple[list[Taken], int]:
        return (self.warm[place], job.calls[place]) if job.repeats else ([self.cold[place]], 1)


def read(sample: Sample, job: Job, header: Mapping[str, Any], body: bytes) -> None:
    """Take over what the fork says of itself, which may be anything."""
    try:
        sample.changed = [str(name)[:40] for name in list(header["changed"])[:40]]
        sample.modules = [str(name) for name in header["modules"]]
        if job.trace:
            sample.peak = _whole(header["peak"])
            return
        sample.cold = [_taken(pair) for pair in header["cold"]]
        sample.warm = [[_taken(pair) for pair in batches] for batches in header["warm"]]
        sample.waits = _whole(header["waits"])
        sample.changes = [_whole(place) for place in header["changes"]]
        sample.kept = [str(name)[:80] for name in header["kept"]]
        sample.digests = [[str(digest) for digest in found[:4]] for found in header["digests"]]
        place = 0
        for size in header["sizes"]:
            sample.messages.append(body[place : place + _whole(size)])
            place += _whole(size)
        shape = [len(job.inputs)] * 4
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as failure:
        sample.fail("tampering", f"its report makes no sense: {failure}")
        return
    if [len(sample.cold), len(sample.warm), len(sample.digests), len(sample.messages)] != shape:
        sample.fail("tampering", "it reports on other inputs")
    elif any(len(batches) != job.repeats for batches in sample.warm):
        sample.fail("tampering", "it reports on other batches")
    elif any(passed <= 0 for batches in (sample.cold, *sample.warm) for passed, _ in batches):
        sample.fail("tampering", "it reports calls that took no time")


def _taken(pair: Any) -> Taken:
    passed, used = pair
    return _whole(passed), _whole(used)


def _whole(value: Any) -> int:
    """A number that can be counted with.

    Raises:
        ValueError: it is none.
    """
    number = int(value)
    if abs(number) >> 62:
        raise ValueError("a number that is too large")
    return number


def inspect(sample: Sample, cpus: int | None) -> None:
    """Look for what the fork did besides computing.

    Args:
        sample: with the facts.
        cpus: how many processors it was held to; None where it could not be.
    """
    facts = sample.facts
    if sample.changed:
        sample.fail("tampering", f"it changed {', '.join(sample.changed)}")
    if facts.get("moved"):
        sample.fail("tampering", "it moved to another processor")
    if facts.get("children") or facts.get("left"):
        sample.fail("process-leak", "it left processes behind")
    if facts.get("threads", 1) > 1:
        sample.fail("process-leak", f"it left {facts['threads'] - 1} threads running")
    passed = (sample.load + sample.outside) / 1e9
    if cpus == 1 and facts.get("cpu_seconds", 0.0) > passed * OVERHEAD + 0.02:
        sample.fail(
            "tampering", f"{facts['cpu_seconds']:.3f} s of processor time within {passed:.3f} s of one processor"
        )


def ended(sample: Sample) -> None:
    """Note why there is no report."""
    status = sample.facts.get("status")
    how = sample.facts.get("how")
    if how == "timeout":
        sample.fail("timeout", "it did not end in time")
    elif how:
        said = "it ended without a report"
        if isinstance(status, int) and os.WIFSIGNALED(status):
            said = f"it died of signal {os.WTERMSIG(status)}"
        sample.fail("crash", said)


def compare(sample: Sample, expected: Sequence[bytes]) -> None:
    """Compare what all calls gave with what the original gives; note the first difference."""
    for place, (message, wanted) in enumerate(zip(sample.messages, expected, strict=True)):
        if message == wanted:
            continue
        if message.startswith(b"?"):
            sample.fail("incomparable", message[1:200].decode(errors="replace"))
            return
        try:
            said = explain(wanted, message)
        except Malformed as failure:
            sample.fail("tampering", f"what it returned is no value: {failure}")
            return
        sample.fail("differs-while-timed", f"input {place}: {said[:300]}")
        sample.place = place
        return
    for place, (digests, wanted) in enumerate(zip(sample.digests, expected, strict=True)):
        digest = hashlib.blake2b(wanted, digest_size=16).hexdigest()
        if any(found != digest for found in digests):
            sample.fail("differs-while-timed", f"input {place}: another result when it is called again")
            sample.place = place
            return
