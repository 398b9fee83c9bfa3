"""Reports of test runs and replays: calls, outcomes, and what was seen of the processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.judge.codec import neutral

PARTS = ("before", "whole", "result", "after", "out", "err")
"""What the parts of a call's frame are."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the target, and what came of it.

    Attributes:
        test: the test that made it; empty for what happens while tests are collected.
        index: its place among the calls of that test.
        kind: `return`, `raise`; `unfit` (the call cannot be made in another process), `incomparable` (what came of it
            has no bytes), `counted`.
        before: the arguments; whatever is too long here is a digest.
        whole: arguments and result after the call, with who shares what.
        result: the result, or the exception, by itself; empty where the result is an iterator that a test read.
        after: the arguments after the call by themselves.
        out: what it printed.
        err: what it printed on standard error.
        type: the name of the type of the result or the exception.
        message: of the exception, or why there are no bytes.
        errno: of the exception.
        seconds: it took.
        warned: warnings: module, category, text.
        digest: of all this, where the parts are left out.
    """

    test: str
    index: int
    kind: str
    before: bytes = b""
    whole: bytes = b""
    result: bytes = b""
    after: bytes = b""
    out: bytes = b""
    err: bytes = b""
    type: str = ""
    message: str = ""
    errno: int | None = None
    seconds: float = 0.0
    warned: tuple[tuple[str, ...], ...] = ()
    digest: str = ""

    @classmethod
    def read(cls, test: str, index: int, header: Mapping[str, Any], parts: Sequence[bytes]) -> Call:
        """From a frame, by whoever it was written; names of temporary folders do not count in it."""
        errno, seconds = header.get("errno"), header.get("seconds")
        warned = header.get("warned")
        texts = [tuple(map(str, each)) for each in warned if isinstance(each, list)] if isinstance(warned, list) else []
        return cls(
            test,
            index,
            str(header.get("kind")),
            **dict(zip(PARTS, map(neutral, parts), strict=False)),
            type=str(header.get("type", "")),
            message=_neutral_text(str(header.get("message", ""))),
            errno=errno if isinstance(errno, int) else None,
            seconds=seconds if isinstance(seconds, float) else 0.0,
            warned=tuple(texts),
            digest=str(header.get("digest", "")),
        )


def _neutral_text(text: str) -> str:
    return neutral(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Watched:
    """Observations of a process: from outside, and what it tells against itself.

    Attributes:
        status: its wait status; None where it could not be confined.
        ended: why it was ended early: memory, output, disk, processes, descriptors; empty if it was not.
        left: processes that outlived it.
        peak: bytes of memory.
        wrote: files below the project's top that it changed.
        evidence: (kind, what) as the witness wrote.
        forged: something else wrote to where only the witness does.
        failed: why it could not be confined.
    """

    status: int | None = None
    ended: str = ""
    left: list[str] = field(default_factory=list)
    peak: int = 0
    wrote: list[str] = field(default_factory=list)
    evidence: list[tuple[str, str]] = field(default_factory=list)
    forged: bool = False
    failed: str = ""

    @property
    def how(self) -> str:
        """Ending of the process, in words."""
        if self.status is None:
            return self.failed or "it was ended"
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            try:
                return f"it died of {signal.Signals(number).name}"
            except ValueError:
                return f"it died of signal {number}"
        return f"it ended with status {os.WEXITSTATUS(self.status)}"


@dataclass(slots=True)
class Test:
    """Report of pytest on one test.

    Attributes:
        phases: the outcome of each phase.
        seconds: all phases together.
        message: of the phase that failed.
        printed: its output, where the function ran in its process.
    """

    phases: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    message: str = ""
    printed: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """`passed`, `failed`, `skipped`, `xfailed`, or `incomplete`."""
        found = set(self.phases.values())
        for outcome in ("failed", "xfailed", "skipped"):
            if outcome in found:
                return outcome
        return "passed" if {"setup", "call", "teardown"} <= self.phases.keys() else "incomplete"


@dataclass(slots=True)
class TestRun:
    """A run of the tests.

    Attributes:
        tests: by name, in order.
        calls: of the target, by test, in order.
        uncollected: what could not be collected, and why.
        lost: (why, test, index of the call, its arguments) where the candidate's process was lost.
        unready: (why, message) where it never could be called.
        late: the test that did not end, and was ended.
        end: what the run told at its end; None if it did not get there.
        forged: something that is no report came where reports do.
        watched: the tests' process.
        candidate: the candidate's process, where there is one.
    """

    tests: dict[str, Test] = field(default_factory=dict)
    calls: dict[str, list[Call]] = field(default_factory=dict)
    uncollected: dict[str, str] = field(default_factory=dict)
    lost: tuple[str, str, int, bytes] | None = None
    unready: tuple[str, str] | None = None
    late: str | None = None
    end: dict[str, Any] | None = None
    forged: bool = False
    watched: Watched = field(default_factory=Watched)
    candidate: Watched | None = None

    def take(self, header: dict[str, Any], parts: Sequence[bytes]) -> None:
        """Take a report over; one that is none makes the run `forged`.

        Passes on KeyError, TypeError, ValueError, OverflowError, RecursionError: it has no values, or odd ones.
        """
        match header.get("say"):
            case "uncollected":
                self.uncollected[str(header["test"])] = str(header["message"])
            case "begin":
                self.tests.setdefault(str(header["test"]), Test())
            case "phase":
                test = self.tests.setdefault(str(header["test"]), Test())
                test.phases[str(header["phase"])] = str(header["outcome"])
                test.seconds += float(header["seconds"])
                test.message = test.message or str(header.get("message", ""))
                test.printed = tuple(map(str, header.get("printed", test.printed)))
            case "call":
                call = Call.read(str(header["test"]), int(header["index"]), header, parts)
                self.calls.setdefault(call.test, []).append(call)
            case "lost":
                self.lost = (str(header["why"]), str(header["test"]), int(header["index"]), parts[0] if parts else b"")
            case "unready":
                self.unready = (str(header["why"]), str(header["message"]))
            case "ready":
                pass  # that something was told at all is what it says
            case "end":
                self.end = header
            case _:
                self.forged = True


@dataclass(slots=True)
class Replay:
    """Calls made once more.

    Attributes:
        calls: what came of each, in order; shorter than asked where the process was lost.
        lost: why: timeout, ended, forged.
        unready: as in `TestRun`.
        state: state around the target after all calls, see `inside.module_state`; None where that was not told.
        watched: the process.
    """

    calls: list[Call] = field(default_factory=list)
    state: dict[str, str] | None = None
    lost: str | None = None
    unready: tuple[str, str] | None = None
    watched: Watched = field(default_factory=Watched)
