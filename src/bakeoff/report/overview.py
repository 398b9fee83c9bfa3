"""Runs at a glance: what each is and how it stands, read without decoding its nodes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.journal import Entry, intact, open_to_read
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder, RunStore, by_age
from bakeoff.errors import JournalError


@dataclass(frozen=True, slots=True)
class Overview:
    """One run.

    Attributes:
        status: its status; None when its journal cannot be read.
        error: why, when it is not completed; or why it cannot be read.
        facts: what its last ending said besides (`outputs`, `gate`, ...).
        job: what made it: `workflow`, `attempt`, or `python` for a program.
        name: what it is called, for people: of attempts the first line of their task.
    """

    folder: RunFolder
    workflow_id: str | None
    status: RunStatus | None
    error: str | None
    created_at: float
    updated_at: float
    facts: dict[str, Any]
    job: str | None = None
    name: str | None = None

    @property
    def resumable(self) -> bool:
        """Whether it could still be taken up again."""
        return self.status not in (RunStatus.COMPLETED, RunStatus.ABORTED, None)

    def shown(self, outcome: str | None) -> dict[str, Any]:
        """As `runs --json` prints it; `outcome` is what it came to, where that is not all that was asked for."""
        return {
            "run_id": self.folder.id,
            "workflow_id": self.workflow_id,
            "job": self.job,
            "name": self.name,
            "status": self.status.value if self.status else None,
            "outcome": outcome,
            "error": self.error,
            "created_at": self.created_at or None,
            "updated_at": self.updated_at or None,
            "live": self.folder.alive(),
        }


def overview(folder: RunFolder) -> Overview:
    """Overview of how one run stands."""
    try:
        history = _brief(folder)
        status, error = folder.status_and_error(history)
    except JournalError as failure:
        return Overview(folder, None, None, str(failure), 0.0, 0.0, {})
    except OSError as failure:
        return Overview(folder, None, None, f"{folder.root} cannot be read: {failure.strerror}", 0.0, 0.0, {})
    created = history.meta.get("created_at", 0.0)
    facts = history.ending if status is history.status else {}
    workflow_id, job = history.meta.get("workflow_id"), history.meta.get("job")
    return Overview(
        folder, workflow_id, status, error, created, history.updated_at, facts, job, history.meta.get("name")
    )


def overviews(store: RunStore) -> list[Overview]:
    """Every run of a project, newest first."""
    found = [overview(folder) for folder in store.all()]
    found.sort(key=lambda run: run.folder.id)
    return sorted(found, key=lambda run: by_age(run.created_at), reverse=True)


def _brief(folder: RunFolder) -> History:
    """The history without its nodes.

    Raises:
        JournalError: there is no journal, or it cannot be read at all.
    """
    folder.check()
    if not folder.begun():
        raise JournalError(f"there is no journal at {folder.journal}: its creation was cut short")
    try:
        with closing(open_to_read(folder.journal)) as db:
            rows = db.execute(
                "SELECT seq, kind, path, body, sum FROM entry WHERE kind IN ('meta', 'run', 'inputs')"
            ).fetchall()
            if not all(intact(*row[1:]) for row in rows):
                return folder.history()
            entries = [Entry(*row[:4]) for row in rows]
            last = db.execute("SELECT kind, body FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    except sqlite3.DatabaseError:
        return folder.history()
    history = History(folder.root).read(entries)
    if last is not None:
        history.updated_at = max(history.updated_at, _time(*last))
    return history


def _time(kind: str, body: str) -> float:
    """When an entry was written, as far as it tells; not the file's time, which changes when the journal is read."""
    try:
        match kind, json.loads(body):
            case "start", [_, at, *_]:
                return float(at)
            case "end", {"b": begun, "d": seconds}:
                return float(begun) + float(seconds)
            case "retry", {"at": at}:
                return float(at)
    except (ValueError, TypeError):  # a damaged entry tells nothing
        pass
    return 0.0
