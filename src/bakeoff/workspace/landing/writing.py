"""Writing of changed files below a folder, each replaced at once, so that a crash midway loses nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bakeoff.system.temporary import scratch_folder
from bakeoff.workspace.files import RefusedError, folder_of
from bakeoff.workspace.landing.staging import Rules, staged_files
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.results import Changed
from bakeoff.workspace.snapshot.cone import folders_above
from bakeoff.workspace.snapshot.project import Project

MANY = 64
"""Files from which the whole disk is synchronised once, and not each file by itself."""


def write_changes(
    project: Project, repository: Repository, rules: Rules, target: str, changed: tuple[Changed, ...], root: Path
) -> None:
    """Make the changed paths below `root` what a checkout of the tree `target` has there; no link is followed.

    The `.gitattributes` in `rules` say which content filters are run; those of `target` say all else.

    Passes on GitError: a filter that is required failed; nothing was changed.
    """
    with scratch_folder(".apply.", repository.path) as folder:
        staged = staged_files(project, repository, rules, target, changed, Path(folder))
        put = [os.fsencode(change.path) for change in changed if change.status != "D"]
        gone = {os.fsencode(change.path) for change in changed if change.status == "D"}
        # What stands in the place of a folder has to go first.
        behind = {path for path in put if not gone.isdisjoint(folders_above([path]))}
        with _written(staged, root, [path for path in put if path not in behind]) as ready:
            for path in sorted(gone, reverse=True):
                _delete(root, path)
            for path in ready:
                _put(root, path)
        with _written(staged, root, [path for path in put if path in behind]) as ready:
            for path in ready:
                _put(root, path)
        for path in put:
            if _is_submodule(staged, path):
                _put_submodule(root, path)


def _is_submodule(staged: Path, path: bytes) -> bool:
    """Whether the tree has the id of a commit at `path`: git makes an empty folder of that."""
    place = os.path.join(os.fsencode(staged), path)
    return os.path.isdir(place) and not os.path.islink(place)


def _put_submodule(root: Path, path: bytes) -> None:
    """See that a folder stands at `path`, empty where it is new; one that stands there is left as it is."""
    _make_folders(root, path.rpartition(b"/")[0])
    with folder_of(root, path) as (folder, name):
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)


@contextmanager
def _written(staged: Path, root: Path, paths: list[bytes]) -> Iterator[list[bytes]]:
    """The files written beside where they belong, and on disk; nothing of them is left where that fails."""
    made: list[bytes] = []
    ready: list[bytes] = []
    try:
        for path in paths:
            if not _is_submodule(staged, path):
                made += _make_folders(root, path.rpartition(b"/")[0])
                ready.append(path)
                _write_beside(staged, root, path, sync=len(paths) < MANY)
        if len(paths) >= MANY:
            os.sync()
        yield ready
    except BaseException:
        for path in ready:
            with suppress(OSError, RefusedError), folder_of(root, path) as (folder, name):
                os.unlink(_beside(name), dir_fd=folder)
        for inner in reversed(made):
            with suppress(OSError, RefusedError), folder_of(root, inner) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        raise


def _delete(root: Path, path: bytes) -> None:
    """Delete a file and the folders that it leaves empty; it may be gone already."""
    try:
        with folder_of(root, path) as (folder, name):
            try:
                os.unlink(name, dir_fd=folder)
            except (IsADirectoryError, PermissionError):
                os.rmdir(name, dir_fd=folder)  # a submodule's folder; one that is checked out stays, as with git
        parent = path.rpartition(b"/")[0]
        while parent:
            os.rmdir(os.path.join(os.fsencode(root), parent))
            parent = parent.rpartition(b"/")[0]
    except (OSError, RefusedError):
        return


def _beside(name: bytes) -> bytes:
    """Temporary name of a file until it is whole: always the same, so that what a crash left is taken up again."""
    return f".{hashlib.sha256(name).hexdigest()[:12]}.bakeoff".encode()


def _write_beside(staged: Path, root: Path, path: bytes, *, sync: bool) -> None:
    source = os.path.join(os.fsencode(staged), path)
    with folder_of(root, path) as (folder, name):
        fresh = _beside(name)
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        if os.path.islink(source):
            os.symlink(os.readlink(source), fresh, dir_fd=folder)
            return
        with open(source, "rb") as file:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
            with open(descriptor, "wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)
                copy.flush()
                if sync:
                    os.fsync(copy.fileno())
                os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))


def _put(root: Path, path: bytes) -> None:
    """Put what was written beside in the place of what stands at `path`, at once; no link is followed."""
    with folder_of(root, path) as (folder, name):
        _clear_folder(folder, name)
        os.replace(_beside(name), name, src_dir_fd=folder, dst_dir_fd=folder)


def _clear_folder(folder: int, name: bytes) -> None:
    """A folder in the way of a file has been emptied of files by now; its empty folders go too."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        os.rmdir(name, dir_fd=folder)


def _make_folders(root: Path, path: bytes) -> list[bytes]:
    """Make the folder `path` and those that it lies in; returns those that were not there, outermost first.

    Passes on RefusedError: something else stands there.
    """
    if not path:
        return []
    made = []
    missing: list[bytes] = []
    above = path
    while above and not _is_folder(root, above):
        missing.append(above)
        above = above.rpartition(b"/")[0]
    for inner in reversed(missing):
        with folder_of(root, inner) as (folder, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            made.append(inner)
    return made


def _is_folder(root: Path, path: bytes) -> bool:
    try:
        with folder_of(root, path) as (folder, name):
            return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
