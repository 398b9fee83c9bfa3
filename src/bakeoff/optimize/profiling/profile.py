"""Profiles a version of the target in a slot's sandbox. What it says is for reading; no verdict depends on it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.engine.process import Command, Processes
from bakeoff.engine.record import Stored
from bakeoff.judge.codec import FOLDER as CODEC
from bakeoff.optimize.profiling import inside
from bakeoff.optimize.sources.source import ProfileLine

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
    """What `inside` is asked: the calls, spread over all there are, as far as they fit."""
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
    """Where the time goes; empty where that cannot be told.

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
        rows = json.loads(said.load() if isinstance(said, Stored) else said)["lines"][:MOST_LINES]
        return tuple(_line(row, texts) for row in rows)
    except (ValueError, KeyError, TypeError, IndexError):
        return ()


def _line(row: Any, texts: Sequence[str]) -> ProfileLine:
    number, hits, spent = (int(part) for part in row)
    return ProfileLine(number, hits, spent / 1e9, texts[number - 1] if 0 < number <= len(texts) else "")
