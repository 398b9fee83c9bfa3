"""Cache and data folders of bakeoff: one a project in the user's cache directory, and one among the user's data."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.workspace.errors import WorkspaceError

DEAD = ".dead."
"""Prefix of the names of what is to be deleted."""


def cache_root() -> Path:
    """The user's cache directory for bakeoff: below XDG_CACHE_HOME, or ~/.cache. All in it can be made again."""
    return _below("XDG_CACHE_HOME", ".cache")


def data_root() -> Path:
    """Data folder, for results, which nobody may take for a cache: below XDG_DATA_HOME, or ~/.local/share."""
    return _below("XDG_DATA_HOME", ".local/share")


def _below(variable: str, usual: str) -> Path:
    base = os.environ.get(variable, "")
    try:
        place = Path(base) if os.path.isabs(base) else Path.home() / usual
    except RuntimeError as failure:
        raise WorkspaceError(f"no home folder is known: {failure}; {_ADVICE}") from None
    return Path(os.path.realpath(place)) / "bakeoff"


_ADVICE = (
    "slots are kept below XDG_CACHE_HOME (else ~/.cache), results below XDG_DATA_HOME (else ~/.local/share): set HOME, "
    "or both of these, to folders that you may write to"
)


def check_roots() -> None:
    """See that both folders can be written, before anything is begun.

    Raises:
        WorkspaceError: one cannot, or no home folder is known.
    """
    for place in (cache_root(), data_root()):
        _make(place)
        if not _writable(place):
            raise WorkspaceError(f"{place} cannot be written; {_ADVICE}")


def _writable(folder: Path) -> bool:
    """Whether files can be made there, tried for real; that there is no room for one is another matter."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as failure:
        return failure.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as failure:
        if failure.errno not in (errno.EACCES, errno.ENOENT, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise
        raise WorkspaceError(f"{folder} cannot be made: {failure.strerror}; {_ADVICE}") from failure


@dataclass(frozen=True, slots=True)
class ProjectCache:
    """The folders of one project, keyed by the real path of its git common directory.

    Attributes:
        root: in the user's cache.
        kept: for what is not to be lost with it.
    """

    root: Path
    kept: Path

    @classmethod
    def of(cls, common_dir: Path, root: Path | None = None) -> ProjectCache:
        """The folders for the project whose git common directory is `common_dir`; made when they are not there.

        Passes on WorkspaceError: they cannot be made.
        """
        place = os.path.realpath(common_dir)
        parent = Path(place).parent.name if Path(place).name == ".git" else Path(place).name
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", parent)[:40].strip("-") or "project"
        digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
        cache = cls._called(f"{name}-{digest}", root)
        for folder in (cache.root, cache.kept, cache.slots, cache.trees, cache.layers):
            _make(folder)
        about = cache.kept / "project.json"
        if not about.exists():
            fresh = about.with_name(f"project.{secrets.token_hex(4)}.json")
            fresh.write_text(json.dumps({"common_dir": place}))
            os.replace(fresh, about)
        return cache

    @classmethod
    def _called(cls, name: str, root: Path | None) -> ProjectCache:
        """A project's folders by their name; below `root` alone where that is given."""
        return cls((root or cache_root()) / "projects" / name, (root or data_root()) / "projects" / name)

    @property
    def repository(self) -> Path:
        """Our own repository of the project."""
        return self.kept / "repository.git"

    @property
    def slots(self) -> Path:
        """A folder and a lock for each slot."""
        return self.root / "slots"

    @property
    def trees(self) -> Path:
        """A materialised checkout for each snapshot, shared by its slots."""
        return self.root / "trees"

    @property
    def layers(self) -> Path:
        """Folder of layers, copied or built once for many slots."""
        return self.root / "layers"

    @property
    def project(self) -> str:
        """The path of the project's git common directory; empty where it cannot be told."""
        try:
            return str(json.loads((self.kept / "project.json").read_text())["common_dir"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def bury(self, path: Path) -> Path | None:
        """Rename what is to be deleted, at once, to where only deleting is left; None when it is not there."""
        grave = self.root / f"{DEAD}{path.name}.{secrets.token_hex(6)}"
        try:
            path.rename(grave)
        except FileNotFoundError:
            return None
        except PermissionError:
            # Who works in a slot may close folders; moving one needs the right to write to it and to where it lies.
            for folder in (path.parent, path):
                if stat.S_ISDIR(folder.lstat().st_mode):
                    folder.chmod(0o700)
            path.rename(grave)
        return grave

    def dead(self) -> list[Path]:
        """Folder of what waits to be deleted."""
        return sorted(self.root.glob(f"{DEAD}*"))


def projects(root: Path | None = None) -> Iterator[ProjectCache]:
    """The folders of all projects."""
    folders = {(root or cache_root()) / "projects", (root or data_root()) / "projects"}
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    for name in sorted({path.name for path in found if path.is_dir() and not path.is_symlink()}):
        yield ProjectCache._called(name, root)
