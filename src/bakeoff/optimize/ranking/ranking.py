"""Ranks the functions below a path by what they take of the time of the tests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from bakeoff.engine.process import Command, Processes
from bakeoff.engine.record import Stored
from bakeoff.judge.protected import Protection
from bakeoff.optimize.behaviour.behaviour import Behaviour
from bakeoff.optimize.behaviour.errors import BehaviourError
from bakeoff.optimize.behaviour.inside import addopts
from bakeoff.optimize.python_file import PythonFile
from bakeoff.optimize.ranking import inside
from bakeoff.optimize.ranking.ranked import Ranked
from bakeoff.optimize.target import definitions
from bakeoff.workspace.slot import Slot

INSIDE, OPTIONS = os.path.abspath(inside.__file__), os.path.abspath(addopts.__file__)
MEMORY = 8 << 30
"""Bytes that the tests may take."""
TIMEOUT = 1800.0
"""Seconds that they may take, which is longer under a profiler."""
LONGEST = 64 << 20


async def rank(
    checker: Behaviour,
    processes: Processes,
    slot: Slot,
    tests: Sequence[str],
    below: str,
    content: Callable[[str], bytes | None],
) -> list[Ranked]:
    """The functions below a path, those that take most first.

    Args:
        checker: knows the project's interpreter.
        processes: runs the tests, once.
        slot: as the snapshot has it; the tests may leave something there.
        tests: what pytest is given.
        below: a folder or file, relative to the project's root.
        content: of a file of the snapshot.

    Cancelled, the tests have ended.

    Raises:
        BehaviourError: no test can be run.
    """
    command = await checker.interpreter(slot, MEMORY, [os.path.dirname(INSIDE), os.path.dirname(OPTIONS)], {})
    sources = [path for path in str(slot.env.get("PYTHONPATH") or "").split(os.pathsep) if path]
    job = {"root": slot.path, "below": below, "sources": sources, "arguments": list(tests), "options": OPTIONS}
    order = slot.temp / "ranking.json"
    order.write_text(json.dumps(job))
    argv = [*command.argv, "-B", INSIDE, str(order)]
    finished = await processes.run(Command(argv, command.cwd, command.env, timeout=TIMEOUT, output_limit=LONGEST))
    said = finished.stdout.value
    try:
        answer = json.loads(said.load() if isinstance(said, Stored) else said)
    except ValueError:
        why = finished.message or finished.ended_by or f"exit status {finished.exit_code}"
        raise BehaviourError(f"the tests cannot be profiled: {why}") from None
    if "error" in answer or not answer["tests"]:
        raise BehaviourError(f"no test can be profiled: {answer.get('error') or 'pytest ran none'}")
    return ranked(answer["rows"], below, content)


def ranked(rows: Iterable[Sequence[Any]], below: str, content: Callable[[str], bytes | None]) -> list[Ranked]:
    """The same from what was seen: [file, first line, name, calls, seconds].

    Code inside of a function (functions, comprehensions) counts for it. Of equal ones the one that is called more
    comes first, then by name.
    """
    by_file: dict[str, list[Sequence[Any]]] = {}
    for row in rows:
        by_file.setdefault(str(row[0]), []).append(row)
    found = []
    for path, inside_ in by_file.items():
        if _is_below(path, below) and not Protection().covers(path):
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
