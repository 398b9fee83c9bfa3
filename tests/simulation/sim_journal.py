"""A journal whose commits take virtual time, can fail, and can be cut off in the middle as by `kill -9`."""

from __future__ import annotations

from collections.abc import Iterable

import trio

from bakeoff.engine.journal import Batch, Entry
from bakeoff.errors import JournalError
from simulation.world import Chance, spend


class SimJournal:
    """Groups entries while a commit is under way, as the real one does.

    Attributes:
        durable: what a later session will read.
        fails_at: number of the commit that fails; 0 for none.
    """

    def __init__(self, durable: list[Entry], chance: Chance, latency: int, fails_at: int = 0) -> None:
        self.durable = durable
        self.ended = {entry.path for entry in durable if entry.kind == "end"}
        self.latency, self.fails_at, self.chance = latency, fails_at, chance
        self.error: JournalError | None = None
        self.cut = False
        self.commits = 0
        self._pending = Batch()
        self._wake = trio.Event()
        self.idle = trio.Event()
        self.idle.set()

    def append(self, kind: str, path: str, body: str, files: Iterable[str] = ()) -> Batch:
        if self.error is not None:
            raise self.error
        batch = self._pending
        batch.rows.append((kind, path, body, 0))
        self.idle = trio.Event() if self.idle.is_set() else self.idle
        self._wake.set()
        return batch

    def close(self) -> None:
        """Nothing to let go of."""

    async def write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            batch, self._pending = self._pending, Batch()
            await spend(self.chance.randint(0, self.latency))
            self.commits += 1
            if self.commits == self.fails_at:
                self.error = JournalError("the disk is full")
            if self.error is None and not self.cut:
                for kind, path, body, _ in batch.rows:
                    self.durable.append(Entry(len(self.durable) + 1, kind, path, body))
                    if kind == "end":
                        self.ended.add(path)
            batch.error = self.error
            batch.done.set()
            if not self._pending.rows:
                self.idle.set()

    async def drained(self) -> None:
        while not self.idle.is_set():
            await self.idle.wait()
