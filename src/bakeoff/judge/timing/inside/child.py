"""The fresh fork that times one contender: load it, wait for the inputs, call, report, wait.

Whatever the contender does to this process, its report is only a claim. The clock that counts is outside, runs from
the moment the inputs are sent to the moment the report is there, and the inputs are not here before.
"""

from __future__ import annotations

import _thread
import gc
import importlib
import os
import random
import resource
import sys
import time
from hashlib import blake2b

from . import frames, kept
from .overlay import Overlay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Clocks = tuple[Callable[[], int], Callable[[], int]]
    Taken = tuple[int, int]

CLOCKS = ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns", "process_time",
          "process_time_ns", "thread_time", "thread_time_ns", "sleep", "clock_gettime")  # fmt: skip
LAZY = frozenset(map(id, (map, filter, zip, enumerate, reversed, type(iter([])), type(iter(())), type(iter("")),
                          type(iter({})), type(iter(set())), type(iter(range(0))), type(_ for _ in ()))))  # fmt: skip


class Child:
    """One fork."""

    def __init__(self, setup: dict[str, Any], codec: Any, report: int, end: int, inputs: int) -> None:
        self.setup = setup
        self.codec = codec
        self.report = report
        self.end = end
        self.inputs = inputs
        # Bound before any of the contender's code is there: replacing them in their modules changes nothing here.
        self.clock = time.perf_counter_ns
        # Of the thread: with a limit of processor time, Linux reads that of the process in steps of a tick.
        self.cpu = time.thread_time_ns
        self.clocks = self.clock, self.cpu
        self.write = frames.write
        self.before = _state()
        self.known = frozenset(sys.modules)

    def run(self, order: dict[str, Any], files: dict[str, bytes | None]) -> None:
        """All of it; the caller ends the process."""
        chance = random.Random(order["seed"])  # noqa: S311 - to be repeatable, not secret
        blocks = [
            bytes(chance.randrange(16, 3000)) for _ in range(chance.randrange(61))
        ]  # memory is never laid out alike
        since, used = self.clock(), self.cpu()
        try:
            function = self.load(files)
        except BaseException as failure:
            self.write(self.report, frames.packed({"failed": said(failure)}))
            return
        importing = self.clock() - since, self.cpu() - used
        self.write(self.report, frames.packed({"ready": importing}))
        job, body = frames.read(self.inputs)
        header, results = _deep(job["depth"], lambda: self.section(function, job, body))
        header["changed"] = changes(self.before)
        header["modules"] = [name for name in list(sys.modules) if name not in self.known] if job["probe"] else []
        del blocks
        self.write(self.report, frames.packed(header, results))
        os.read(self.end, 1)

    def load(self, files: dict[str, bytes | None]) -> Callable[..., Any]:
        """The contender's function.

        Raises:
            TypeError: it is none.
        """
        sys.meta_path.insert(0, Overlay(self.setup["root"], files))
        found: Any = importlib.import_module(self.setup["module"])
        for name in self.setup["qualname"].split("."):
            kept = vars(found)
            found = kept[name] if name in kept else getattr(found, name)
        found = undecorated(underlying(found)) if self.setup["inner"] else underlying(found)
        if not callable(found):
            raise TypeError(f"{self.setup['qualname']} is no function")
        return found if not self.setup["is_async"] else awaited(found)

    def section(self, function: Callable[..., Any], job: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Call it on all inputs: once each, then in batches; times in nanoseconds and what came out."""
        trees, place = [], 0
        for size in job["sizes"]:
            trees.append(self.codec.parse(body[place : place + size]))
            place += size
        gc.collect()
        if job["trace"]:
            return self.traced(function, trees)
        count = len(trees)
        call = forced if job["force"] else plain
        cold: list[Any] = [None] * count
        messages = [b""] * count
        changing: list[int] = []
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        since: kept.State | None = None
        for turn, index in enumerate(job["order"]):
            calls = [self.codec.build(trees[index])]
            cold[index], outcomes = call(self.clocks, function, calls)
            messages[index] = self.message(outcomes[0], calls[0])
            if job["probe"] and self.message((True, None), calls[0]) != self.message(
                (True, None), self.codec.build(trees[index])
            ):
                changing.append(index)
            if job["probe"] and since is None:
                since = kept.state(self.modules())
            if turn < count // 2:  # later first calls are of code that the interpreter has specialised
                for _ in range(job["warming"]):
                    call(self.clocks, function, [self.codec.build(trees[index])])
        held = kept.state(self.modules()).changed(since) if since is not None else []
        digests: list[list[str]] = [[] for _ in trees]
        warm: list[list[Any]] = [[] for _ in trees]
        for repeat in range(job["repeats"]):
            for index in job["order"]:
                calls = [self.codec.build(trees[index]) for _ in range(job["calls"][index])]
                taken, outcomes = call(self.clocks, function, calls)
                warm[index].append(taken)
                # All of the first batch, any one of the second, then any one of all others now and then.
                any_one = job["seen"] % len(calls)
                places = range(len(calls)) if repeat == 0 else range(any_one, any_one + 1)
                if repeat > 1 and index != (job["seen"] + repeat) % count:
                    places = range(0)
                for outcome, made in ((outcomes[place], calls[place]) for place in places):
                    digest = blake2b(self.message(outcome, made), digest_size=16).hexdigest()
                    if digest not in digests[index]:
                        digests[index].append(digest)
                if repeat == job["repeats"] - 1:
                    for _ in range(job["extra"]):
                        call(self.clocks, function, calls)
        header = {
            "cold": cold, "warm": warm, "waits": resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - switches,
            "sizes": [len(message) for message in messages], "digests": digests, "changes": changing, "kept": held,
        }  # fmt: skip
        return header, b"".join(messages)

    def modules(self) -> list[Any]:
        """Those of the project."""
        root = os.path.join(self.setup["root"], "")
        new = [module for name, module in list(sys.modules.items()) if name not in self.known]
        return [module for module in new if str(getattr(module, "__file__", None) or "").startswith(root)]

    def traced(self, function: Callable[..., Any], trees: list[Any]) -> tuple[dict[str, Any], bytes]:
        """The most memory that Python held on any of the calls, in bytes."""
        import tracemalloc

        peak = 0
        for tree in trees:
            calls = [self.codec.build(tree)]
            tracemalloc.start()
            plain(self.clocks, function, calls)
            peak = max(peak, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return {"peak": peak}, b""

    def message(self, outcome: tuple[bool, Any], call: Any) -> bytes:
        """Message of what a call gave and made of its arguments; a question mark where nothing can stand for it.

        The result comes first: what it gives when it is read may come from the arguments. Of an exception it holds the
        type, and what it says only where that is compared.
        """
        returned, value = outcome
        if not returned and not self.codec.messages:
            value = type(value)
        try:
            found: bytes = self.codec.encode((returned, value, *call))
            return found
        except self.codec.Incomparable as failure:
            return b"?" + str(failure).encode("utf-8", "replace")


def underlying(found: Any) -> Any:
    """The function in what a class keeps of it: calls were recorded with all that it is given, `cls` and `self` too."""
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, property):
        return found.fget
    return getattr(found, "func", found) if type(found).__name__ == "cached_property" else found


def undecorated(found: Any) -> Any:
    """The function as it was written, where decorators say what they wrap."""
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def plain(clocks: Clocks, function: Callable[..., Any], calls: list[Any]) -> tuple[Taken, list[tuple[bool, Any]]]:
    """Times and results of all calls.

    The processor time is read around the other clock: it is the lesser of the two only if something else ran meanwhile.
    """
    clock, cpu = clocks
    outcomes: list[tuple[bool, Any]] = []
    add = outcomes.append
    if any(named for _, named in calls):
        used, since = cpu(), clock()
        for args, named in calls:
            try:
                add((True, function(*args, **named)))
            except BaseException as failure:
                add((False, failure))
        return (clock() - since, cpu() - used), outcomes
    positional = [args for args, _ in calls]
    used, since = cpu(), clock()
    for args in positional:
        try:
            add((True, function(*args)))
        except BaseException as failure:
            add((False, failure))
    return (clock() - since, cpu() - used), outcomes


def forced(clocks: Clocks, function: Callable[..., Any], calls: list[Any]) -> tuple[Taken, list[tuple[bool, Any]]]:
    """The same, where results are iterators: what they give is computed within the time."""
    clock, cpu = clocks
    outcomes: list[tuple[bool, Any]] = []
    used, since = cpu(), clock()
    for args, named in calls:
        try:
            value = function(*args, **named)
            outcomes.append((True, drained(value) if id(type(value)) in LAZY else value))
        except BaseException as failure:
            outcomes.append((False, failure))
    return (clock() - since, cpu() - used), outcomes


drained: Callable[[Any], Any] = None  # type: ignore[assignment]
"""Reads an iterator; the codec's, put here by the server."""


def awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A coroutine function as one that is called."""
    import asyncio

    run = asyncio.new_event_loop().run_until_complete
    return lambda *args, **named: run(function(*args, **named))


def _deep(depth: int, work: Callable[[], Any]) -> Any:
    """Work at some depth of calls: where the stack stands decides how its memory is aligned."""
    return work() if depth == 0 else _deep(depth - 1, work)


def _state() -> dict[str, Any]:
    """State that a contender could change so as to look faster."""
    found: dict[str, Any] = {f"time.{name}": getattr(time, name, None) for name in CLOCKS}
    found["gc"] = (gc.isenabled(), gc.get_threshold())
    found["trace"] = (sys.gettrace(), sys.getprofile())
    found["switching"] = sys.getswitchinterval()
    found["processors"] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    found["priority"] = os.getpriority(os.PRIO_PROCESS, 0)
    found["threads"] = _thread._count()
    return found


def changes(before: dict[str, Any]) -> list[str]:
    """Names of what of it is not as it was."""
    now = _state()
    return [name for name, value in before.items() if not (now[name] is value or _same(now[name], value))]


def _same(one: Any, other: Any) -> bool:
    plain_types = (tuple, float, int, set)
    return type(one) in plain_types and type(one) is type(other) and bool(one == other)


def said(failure: BaseException) -> str:
    """A failure in a line."""
    try:
        return f"{type(failure).__name__}: {failure}"[:500]
    except BaseException:
        return "a failure that cannot be shown"
