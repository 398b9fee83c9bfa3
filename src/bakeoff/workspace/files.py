"""Reading and writing below a folder that others write too: no link is followed, nothing but files is opened."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bakeoff.system.named_files import kind_of, read_exactly


class RefusedError(Exception):
    """A path is not what may be read; the text says what it is."""


@contextmanager
def folder_of(root: Path, path: bytes) -> Iterator[tuple[int, bytes]]:
    """A descriptor of the folder that `path` lies in, and its last name; no part of the way may be a link.

    Raises:
        RefusedError: a part of the way is a link or no folder.
        FileNotFoundError: a part of the way is not there.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        *folders, name = path.split(b"/")
        for part in folders:
            try:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except FileNotFoundError:
                raise
            except OSError as failure:
                raise RefusedError(f"its folder cannot be opened: {failure.strerror}") from None
            os.close(descriptor)
            descriptor = inner
        yield descriptor, name
    finally:
        os.close(descriptor)


def write_regular(root: Path, path: bytes, data: bytes) -> None:
    """Atomic write of the regular file `path` below `root`; missing folders are made, no link is followed.

    A file that is there already keeps its permissions.

    Raises:
        RefusedError: a part of the way is a link or no folder, or what stands there is no regular file.

    Passes on OSError: it cannot be written.
    """
    _make_folders(root, path)
    with folder_of(root, path) as (folder, name):
        mode = None
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                raise RefusedError(f"it is {kind_of(found.st_mode)}")
            mode = stat.S_IMODE(found.st_mode)
        draft = b".%s.new" % secrets.token_hex(8).encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o666, dir_fd=folder)
        try:
            with open(descriptor, "wb") as file:
                if mode is not None:
                    os.fchmod(descriptor, mode)
                file.write(data)
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
            raise


def _make_folders(root: Path, path: bytes) -> None:
    """Make the folders above `path` that are not there; passes on what `folder_of` raises."""
    parts = path.split(b"/")
    for depth in range(1, len(parts)):
        with folder_of(root, b"/".join(parts[:depth])) as (folder, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)


@contextmanager
def open_regular(root: Path, path: bytes, limit: int | None = None) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor for reading the regular file `path` below `root`, and its status.

    Raises:
        RefusedError: it is no regular file, cannot be read, or has more than `limit` bytes.
        FileNotFoundError: it is not there.
    """
    with folder_of(root, path) as (folder, name):
        try:
            # Non-blocking, or a pipe would hold us.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            raise
        except OSError as failure:
            raise RefusedError(f"it cannot be read: {failure.strerror}") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"it is {kind_of(found.st_mode)}")
        if limit is not None and found.st_size > limit:
            raise RefusedError(f"it has {found.st_size} bytes, more than {limit}")
        yield descriptor, found
    finally:
        os.close(descriptor)


def is_hollow(status: os.stat_result, least: int) -> bool:
    """Whether a file of at least so many bytes has far less on disk: it costs nothing to make, and much to read."""
    return status.st_size >= least and status.st_blocks * 512 < status.st_size // 2


def read_small(root: Path, path: bytes, limit: int = 1 << 20) -> bytes | None:
    """The content of a small regular file; None where there is none, or what is there may not be read."""
    try:
        with open_regular(root, path, limit) as (descriptor, found):
            return read_exactly(descriptor, found.st_size)
    except (OSError, RefusedError):
        return None


def read_link(root: Path, path: bytes) -> bytes:
    """Target of the symbolic link `path`, which is not followed.

    Raises:
        RefusedError: it is no link any more.
    """
    try:
        with folder_of(root, path) as (folder, name):
            return os.readlink(name, dir_fd=folder)
    except OSError as failure:
        raise RefusedError(f"it is no link any more: {failure.strerror}") from None
