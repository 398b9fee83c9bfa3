"""Follows a run from another process: what its journal says that was not heard yet, as events."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from bakeoff.engine.control import send
from bakeoff.engine.events import Event, FanOpened, GateOpened, NodeEnded, NodeRetried, NodeStarted, RunChanged
from bakeoff.engine.history import decode_record
from bakeoff.engine.journal import intact
from bakeoff.engine.record import RunStatus, Status
from bakeoff.engine.store import RunFolder
from bakeoff.errors import BakeoffError, JournalError

AT_ONCE = 20_000
"""Entries taken at once, so that a long journal does not fill memory."""


class Follower:
    """Reads a run's journal while it grows."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.status = RunStatus.CREATED
        self._seq = 0
        self._open: dict[str, int] = {}
        self._gates: set[str] = set()

    def events(self) -> Iterator[Event]:
        """Events that were committed since the last call. Damaged entries are passed over; `show` names them.

        Raises:
            JournalError: the journal cannot be read while it is followed.
        """
        while True:
            try:
                # Opened anew each time: the run may replace a damaged journal, and the last to close it tidies up.
                uri = f"{self.folder.journal.absolute().as_uri()}?mode=ro"
                with closing(sqlite3.connect(uri, uri=True, timeout=5)) as db:
                    query = "SELECT seq, kind, path, body, sum FROM entry WHERE seq > ? ORDER BY seq LIMIT ?"
                    rows = db.execute(query, (self._seq, AT_ONCE)).fetchall()
            except sqlite3.DatabaseError as failure:
                raise JournalError(
                    f"the journal of run {self.folder.id} cannot be followed: {failure}; see `bakeoff show`"
                ) from failure
            for seq, kind, path, body, stored in rows:
                self._seq = seq
                if intact(kind, path, body, stored):
                    yield from self._read(kind, path, body)
            if len(rows) < AT_ONCE:
                return

    def gates(self) -> Iterator[GateOpened]:
        """Gates of the live run that opened since the last call; the journal does not tell of them."""
        try:
            reply = send(self.folder.root, {"do": "gates"}, timeout=2.0)
        except BakeoffError:  # it is busy; the next call may hear
            return
        found = (reply or {}).get("gates", {})
        for path, options in found.items():
            if path not in self._gates:
                yield GateOpened(0.0, path, "somebody must decide", tuple(options))
        self._gates = set(found)

    def _read(self, kind: str, path: str, body: str) -> Iterator[Event]:
        match kind:
            case "start":
                attempt, at, place, _ = json.loads(body)
                self._open[path] = attempt
                yield NodeStarted(at, path, "", attempt, place)
            case "end":
                self._open.pop(path, None)
                record = decode_record(path, json.loads(body), self.folder.root)
                if record.status is not Status.PAUSED:
                    self._gates.discard(path)
                yield NodeEnded(record.ended_at, record)
            case "retry":
                retry = json.loads(body)
                yield NodeRetried(retry["at"], path, self._open.pop(path, 1), 0.0, retry["error"])
            case "void":
                self._open.pop(path, None)
            case "decide" if path.endswith("#items"):
                items = json.loads(body)
                if isinstance(items, list):
                    yield FanOpened(0.0, path.removesuffix("#items"), len(items), 0, 0)
            case "run":
                change = json.loads(body)
                self.status = RunStatus(change["status"])
                self._open.clear()
                yield RunChanged(change["at"], self.folder.id, self.status, change.get("error"))
