"""Ports of a slot's own: blocks that no two processes of bakeoff hand out at the same time."""

from __future__ import annotations

import errno
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.repository.cache import cache_root
from bakeoff.workspace.repository.locks import FileLock, try_lock

FIRST, BLOCKS, SIZE = 20_000, 1_000, 10
"""Blocks lie below the range that systems take outgoing ports from."""


@dataclass(slots=True)
class Ports:
    """A block of ports, held until `release`."""

    first: int
    lock: FileLock

    @property
    def numbers(self) -> range:
        """All of them."""
        return range(self.first, self.first + SIZE)

    def release(self) -> None:
        """Let others have them."""
        self.lock.release()


def lease_ports(folder: Path | None = None) -> Ports:
    """A block of ports that nobody listens on now. To be called in a thread.

    Raises:
        SlotError: all are taken.
    """
    place = folder or cache_root() / "ports"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    start = secrets.randbelow(BLOCKS)
    for number in range(BLOCKS):
        first = FIRST + (start + number) % BLOCKS * SIZE
        lock = try_lock(place / f"{first}.lock")
        if lock is None:
            continue
        if all(_free(port) for port in range(first, first + SIZE)):
            return Ports(first, lock)
        lock.release()
    raise SlotError(f"all {BLOCKS} blocks of ports from {FIRST} are in use; locks of bakeoff's are in {place}")


def _free(port: int) -> bool:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind((host, port))
        except OSError as failure:
            if failure.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
    return True
