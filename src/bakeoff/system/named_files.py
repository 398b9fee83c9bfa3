"""Files that a person names (command line, inputs, configuration): read within limits, written whole."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from bakeoff.errors import BakeoffError

NAMED_LIMIT = 32 << 20
"""Bytes of a file that a user names, at most."""

_HANDED = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/self/fd/\d+")
"""Names of what the shell has opened for this process, as for `<(command)`."""

_THROUGH_PROCESS = re.compile(r"/proc/\d+/(?:task/\d+/)?(?:root|cwd)(?:/|\Z)")


def read_named(path: Path, limit: int = NAMED_LIMIT, *, once: bool = False) -> bytes:
    """The content of a file that the user names; links are followed.

    A pipe can be read once, and a named one may never end. So pipes are refused, but for those that the shell opened
    for this process (`<(command)`, `/dev/stdin`), where whoever asks reads the file `once` and keeps what it holds.
    Those are read to their end, for which it waits.

    Raises:
        OSError: it cannot be read, is no regular file and no such pipe, or has more than `limit` bytes; `strerror` says
            which, and of a pipe what to do.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode):
            if found.st_size > limit:
                raise OSError(errno.EFBIG, f"it has {found.st_size} bytes, more than {limit}")
            return read_exactly(descriptor, found.st_size)
        if not stat.S_ISFIFO(found.st_mode):
            raise OSError(errno.EINVAL, f"it is {kind_of(found.st_mode)}, and no regular file")
        if not once:
            raise OSError(errno.EINVAL, "it is a pipe, which can be read only once: write it to a file, and name that")
        if not _HANDED.fullmatch(os.fspath(path)):
            raise OSError(errno.EINVAL, "it is a named pipe, which may never end: write it to a file, and name that")
        os.set_blocking(descriptor, True)
        return _to_its_end(descriptor, limit)
    finally:
        os.close(descriptor)


def _to_its_end(descriptor: int, limit: int) -> bytes:
    """Bytes that come through a pipe.

    Raises:
        OSError: it is more than `limit` bytes.
    """
    parts: list[bytes] = []
    size = 0
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise OSError(errno.EFBIG, f"more than {limit} bytes came through it")
    return b"".join(parts)


def read_exactly(descriptor: int, size: int) -> bytes:
    """That many bytes from the start, fewer where the file has shrunk."""
    parts = []
    at = 0
    while at < size and (part := os.pread(descriptor, min(size - at, 1 << 20), at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def write_whole(place: Path, data: bytes) -> int:
    """Write a file atomically; what is no regular file (a device, a pipe) is written to as it is. The bytes written.

    Links are followed, to where they lead for this process. So it is for files that the user names, and never for files
    in a slot, whose links lead elsewhere for the commands in it: `write_regular` of `workspace/files.py` writes those,
    and `StepContext.write` is that for step types.

    Raises:
        BakeoffError: it cannot be written, or is seen through another process (`/proc/PID/root`), as a slot is.
    """
    if _THROUGH_PROCESS.match(os.path.abspath(place)):
        raise BakeoffError(
            f"{place} is not written: it is seen through another process, and links there lead elsewhere for this one; "
            "in a slot, a step type writes with context.write(path, data)"
        )
    file = Path(os.path.realpath(place))
    draft = file.with_name(f".{file.name}.new")
    try:
        if file.exists() and not file.is_file():
            file.write_bytes(data)
            return len(data)
        draft.write_bytes(data)
        draft.replace(file)
    except OSError as failure:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise BakeoffError(f"{place} cannot be written: {failure.strerror}") from failure
    return len(data)


def kind_of(mode: int) -> str:
    """Kind of file that a mode says, for a message."""
    kinds = {
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a character device",
        stat.S_IFBLK: "a block device",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a symbolic link",
    }
    return kinds.get(stat.S_IFMT(mode), "no regular file")
