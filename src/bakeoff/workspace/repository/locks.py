"""Advisory locks on files: whoever holds one is alive, because the kernel lets go when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
import weakref
from pathlib import Path
from typing import Any

from bakeoff.workspace.blocking import current_stop

_HELD: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """A lock that this process holds on a file, until `release` or its death. A forked child does not hold it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        _HELD.add(self)

    def write(self, facts: dict[str, Any]) -> None:
        """Say in the file who holds it and what for."""
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        data = json.dumps(owner | facts).encode()
        os.pwrite(self._descriptor, data, 0)
        os.ftruncate(self._descriptor, len(data))

    def remove(self) -> None:
        """Delete the file, then let go."""
        self.path.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Let go; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        # Who waited for it may have been cancelled just as it was had: then nobody knows of it.
        self.release()


def _let_go_in_child() -> None:
    # Close-on-exec covers exec only: a forked child would keep the lock after its owner died.
    for lock in list(_HELD):
        lock.release()


os.register_at_fork(after_in_child=_let_go_in_child)


def try_lock(path: Path, *, shared: bool = False, create: bool = True) -> FileLock | None:
    """The lock on `path`, or None when somebody else holds it, or there is no such file to lock.

    Raises:
        FileNotFoundError: with `create`, there is no folder for it.
    """
    while True:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            if create and path.parent.is_dir():
                continue
            if create:
                raise
            return None
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            # Another file may stand there by now: a sweep deletes a lock with what it guards.
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return FileLock(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        os.close(descriptor)


def wait_for_lock(path: Path, *, shared: bool = False) -> FileLock:
    """The lock on `path`, waited for; to be called in a thread, and ended by its stop."""
    stop = current_stop()
    while (lock := try_lock(path, shared=shared)) is None:
        stop.check(0.01)
    return lock


def facts(path: Path) -> dict[str, Any]:
    """Facts that the holder of the lock on `path` noted of itself; empty where nothing can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            found = json.loads(file.read(1 << 20))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_held(path: Path) -> bool:
    """Whether a live process holds the lock on `path`."""
    if not path.exists():
        return False
    lock = try_lock(path, shared=True, create=False)
    if lock is None:
        return path.exists()
    lock.release()
    return False
