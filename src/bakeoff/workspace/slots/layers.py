"""Layers of slots above their snapshot: copies of the user's files, and what a setup command built, each once."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bakeoff.system.folders import walk
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.locks import FileLock, wait_for_lock
from bakeoff.workspace.slots.base import Base


def layer(cache: ProjectCache, digest: str, fill: Callable[[Path], list[str]]) -> tuple[Path, FileLock]:
    """The layer of that digest, filled by whoever comes first. To be called in a thread.

    Args:
        cache: the project's folder.
        digest: stands for everything that the layer depends on.
        fill: puts files into an empty folder, and returns the paths that it put there, the uppermost ones.
    """
    home = cache.layers / digest
    making = wait_for_lock(cache.layers / f"{digest}.making")
    try:
        if not home.is_dir():
            fresh = cache.layers / f".new.{secrets.token_hex(6)}"
            (fresh / "files").mkdir(parents=True)
            try:
                paths = fill(fresh / "files")
                (fresh / "paths.json").write_text(json.dumps(paths))
                fresh.rename(home)
            except BaseException:
                cache.bury(fresh)
                raise
        lock = wait_for_lock(cache.layers / f"{digest}.lock", shared=True)
        os.utime(home)
        return home, lock
    finally:
        making.release()


def provided(layers: Sequence[Path]) -> list[str]:
    """The paths that layers put into a slot, the uppermost ones."""
    return [path for home in layers for path in json.loads((home / "paths.json").read_text())]


def files_to_copy(base: Base, configured: Iterable[str]) -> list[str]:
    """Paths below the user's project that slots get copies of: the configured ones, and what `.worktreeinclude` names.

    Passes on WorkspaceError: a configured path is not there, or leads out of the project.
    """
    root = base.project.root
    found = []
    for path in configured:
        check_inside(root, path, "copy")
        found.append(path.rstrip("/"))
    if (root / ".worktreeinclude").is_file():
        found += _included(base)
    return list(dict.fromkeys(found))


def check_inside(root: Path, path: str, setting: str) -> Path:
    """The configured path below the project.

    Raises:
        WorkspaceError: it is not there, or leads out of the project.
    """
    place = root / path
    if os.path.isabs(path) or ".." in Path(path).parts or Path(path).parts[:1] in ((), (".git",)):
        raise WorkspaceError(f"tool.bakeoff.slots.{setting}: {path!r} must be a path inside the project")
    if not os.path.lexists(place):
        raise WorkspaceError(f"tool.bakeoff.slots.{setting}: there is no {place}")
    return place


def _included(base: Base) -> list[str]:
    """Ignored files that `.worktreeinclude` names by ignore rules; others are in the snapshot anyway."""
    git = base.project.git()
    named = git.run("ls-files", "-o", "-i", "-z", "--exclude-from=.worktreeinclude")
    return [os.fsdecode(path) for path in git.ignored(named.split(b"\0")[:-1])]


def copy_layer(cache: ProjectCache, base: Base, paths: list[str]) -> tuple[Path, FileLock]:
    """A layer with copies of the user's files as they are now. Links stay links."""
    root = base.project.root
    digest = hashlib.sha256()
    for path in paths:
        for inner in _all_files(root / path):
            found = inner.lstat()
            digest.update(f"{os.fsencode(inner)!r} {found.st_size} {found.st_mtime_ns} {found.st_mode}\n".encode())

    def fill(folder: Path) -> list[str]:
        for path in paths:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            source = root / path
            if source.is_dir() and not source.is_symlink():
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target, follow_symlinks=False)
        return paths

    return layer(cache, f"copy-{digest.hexdigest()[:24]}", fill)


def _all_files(path: Path) -> list[Path]:
    if path.is_symlink() or not path.is_dir():
        return [path]
    return sorted(
        path / os.fsdecode(folder.below(name))
        for folder in walk(path)
        for name, status in folder.entries
        if not stat.S_ISDIR(status.st_mode)
    )
