"""Line profile of a version of the target, made in a slot's sandbox. It is for reading; no verdict depends on it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.engine.record import Stored
from bakeoff.judge.codec import FOLDER as CODEC
from bakeoff.optimize.context.profiling import inside
from bakeoff.optimize.sources.source import ProfileLine
from bakeoff.process.command import Command, Processes
from bakeoff.reader.reading import UnreadError, read

INSIDE = os.path.abspath(inside.__file__)
READS = (CODEC, os.path.dirname(INSIDE))
"""Folders that the sandbox must show."""

SECONDS = 3.0
"""After which no further call is made."""
TIMEOUT = 30.0
MOST_CALLS = 50
MOST_BYTES = 4 << 20
MOST_LINES = 5000


def job_of(module: str, qualname: str, path: Sequence[str], is_async: bool, calls: Sequence[bytes]) -> dict[str, Any]:
    """Order for `inside`: the calls, spread over all there are, as far as they fit."""
    step = max(1, len(calls) // MOST_CALLS)
    taken: list[str] = []
    size = 0
    for data in calls[::step]:
        size += len(data)
        if size > MOST_BYTES:
            break
        taken.append(data.hex())
    return {
        "codec": CODEC,
        "module": module,
        "qualname": qualname,
        "path": list(path),
        "is_async": is_async,
        "calls": taken,
        "seconds": SECONDS,
    }


async def profiled(
    processes: Processes, command: Command, temp: Path, job: Mapping[str, Any], source: bytes
) -> tuple[ProfileLine, ...]:
    """Lines with their time; empty where that cannot be told.

    Args:
        processes: runs it.
        command: the interpreter in its sandbox.
        temp: a folder that it can read.
        job: of `job_of`.
        source: the file that is profiled, for the texts of its lines.

    Cancelled, the process is ended.
    """
    order = temp / "profile.json"
    order.write_text(json.dumps(job))
    argv = [*command.argv, "-B", INSIDE, str(order)]
    finished = await processes.run(Command(argv, command.cwd, command.env, timeout=TIMEOUT, output_limit=1 << 20))
    said = finished.stdout.value
    texts = source.decode("utf-8", "replace").splitlines()
    try:
        text = str(said.load() if isinstance(said, Stored) else said)
        rows = await read(rows_in, text.encode("utf-8", "surrogatepass"))
    except UnreadError:
        return ()
    return tuple(_line(number, hits, spent, texts) for number, hits, spent in rows)


def rows_in(data: bytes) -> list[tuple[int, int, int]]:
    """Rows that the profiled process printed, for a reader process: line, hits, nanoseconds. Its code may print, too.

    Raises:
        ValueError: something is too large. Passes on ValueError, KeyError, TypeError: it printed something else.
    """
    found = []
    for row in json.loads(data)["lines"][:MOST_LINES]:
        number, hits, spent = (int(part) for part in row)
        if max(abs(number), abs(hits), abs(spent)) >= 1 << 62:
            raise ValueError("a number that is too large")
        found.append((number, hits, spent))
    return found


def _line(number: int, hits: int, spent: int, texts: Sequence[str]) -> ProfileLine:
    return ProfileLine(number, hits, spent / 1e9, texts[number - 1] if 0 < number <= len(texts) else "")
