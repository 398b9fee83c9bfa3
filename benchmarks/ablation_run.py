"""One version of a function, run on its inputs in a process of its own."""

from __future__ import annotations

import contextlib
import copy
import io
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.optimize.rules.hostile import MORE_LINES, MOST_LINES, outcome, variants

from bakeoff.judge.codec import Incomparable, encode, parse
from bakeoff.optimize.context.observed import type_of
from bakeoff.optimize.source_code.definitions import locate

LONGEST = 120.0
"""Seconds after which a run is given up."""
ENOUGH = 0.05
"""Seconds of the processor, which others do not lengthen, of runs of one call, of which the least is taken."""


MOST_HOSTILE = 400
"""Hostile inputs of one function."""


@dataclass(frozen=True)
class Job:
    """One function of a corpus.

    Attributes:
        name: of the corpus and the function.
        source: its file.
        qualname: its name in it.
        setup: statements that bind `CALLS`, where the file does not.
        tests: the folder of the file and its tests, which are run where there are no `CALLS`.
    """

    name: str
    source: bytes
    qualname: str
    setup: str = ""
    tests: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """Outcome of one run: digests of results, seconds in the function, types of arguments, what went wrong.

    `hostile` are digests of what hostile inputs (`tests/optimize/rules/hostile.py`) give: empty ones of calls that go
    on and on, none where tests are run.
    """

    digest: str = ""
    seconds: float = float("inf")
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    failure: str = ""
    hostile: Sequence[str] = ()

    def careless(self, original: Outcome) -> bool:
        """Whether a hostile input that the original comes to an end with gives something else."""
        return any(one and one != two for one, two in zip(original.hostile, self.hostile, strict=True))


def run(job: Job, source: bytes) -> Outcome:
    """Run one version of a function; it is given up after `LONGEST` seconds."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(False)
    process = context.Process(target=_child, args=(job, source, theirs))
    process.start()
    theirs.close()
    try:
        return mine.recv() if mine.poll(LONGEST) else Outcome(failure="it takes too long")
    except EOFError:
        return Outcome(failure="it ended")
    finally:
        process.kill()
        process.join()


def _child(job: Job, source: bytes, pipe: Connection) -> None:
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            outcome = _tested(job, source) if job.tests else _called(job, source)
    except BaseException as failure:
        outcome = Outcome(failure=f"{type(failure).__name__}: {failure}")
    pipe.send(outcome)


def _called(job: Job, source: bytes) -> Outcome:
    module = types.ModuleType("target")
    sys.modules["target"] = module
    exec(compile(source, "target.py", "exec"), module.__dict__)
    exec(job.setup, module.__dict__)
    seen: list[Any] = []
    results = sha256()
    work: Any = module
    for name in job.qualname.split("."):
        work = getattr(work, name)
    for call in module.__dict__["CALLS"]:
        given = copy.deepcopy(call())
        seen.append(copy.deepcopy(given))
        try:
            result = ("returned", work(*given))
        except Exception as failure:
            result = ("raised", f"{type(failure).__name__}: {failure}")
        results.update(encode((result, given)))
    most = MOST_LINES if source == job.source else MORE_LINES
    given_back = [outcome(work, given, most) for given in _hostile(seen)]
    hostile = ["" if each is None else sha256(repr(each).encode()).hexdigest() for each in given_back]
    every = [_least(work, call) for call in module.__dict__["CALLS"]]
    return Outcome(results.hexdigest(), sum(every), _types(job, source, seen), hostile=hostile)


def _hostile(calls: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Hostile variants of the calls that are small: all but the last."""
    every = [each for call in calls[:-1] for each in variants(call)]
    return every[:: len(every) // MOST_HOSTILE + 1]


def _least(work: Callable[..., Any], call: Callable[[], Any]) -> float:
    spent, least = 0.0, float("inf")
    while spent < ENOUGH:
        given = copy.deepcopy(call())
        start = time.process_time()
        with contextlib.suppress(Exception):
            work(*given)
        taken = time.process_time() - start
        least = min(least, taken)
        spent += taken + 0.0002
    return least


def _tested(job: Job, source: bytes) -> Outcome:
    """The tests' own calls; the time is that of the tests with much data."""
    assert job.tests is not None
    file = f"{job.name.rpartition(':')[2]}.py"
    folder = Path(tempfile.mkdtemp())
    try:
        shutil.copytree(job.tests, folder, dirs_exist_ok=True)
        (folder / file).write_bytes(source)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        owner: Any = import_module(file[:-3])
        *classes, name = job.qualname.split(".")
        for each in classes:
            owner = getattr(owner, each)
        watch = _Watch(owner.__dict__[name])
        setattr(owner, name, watch.wrapped())
        code = pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", "--assert=plain"], plugins=[watch])
        return Outcome(f"{code} {watch.results.hexdigest()}", sum(watch.times), _types(job, source, watch.seen))
    finally:
        shutil.rmtree(folder)


class _Watch:
    """Plugin of pytest that runs each test a few times and adds up the least time in a function."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.results = sha256()
        self.seen: list[Any] = []
        self.times: list[float] = []
        self.depth, self.spent = 0, 0.0

    def wrapped(self) -> Callable[..., Any]:
        """The function with a clock around it."""

        def clocked(*args: Any, **kwargs: Any) -> Any:
            if len(self.seen) < 50 and not self.depth:
                with contextlib.suppress(Exception):
                    self.seen.append(copy.deepcopy(args))
            self.depth += 1
            start = time.process_time()
            try:
                result = self.function(*args, **kwargs)
            finally:
                self.depth -= 1
                self.spent += 0 if self.depth else time.process_time() - start
            if not self.depth:
                with contextlib.suppress(Incomparable):
                    self.results.update(encode(result, consume=False))
            return result

        return clocked

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool:
        """Run it: once to see whether it passes, and more often where there is much data."""
        given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        taken = []
        for _ in range(5 if "test_large" in pyfuncitem.name else 1):
            fresh, self.spent = copy.deepcopy(given), 0.0
            pyfuncitem.obj(**fresh)
            taken.append(self.spent)
        self.times += [min(taken)] if "test_large" in pyfuncitem.name else []
        return True


def _types(job: Job, source: bytes, calls: Sequence[Sequence[Any]]) -> dict[str, Sequence[str]]:
    """Types of the arguments as `bakeoff optimize` sees them."""
    arguments = locate(source, job.qualname).node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    found: dict[str, set[str]] = {}
    for call in calls:
        for name, value in zip(names, call, strict=False):
            with contextlib.suppress(Incomparable):
                found.setdefault(name, set()).add(type_of(parse(encode(value, consume=False))))
    bare = {name: {each for each in kinds if not _vague(each, kinds)} for name, kinds in found.items()}
    return {name: tuple(sorted(kinds)) for name, kinds in bare.items() if kinds and len(kinds) <= 4}


def _vague(kind: str, kinds: set[str]) -> bool:
    return "?" in kind or any(other.startswith(f"{kind}[") for other in kinds)
