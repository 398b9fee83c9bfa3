"""Runs for tests of reports, written as journals: nothing is started."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from bakeoff.engine.history import encode, encode_record
from bakeoff.engine.journal import checksum, create
from bakeoff.engine.record import Record, Status
from bakeoff.engine.store import RunFolder

Written = tuple[str, str, object]

META: Written = ("meta", "", {"run_id": "r", "workflow_id": "w", "name": "W", "created_at": 9.0, "inputs": {}})


def end(path: str, status: Status = Status.COMPLETED, begun: float = 10.0, seconds: float = 1.0, **more) -> Written:
    type_ = more.pop("type_", "shell")
    record = Record(path, type_, status, started_at=begun, ended_at=begun + seconds, **more)
    return "end", path, encode_record(record, Path())[0]


def start(path: str, at: float = 10.0, place: int = 0, attempt: int = 1) -> Written:
    return "start", path, [attempt, at, place, {}]


def run(status: str, at: float = 0.0, **more) -> Written:
    return "run", "", {"status": status, "at": at, **more}


def folder_of(root: Path, *entries: Written) -> RunFolder:
    root.mkdir(parents=True, exist_ok=True)
    create(root / "journal.db")
    with sqlite3.connect(root / "journal.db") as db:
        db.executemany("INSERT INTO entry (kind, path, body, sum) VALUES (?, ?, ?, ?)", _rows(entries))
    db.close()
    return RunFolder(root)


def _rows(entries: Iterable[Written]) -> Iterable[tuple[str, str, str, object]]:
    for kind, path, body in entries:
        text = body if isinstance(body, str) else encode(body)
        yield kind, path, text, checksum(kind, path, text)


def fan_out(count: int, at_once: int = 16) -> Iterable[Written]:
    """A run of a fan-out with so many items, every hundredth of which failed and was gone on after."""
    yield META
    yield run("running", 9.0)
    for number in range(count):
        path, begun = f"build:shard:{number}", 10.0 + number // at_once * 0.3
        status = Status.FAILED if number % 100 == 99 else Status.COMPLETED
        error = f"exit status 1 of item {number}" if status is Status.FAILED else None
        yield start(path, begun, number % at_once)
        took = 0.05 + (number * 7919 % 241) / 1000
        yield end(path, status, begun, took, error=error, output={"stdout": f"item {number}\n"}, absorbed=bool(error))
    facts = {"template": "shard", "collected": count, "halted": False}
    took = count * 0.3 / at_once
    yield end("build", begun=10.0, seconds=took, type_="fan-out", output={"item_count": count}, facts=facts)
    yield run("completed", 10.0 + took, seconds=took, outputs={"built": count})
