"""Ranking of the functions below a path by their share of the tests' time, under a profiler."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import anyio

from bakeoff.engine.record import Stored
from bakeoff.judge.checks.protected import USUAL, Protection
from bakeoff.optimize.all_functions import inside
from bakeoff.optimize.all_functions.ranked import Ranked
from bakeoff.optimize.behaviour.behaviour import Behaviour
from bakeoff.optimize.behaviour.inside import addopts
from bakeoff.optimize.errors import BehaviourError
from bakeoff.optimize.source_code.definitions import definitions
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.process.command import Command, Processes
from bakeoff.workspace.slots.slot import Slot

INSIDE, OPTIONS = os.path.abspath(inside.__file__), os.path.abspath(addopts.__file__)
MEMORY = 8 << 30
"""Bytes that the tests may take."""
TIMEOUT, DRY_TIMEOUT = 1800.0, 300.0
"""Seconds that they may take, which is longer under a profiler; the second where somebody waits for the order alone."""
LOOK = 1.0
"""Seconds between two looks at which test runs."""
LONGEST, LONGEST_NAME = 64 << 20, 500


async def rank(
    checker: Behaviour,
    processes: Processes,
    slot: Slot,
    tests: Sequence[str],
    below: str,
    content: Callable[[str], bytes | None],
    heard: Callable[[int, str], None],
    timeout: float = TIMEOUT,
) -> list[Ranked]:
    """The functions below a path, those that take most first.

    Args:
        checker: knows the project's interpreter.
        processes: runs the tests, once.
        slot: as the snapshot has it; the tests may leave something there.
        tests: what pytest is given.
        below: a folder or file, relative to the project's root.
        content: of a file of the snapshot.
        heard: told how many tests have ended and which one runs, each second.
        timeout: seconds that the tests may take.

    Cancelled, the tests have ended.

    Raises:
        BehaviourError: no test can be run, or they take too long.
    """
    command = await checker.interpreter(slot, MEMORY, [os.path.dirname(INSIDE), os.path.dirname(OPTIONS)], {})
    sources = [path for path in str(slot.env.get("PYTHONPATH") or "").split(os.pathsep) if path]
    job = {"root": slot.path, "below": below, "sources": sources, "arguments": list(tests), "options": OPTIONS}
    progress = slot.temp / "ranking.progress"
    job["progress"] = str(progress)
    order = slot.temp / "ranking.json"
    order.write_text(json.dumps(job))
    argv = [*command.argv, "-B", INSIDE, str(order)]
    async with anyio.create_task_group() as group:
        group.start_soon(_follow, progress, heard)
        finished = await processes.run(Command(argv, command.cwd, command.env, timeout=timeout, output_limit=LONGEST))
        group.cancel_scope.cancel()
    said = finished.stdout.value
    try:
        answer = json.loads(said.load() if isinstance(said, Stored) else said)
    except (ValueError, RecursionError):
        why = finished.message or finished.ended_by or f"exit status {finished.exit_code}"
        if finished.ended_by == "timeout":
            why = too_long(progress, timeout)
        raise BehaviourError(f"the tests cannot be profiled: {why}") from None
    if "error" in answer or not answer["tests"]:
        why = answer.get("error") or answer.get("uncollected") or "pytest ran none"
        raise BehaviourError(f"no test can be profiled: {why}")
    return ranked(answer["rows"], below, content, USUAL.within(slot.base.entries.files))


async def _follow(progress: Path, heard: Callable[[int, str], None]) -> None:
    while True:
        await anyio.sleep(LOOK)
        if (found := _progress(progress)) is not None:
            heard(*found)


def too_long(progress: Path, timeout: float) -> str:
    """Message on tests that did not end in time, from the file that tells which one runs."""
    ended, test = _progress(progress) or (0, "what stands before the first test")
    return (
        f"they take more than {timeout:g} s under a profiler: {ended} had ended, and it was in {test}; "
        "--tests names those that are to run"
    )


def _progress(path: Path) -> tuple[int, str] | None:
    """Count of ended tests, and the one that runs; None where nothing can be read of it."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            count, _, test = file.read(LONGEST_NAME).partition(" ")
        return int(count), test.rstrip("\n")
    except (OSError, ValueError):
        return None


def ranked(
    rows: Iterable[Sequence[Any]],
    below: str,
    content: Callable[[str], bytes | None],
    tests: Protection = USUAL,
) -> list[Ranked]:
    """The same from what was seen: [file, first line, name, calls, seconds].

    Code inside of a function (functions, comprehensions) counts for it. Of equal ones the one that is called more
    comes first, then by name.
    """
    by_file: dict[str, list[Sequence[Any]]] = {}
    for row in rows:
        by_file.setdefault(str(row[0]), []).append(row)
    found = []
    for path, inside_ in by_file.items():
        if _is_below(path, below) and not tests.covers(path):
            found += _in_file(path, inside_, content(path))
    return sorted(found, key=lambda one: (-one.own, -one.calls, one.path, one.qualname))


def _in_file(path: str, rows: Iterable[Sequence[Any]], source: bytes | None) -> list[Ranked]:
    try:
        tree = PythonFile.read(source or b"").tree
    except SyntaxError:
        return []
    spans = []
    for qualname, node, _ in definitions(tree):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        spans.append((first, node.end_lineno or first, qualname))
    own: dict[str, float] = {}
    calls: dict[str, int] = {}
    for _, line, name, count, seconds in rows:
        for first, last, qualname in spans:
            if first <= line <= last:
                own[qualname] = own.get(qualname, 0.0) + seconds
                if line == first and name == qualname.rpartition(".")[2]:
                    calls[qualname] = calls.get(qualname, 0) + count
    return [Ranked(path, name, round(own[name], 4), count) for name, count in calls.items()]


def _is_below(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(PurePosixPath(folder))
