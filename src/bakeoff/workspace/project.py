"""The user's git work tree: where it is and how its files look. Only read, and nothing of its configuration is run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bakeoff.workspace.errors import GitError, ProjectError
from bakeoff.workspace.git import Git, check_git

_FORM = ("autocrlf", "eol", "filemode", "symlinks", "ignorecase", "precomposeunicode", "excludesfile")


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
        filters: names of the content filters that some configuration defines; none of them is run.
        excludes: ignore rules that stand in no file of the tree, in the order of their weight.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    object_format: str
    form: tuple[str, ...]
    identity: tuple[str, ...]
    filters: tuple[str, ...]
    excludes: bytes

    def git(self) -> Git:
        """The git of the user's repository; it runs no filter, hook or monitor of theirs."""
        off = [
            f"filter.{name}.{key}"
            for name in self.filters
            for key in ("clean=", "smudge=", "process=", "required=false")
        ]
        return Git(directory=self.git_dir, work_tree=self.root, config=off, owned=False, cwd=self.root)


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
            raise ProjectError(
                f"{path} is not in a git repository: attempts start from a snapshot; run `git init` there"
            )
        raise GitError(f"git cannot read the repository at {path}: {said}", status)
    bare, inside, object_format, git_dir, common_dir = lines[:5]
    if bare == "true":
        raise ProjectError(f"{path} is a bare repository: it has no files to work on; go to a clone or work tree of it")
    if inside != "true" or status:
        raise ProjectError(f"{path} lies inside a git directory, not in a work tree; go to the project's own folder")
    if len(lines) != 6:
        raise ProjectError(f"{path}: a project whose path contains a line break cannot be worked on")
    root = Path(os.path.realpath(lines[5]))
    common = Path(os.path.realpath(path / common_dir))
    form, identity, filters, own = _configuration(git.at(cwd=root))
    excludes = _text(own) + _text(common / "info" / "exclude")
    return Project(root, Path(git_dir), common, object_format, form, identity, filters, excludes)


def _configuration(git: Git) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Path]:
    pattern = rf"^(filter\..*|user\.(name|email)|core\.({'|'.join(_FORM)}))$"
    out = git.run("config", "-z", "--get-regexp", pattern, statuses=(0, 1))
    found: dict[str, str] = {}
    filters: dict[str, None] = {}
    for entry in os.fsdecode(out).split("\0")[:-1]:
        key, _, value = entry.partition("\n")
        if key.startswith("filter."):
            filters[key.removeprefix("filter.").rpartition(".")[0]] = None
        else:
            found[key] = value
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    own = found.pop("core.excludesfile", None)
    excludes = Path(own).expanduser() if own else config / "git" / "ignore"
    form = tuple(f"{key}={value or 'true'}" for key, value in found.items() if key.startswith("core."))
    identity = tuple(f"{key}={value}" for key, value in found.items() if key.startswith("user."))
    return form, identity, tuple(filters), excludes


def _text(path: Path) -> bytes:
    try:
        text = path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""
    return text if not text or text.endswith(b"\n") else text + b"\n"
