"""One fork of one contender, as it was reported and as it was seen from outside."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.judge.codec import Malformed, explain

OVERHEAD = 1.05
"""Processor time above the time that passed, as a part of it, that one processor does not give."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a fork is asked to do.

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
        trace: measure memory instead.
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
    trace: bool = False


@dataclass(slots=True)
class Sample:
    """What came of it. Times in nanoseconds.

    Attributes:
        contender: its number.
        failure: the reason why there is nothing to compare, as in `Speed.verdict`; None where there is.
        detail: in words.
        load: from asking for the fork until it had loaded the contender, on our clock.
        outside: from sending the inputs until the report was there, on our clock.
        cold: of the first call on each input.
        warm: of each batch of each input.
        wall, cpu: of the batches together, by clocks of the fork.
        waits: how often it gave up the processor by itself.
        messages: what the first call on each input gave.
        digests: of what the calls in batches gave.
        facts: what the parent saw: `threads`, `moved`, `children`, `left`, `status`, `cpu_seconds`, `maxrss`.
        changed: what the fork says was changed: clocks, gc, trace functions.
        peak: bytes, where memory was asked for.
    """

    contender: int
    failure: str | None = None
    detail: str = ""
    load: int = 0
    outside: int = 0
    cold: list[int] = field(default_factory=list)
    warm: list[list[int]] = field(default_factory=list)
    wall: int = 0
    cpu: int = 0
    waits: int = 0
    messages: list[bytes] = field(default_factory=list)
    digests: list[list[str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    peak: int | None = None

    def fail(self, reason: str, detail: str) -> None:
        """Note why there is nothing to compare; the first reason stays."""
        if self.failure is None:
            self.failure, self.detail = reason, detail

    @property
    def inside(self) -> int:
        """All that was timed."""
        return sum(self.cold) + sum(map(sum, self.warm))

    @property
    def disturbed(self) -> bool:
        """Whether something else had the processor meanwhile, as far as the fork's clocks tell."""
        return self.cpu > 0 and self.waits == 0 and abs(self.wall / self.cpu - 1) > 0.02

    def per_call(self, job: Job) -> list[float]:
        """Of one call on each input: the least of its batches, or of its only call."""
        if not job.repeats:
            return [float(taken) for taken in self.cold]
        return [min(taken) / count for taken, count in zip(self.warm, job.calls, strict=True)]


def read(sample: Sample, job: Job, header: Mapping[str, Any], body: bytes) -> None:
    """Take over what the fork says of itself, which may be anything."""
    try:
        sample.changed = [str(name)[:40] for name in list(header["changed"])[:40]]
        if job.trace:
            sample.peak = int(header["peak"])
            return
        sample.cold = [int(taken) for taken in header["cold"]]
        sample.warm = [[int(taken) for taken in batches] for batches in header["warm"]]
        sample.wall, sample.cpu, sample.waits = (int(header[name]) for name in ("wall", "cpu", "waits"))
        sample.digests = [[str(digest) for digest in found[:4]] for found in header["digests"]]
        place = 0
        for size in header["sizes"]:
            sample.messages.append(body[place : place + int(size)])
            place += int(size)
        shape = [len(job.inputs)] * 4
        if [len(sample.cold), len(sample.warm), len(sample.digests), len(sample.messages)] != shape:
            raise ValueError("a report on other inputs")
        if any(len(batches) != job.repeats for batches in sample.warm):
            raise ValueError("a report on other batches")
    except (KeyError, TypeError, ValueError) as failure:
        sample.fail("tampering", f"its report makes no sense: {failure}")
        return
    if min(sample.cold, default=1) <= 0 or min((min(taken, default=1) for taken in sample.warm), default=1) <= 0:
        sample.fail("tampering", "it reports calls that took no time")


def inspect(sample: Sample, cpus: int | None) -> None:
    """What the fork did besides computing.

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
        sample.fail("tampering", f"{facts['cpu_seconds']:.3f} s of processor time within {passed:.3f} s of one processor")


def ended(sample: Sample) -> None:
    """Why there is no report."""
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
    """Whether all calls gave what the original gives."""
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
        return
    for place, (digests, wanted) in enumerate(zip(sample.digests, expected, strict=True)):
        digest = hashlib.blake2b(wanted, digest_size=16).hexdigest()
        if any(found != digest for found in digests):
            sample.fail("differs-while-timed", f"input {place}: another result when it is called again")
            return
