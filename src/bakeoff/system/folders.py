"""Folders of any depth, looked through and removed: no recursion, no long paths, two descriptors, no link followed.

Whoever worked in them may have made them thousands deep, with paths longer than the system takes. It imports little:
a program of its own uses it, to delete.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

LONGEST = 2048
"""Bytes of a path, relative to where a walk began, up to which folders are looked into."""

MOST = 500_000
"""Entries up to which a folder is looked into."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """One folder of a walk.

    Attributes:
        path: relative to where the walk began, which itself is empty.
        descriptor: open until the walk goes on; -1 where it cannot be looked into.
        entries: what is in it: names and status.
        inner: names of the folders in it that are walked next; whoever walks may take some out.
        failure: why it cannot be looked into.
    """

    __slots__ = ("descriptor", "entries", "failure", "inner", "path")

    def __init__(self, path: bytes, descriptor: int = -1, failure: OSError | None = None) -> None:
        self.path = path
        self.descriptor = descriptor
        self.entries: list[tuple[bytes, os.stat_result]] = []
        self.inner: list[bytes] = []
        self.failure = failure

    def below(self, name: bytes) -> bytes:
        """The path of something in it."""
        return self.path + b"/" + name if self.path else name


def walk(root: os.PathLike[str] | bytes | str) -> Iterator[Folder]:
    """The folder `root` and all below, each before what is in it; those with longer paths than `LONGEST` as failures.

    Raises:
        OSError: `root` is a link, cannot be looked into or has too many entries, or something was moved out of it
            meanwhile.
    """
    descriptor = os.open(root, _FOLDER)
    try:
        top = _look(descriptor, b"")
        if top.failure is not None:
            raise top.failure
        yield top
        way = [(top, _identity(descriptor))]
        while way:
            folder, _ = way[-1]
            if not folder.inner:
                way.pop()
                if way:
                    descriptor = _instead(descriptor, _above(descriptor, way[-1][1]))
                continue
            name = folder.inner.pop()
            path = folder.below(name)
            try:
                if len(path) > LONGEST:
                    raise OSError(errno.ENAMETOOLONG, f"its path has more than {LONGEST} bytes")
                inner = _enter(descriptor, name)
            except OSError as failure:
                yield Folder(path, failure=failure)
                continue
            descriptor = _instead(descriptor, inner)
            found = _look(descriptor, path)
            yield found
            found.entries = []  # on a long way down they are many
            way.append((found, _identity(descriptor)))
    finally:
        os.close(descriptor)


def _look(descriptor: int, path: bytes) -> Folder:
    found = Folder(path, descriptor)
    with os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it went away meanwhile
                continue
            name = os.fsencode(entry.name)
            found.entries.append((name, status))
            if stat.S_ISDIR(status.st_mode):
                found.inner.append(name)
            if len(found.entries) > MOST:
                failure = OSError(errno.EFBIG, f"it has more than {MOST:,} entries")
                return Folder(path, failure=failure)
    return found


def _enter(descriptor: int, name: bytes) -> int:
    """A descriptor of a folder in a folder, from which one can come back.

    Raises:
        OSError: there is none.
    """
    inner = os.open(name, _FOLDER, dir_fd=descriptor)
    try:
        os.stat("..", dir_fd=inner)
    except OSError:
        os.close(inner)
        raise
    return inner


def _above(descriptor: int, identity: tuple[int, int]) -> int:
    """A descriptor of the folder that this one lies in.

    Raises:
        OSError: it is another one than that which was left.
    """
    above = os.open("..", _FOLDER, dir_fd=descriptor)
    if _identity(above) != identity:
        os.close(above)
        raise OSError(errno.ESTALE, "a folder was moved while it was looked through")
    return above


def _instead(old: int, new: int) -> int:
    os.close(old)
    return new


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def remove_tree(path: os.PathLike[str] | bytes | str, *, ignore_errors: bool = False) -> None:
    """Remove a folder, or whatever stands there, and all in it, also what its owner made unreadable.

    Raises:
        OSError: something cannot be removed; all else is gone. Not with `ignore_errors`.
    """
    try:
        failure = _removed(os.fsencode(path))
        if failure is not None:
            raise OSError(failure.errno, failure.strerror, os.fsdecode(path))
    except OSError:
        if not ignore_errors:
            raise


def _removed(path: bytes) -> OSError | None:
    """Remove it, and return what went wrong first."""
    parent, name = os.path.split(path.rstrip(b"/"))
    descriptor = os.open(parent or b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    failure: OSError | None = None
    way: list[tuple[bytes, list[bytes], tuple[int, int]]] = [(b"", [name], _identity(descriptor))]
    try:
        while way:
            done, names, _ = way[-1]
            if not names:
                way.pop()
                if way:
                    descriptor = _instead(descriptor, _above(descriptor, way[-1][2]))
                    try:
                        os.rmdir(done, dir_fd=descriptor)
                    except OSError as raised:
                        failure = failure or raised
                continue
            name = names.pop()
            try:
                inner = _opened(descriptor, name)
                if inner is None:
                    os.unlink(name, dir_fd=descriptor)
                    continue
            except OSError as raised:
                failure = failure or raised
                continue
            descriptor = _instead(descriptor, inner)
            way.append((name, [os.fsencode(each) for each in os.listdir(descriptor)], _identity(descriptor)))
    finally:
        os.close(descriptor)
    return failure


def _opened(descriptor: int, name: bytes) -> int | None:
    """A folder in a folder, made ours to look into; None where it is none. Passes on OSError."""
    mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
    if not stat.S_ISDIR(mode):
        return None
    if mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=descriptor)
    return _enter(descriptor, name)
