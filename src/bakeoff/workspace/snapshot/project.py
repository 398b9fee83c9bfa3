"""Project: the user's git work tree, how its files look, and the git that reads it with their configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.process.sweep import process_token
from bakeoff.workspace.errors import GitError, ProjectError
from bakeoff.workspace.filters.drivers import Driver, drivers_of
from bakeoff.workspace.repository.git import Git, check_git

_FORM = tuple(f"core.{name}" for name in ("autocrlf", "eol", "filemode", "symlinks", "ignorecase", "precomposeunicode"))

BYTECODE = b"__pycache__/\n*.py[co]\n"
"""Ignore rules that every project has: an attempt's bytecode may not be that of its source."""


@dataclass(frozen=True, slots=True)
class Project:
    """A git work tree of the user.

    Attributes:
        root: the top of the work tree, its real path.
        git_dir: the git directory of this work tree.
        common_dir: what all work trees of the repository share.
        object_format: `sha1` or `sha256`.
        form: `key=value` settings that say how files are stored and which are ignored.
        identity: `user.name=...` and `user.email=...`, as far as set.
        filters: the content filters that some configuration defines.
        attributes: git attributes that stand in no file of the tree, as far as they are found.
        excludes: ignore rules that stand in no file of the tree, in the order of their weight.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    object_format: str
    form: tuple[str, ...]
    identity: tuple[str, ...]
    filters: tuple[Driver, ...]
    attributes: bytes
    excludes: bytes

    @property
    def object_size(self) -> int:
        """Bytes of an object id."""
        return 32 if self.object_format == "sha256" else 20

    def git(self, *, filters: bool = True) -> Git:
        """The git of the user's repository; it runs no hook or monitor of theirs, and `filters` only if wanted."""
        off = () if filters else tuple(setting for driver in self.filters for setting in driver.off())
        # A later command ends filters that outlive this process; a daemon that one started (gpg-agent) may stay.
        mark = {"BAKEOFF_RUN": process_token(daemons=False)} if filters and self.filters else {}
        return Git(directory=self.git_dir, work_tree=self.root, config=off, owned=False, cwd=self.root, env=mark)


def find_project(path: Path) -> Project:
    """The work tree that `path` lies in. To be called in a thread.

    Raises:
        ProjectError: there is none, it is bare, or its path cannot be worked with.
        GitError: git is missing, too old, or refuses the repository.
    """
    check_git()
    if not path.is_dir():
        raise ProjectError(f"{path} is no directory")
    git = Git(owned=False, cwd=path)
    asked = ("--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--absolute-git-dir")
    status, out, err = git.both("rev-parse", *asked, "--git-common-dir", "--show-toplevel", statuses=range(256))
    lines = os.fsdecode(out).splitlines()
    if len(lines) < 5:
        said = err.decode(errors="replace").strip()
        if "not a git repository" in said:
            if "not a git repository: " in said:  # a `.git` file, of a work tree or submodule, names it
                raise ProjectError(
                    f"the .git of {path} leads to no git repository ({said.removeprefix('fatal: ')}): was it moved or "
                    "deleted? For a work tree, `git worktree repair PATH` in the repository mends it"
                )
            raise ProjectError(
                f"{path} is not in a git repository: attempts start from a snapshot; run `git init` there"
            )
        raise GitError(f"git cannot read the repository at {path}: {said}", status)
    bare, inside, object_format, git_dir, common_dir = lines[:5]
    if bare == "true":
        raise ProjectError(f"{path} is a bare repository: it has no files to work on; go to a clone or work tree of it")
    if inside != "true" and not path.resolve().is_relative_to(git_dir):
        raise ProjectError(
            f"{path} is not in the work tree of {git_dir}, which core.worktree puts elsewhere: go there, "
            "or take that away with `git config --unset core.worktree`"
        )
    if inside != "true" or status:
        raise ProjectError(f"{path} lies inside a git directory, not in a work tree; go to the project's own folder")
    if len(lines) != 6:
        raise ProjectError(f"{path}: a project whose path contains a line break cannot be worked on")
    root = Path(os.path.realpath(lines[5]))
    common = Path(os.path.realpath(path / common_dir))
    settings = _configuration(git.at(cwd=root))
    form = tuple(f"{key}={value or 'true'}" for key, value in settings.items() if key in _FORM)
    identity = tuple(f"{key}={value}" for key, value in settings.items() if key.startswith("user."))
    excludes = BYTECODE + _text(root / _own(settings, "excludes", "ignore")) + _text(common / "info" / "exclude")
    return Project(
        root=root,
        git_dir=Path(git_dir),
        common_dir=common,
        object_format=object_format,
        form=form,
        identity=identity,
        filters=drivers_of({key: value for key, value in settings.items() if key.startswith("filter.")}),
        attributes=_text(_SYSTEM) + _text(root / _own(settings, "attributes")) + _text(common / "info" / "attributes"),
        excludes=excludes,
    )


def _configuration(git: Git) -> dict[str, str]:
    pattern = r"^(filter\..*|user\.(name|email)|core\..*)$"
    out = git.run("config", "-z", "--get-regexp", pattern, statuses=(0, 1))
    entries = (entry.partition("\n") for entry in os.fsdecode(out).split("\0")[:-1])
    return {key: value for key, _, value in entries}


def _own(settings: Mapping[str, str], what: str, usual: str | None = None) -> Path:
    """The user's own file of that sort, for all repositories; git looks from the top of the work tree."""
    named = settings.get(f"core.{what}file")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(named).expanduser() if named else config / "git" / (usual or what)


_SYSTEM = Path("/etc/gitattributes")
"""Usual place of the attributes of the machine."""


def _text(path: Path) -> bytes:
    try:
        text = path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""
    return text if not text or text.endswith(b"\n") else text + b"\n"
