"""Disk ceiling: the room that all slots of a project take, held below a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import DiskError
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.repository import disk_bytes
from bakeoff.workspace.slots.overlay import uppers
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.slots.sweep import slot_names

PAUSE = 0.5
"""Seconds between two looks, at least."""

PART = 20
"""Looking takes at most one part in so many of the time."""


@dataclass(slots=True)
class DiskWatch:
    """Looks at the disk used by a project's slots, this process's and others', and ends the attempt that took most.

    Attributes:
        cache: the project's folder.
        limit: bytes; None for no ceiling.
        pause: seconds between two looks, at least.
    """

    cache: ProjectCache
    limit: int | None
    pause: float = PAUSE
    _leased: dict[str, tuple[Slot, anyio.CancelScope]] = field(default_factory=dict)
    _open: int = 0
    _given_back: anyio.Event = field(default_factory=anyio.Event)

    async def check(self) -> None:
        """Look now; while more than the ceiling is in use by slots of this process, one of them is about to be ended.

        Passes on DiskError: more than the ceiling is in use, and by nobody here.
        """
        if self.limit is None:
            return
        while (used := sum((await in_thread(self._used)).values())) > self.limit:
            if not self._open:
                raise self._error(used)
            await self._given_back.wait()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """While inside, a slot is in use or being cleaned, so that what it takes may come back."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._given_back.set()
            self._given_back = anyio.Event()

    @contextmanager
    def watching(self, slot: Slot) -> Iterator[None]:
        """While inside, the slot may be the one whose work is cancelled; DiskError is raised then."""
        with anyio.CancelScope() as scope:
            self._leased[slot.id] = (slot, scope)
            try:
                yield
            finally:
                del self._leased[slot.id]
        if scope.cancelled_caught:
            raise self._error((self.limit or 0) + 1)

    async def watch(self) -> None:
        """Look again and again; returns at once when there is no ceiling."""
        if self.limit is None:
            return
        pause = self.pause
        while True:
            await anyio.sleep(pause)
            if not self._leased:
                continue
            since = time.monotonic()
            used = await in_thread(self._used)
            pause = max(self.pause, (time.monotonic() - since) * PART)
            if sum(used.values()) > self.limit:
                self._end_greatest(used)

    def _end_greatest(self, used: Mapping[str, int]) -> None:
        ours = [name for name in self._leased if name in used]
        if ours:
            self._leased[max(ours, key=lambda name: used[name])][1].cancel()

    def _used(self) -> dict[str, int]:
        """Bytes by slot; each is counted no further than the ceiling."""
        found: dict[str, int] = {}
        for name in slot_names(self.cache):
            home = self.cache.slots / name
            # What an overlay has of its own; of a checkout all is.
            parts = [*changed, home / "tmp"] if (changed := uppers(home)) else [home]
            found[name] = sum(disk_bytes(path, self.limit) for path in parts)
        return found

    def _error(self, used: int) -> DiskError:
        limit = self.limit or 0
        return DiskError(
            f"the slots of this project take more than {limit >> 20} MB ({max(used, limit) >> 20} MB or more): raise "
            "tool.bakeoff.slots.max_disk_mb, use fewer slots, or see what `bakeoff slots` lists"
        )
