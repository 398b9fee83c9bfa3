"""Ballast: room on a disk that is given up when the disk is full, so that what must be written still can be."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def take(path: Path, size: int) -> None:
    """Hold `size` bytes of the disk with a file; nothing where there is no room, or a file already."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        return
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.write(descriptor, bytes(size))
    except OSError:
        drop(path)
    finally:
        os.close(descriptor)


def drop(path: Path) -> bool:
    """Give the room up; whether there was any."""
    with suppress(OSError):
        path.unlink()
        return True
    return False
