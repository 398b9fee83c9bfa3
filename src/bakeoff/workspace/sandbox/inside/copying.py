"""Copy of a tree, for kernels that mount no overlay over it. `shutil` cannot be imported where this runs."""

from __future__ import annotations

import os
import stat

PIECE = 1 << 20


def copy_tree(source: str, target: str) -> None:
    """Copy files, folders and symbolic links into the folder `target`, with modes and times; other kinds are left out.

    Passes on OSError: there is no room, or something cannot be read.
    """
    folders = [(source, target)]
    for above, below in folders:  # it grows
        with os.scandir(above) as entries:
            for entry in entries:
                place = f"{below}/{entry.name}"
                if entry.is_symlink():
                    os.symlink(os.readlink(entry.path), place)
                elif entry.is_dir():
                    os.mkdir(place, 0o700)
                    folders.append((entry.path, place))
                elif entry.is_file():
                    _copy_file(entry.path, place)
    for above, below in reversed(folders[1:]):
        _as_before(os.stat(above), below)


def _copy_file(source: str, target: str) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while piece := os.read(reading, PIECE):
                while piece:
                    piece = piece[os.write(writing, piece) :]
        finally:
            os.close(writing)
        _as_before(os.fstat(reading), target)
    finally:
        os.close(reading)


def _as_before(facts: os.stat_result, target: str) -> None:
    os.chmod(target, stat.S_IMODE(facts.st_mode))
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
