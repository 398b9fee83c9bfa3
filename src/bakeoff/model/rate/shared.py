"""Shared state of the gate, in a file for all processes of a user: mapped into memory, locked for a moment."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import time
import zlib
from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from pathlib import Path

from bakeoff.model.rate.controller import Episode, Presence, State
from bakeoff.system.machine import network_file_system

MAGIC = b"bakeoff\0"
VERSION = 1
SIZE = 16384
_HEADER = struct.Struct("<8sI16sQII")
"""Magic, version, boot, sequence number, length and checksum of the body."""
_NAMES = tuple(field.name for field in fields(State) if field.name not in ("last", "owners"))
_LAST = tuple(field.name for field in fields(Episode))
_numbers_of = attrgetter(*_NAMES)
_numbers_of_last = attrgetter(*_LAST)
_BODY = struct.Struct(f"<{len(_NAMES) + len(_LAST)}dI")
_ROW = struct.Struct("<qdqqd")
MOST_OWNERS = (SIZE - _HEADER.size - _BODY.size) // _ROW.size
PATIENCE = 0.1
"""Seconds to wait for the lock. It is held for microseconds; whoever holds it longer was stopped in the middle."""


class SharedState:
    """The state in a file. Enter it to have it alone; leaving writes it back.

    A file that is damaged, of another version or of an earlier boot is begun anew.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the file at `path`; its folder is there. Passes on OSError."""
        self._path = path
        self._boot = _boot()
        self._sequence = -1
        self._state: State | None = None
        self._file = -1
        self._map = self._open()

    @classmethod
    def of(cls, base_url: str, key: str, environ: Mapping[str, str]) -> SharedState | None:
        """The state of an endpoint; None where processes have no place to share it."""
        folder = cache_folder(environ)
        if folder is None:
            return None
        name = hashlib.sha256(f"{base_url}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return None if network_file_system(folder) else cls(folder / name)
        except OSError:
            return None

    def __enter__(self) -> State:
        if self._file < 0:
            self._map = self._open()
        locked = _lock(self._file)
        magic, version, boot, sequence, length, checksum = _HEADER.unpack_from(self._map)
        if sequence == self._sequence and self._state is not None and locked:
            return self._state  # nobody wrote since we did
        self._sequence = sequence
        self._state = State()
        if (magic, version, boot) == (MAGIC, VERSION, self._boot) and _BODY.size <= length <= SIZE - _HEADER.size:
            body = self._map[_HEADER.size : _HEADER.size + length]
            if zlib.crc32(body) == checksum:
                self._state = _decode(body)
        return self._state

    def __exit__(self, *details: object) -> None:
        try:
            assert self._state is not None
            body = _encode(self._state)
            self._sequence = (self._sequence + 1) & 0xFFFFFFFFFFFFFFFF
            header = _HEADER.pack(MAGIC, VERSION, self._boot, self._sequence, len(body), zlib.crc32(body))
            self._map[: len(header) + len(body)] = header + body
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file, until it is entered again; it stays, and so does what was learned."""
        if self._file >= 0:
            self._map.close()
            os.close(self._file)
            self._file = -1

    def _open(self) -> mmap.mmap:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            # Under the lock: another that makes it now would be overwritten. It also shows that locks work here.
            _lock(file)
            missing = SIZE - os.fstat(file).st_size
            if missing > 0:
                # Written, not only promised: a mapped page without a block on a full disk kills the process.
                os.pwrite(file, bytes(missing), SIZE - missing)
            fcntl.flock(file, fcntl.LOCK_UN)
            mapped = mmap.mmap(file, SIZE)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        return mapped


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Folder of the gates' files: below `XDG_CACHE_HOME`, else below `~/.cache`; None without a home."""
    cache, home = environ.get("XDG_CACHE_HOME"), environ.get("HOME")
    if cache and os.path.isabs(cache):
        return Path(cache, "bakeoff", "rates")
    return Path(home, ".cache", "bakeoff", "rates") if home and os.path.isabs(home) else None


def _lock(file: int) -> bool:
    """Lock the file; after `PATIENCE` go on without, for a holder that was stopped changes nothing meanwhile."""
    end = None
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            now = time.monotonic()
            end = now + PATIENCE if end is None else end
            if now > end:
                return False
            time.sleep(0.00005)


def _decode(body: bytes) -> State:
    *numbers, rows = _BODY.unpack_from(body)
    own, last = numbers[: len(_NAMES)], numbers[len(_NAMES) :]
    state = State(**dict(zip(_NAMES, own, strict=True)), last=Episode(*last))
    for number in range(min(rows, MOST_OWNERS)):
        pid, started, gate, in_flight, waiting_at = _ROW.unpack_from(body, _BODY.size + number * _ROW.size)
        state.owners[pid, started, gate] = Presence(in_flight, waiting_at)
    if state.touched > time.monotonic() + 1:
        return State()  # from another boot, where the system does not name them
    return state


def _encode(state: State) -> bytes:
    rows = list(state.owners.items())[:MOST_OWNERS]
    parts = [_BODY.pack(*_numbers_of(state), *_numbers_of_last(state.last), len(rows))]
    parts += [_ROW.pack(*owner, presence.in_flight, presence.waiting_at) for owner, presence in rows]
    return b"".join(parts)


def _boot() -> bytes:
    """Names this boot of the machine: the clock starts anew with each."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        text = b""
    return hashlib.sha256(text).digest()[:16]
