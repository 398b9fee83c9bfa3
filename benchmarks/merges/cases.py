"""Files in conflict in the merges of a clone: the three versions of each, and what people made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.plan.merge.hunks import Texts, texts_of
from bakeoff.plan.merge.trees import Merged, merge_many
from bakeoff.workspace.errors import GitError
from bakeoff.workspace.repository.git import Git

AT_ONCE = 100
"""Merges that git is asked for in one go."""

KINDS = {
    "py": "python",
    "pyi": "python",
    "json": "json",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "md": "prose",
    "rst": "prose",
    "lock": "lock",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One file in conflict.

    Attributes:
        merge: the commit that people made of the two.
        path: the file.
        texts: the three versions; None where the conflict is not about the lines of a file.
        people: what stands there in `merge`; None where nothing does.
    """

    merge: str
    path: str
    texts: Texts | None
    people: bytes | None

    @property
    def kind(self) -> str:
        """What the file is, for the table."""
        name = self.path.rpartition("/")[2].lower()
        if name in ("package-lock.json", "pnpm-lock.yaml"):
            return "lock"
        return KINDS.get(name.rpartition(".")[2], "plain") if "." in name else "plain"

    @property
    def held_out(self) -> bool:
        """Whether it is of the half that no rule was written by: the merge's id begins with 8 to f."""
        return self.merge[0] in "89abcdef"


def cases(clone: Path) -> Iterator[Case]:
    """Every file in conflict of every merge of the clone, each case once."""
    seen = set()
    for git, merge, made in remade(clone):
        for clash in made.clashes:
            key = (clash.path, clash.base, clash.ours, clash.theirs)
            if key not in seen:
                seen.add(key)
                yield Case(merge, clash.path, texts_of(git, clash), blob(git, merge, clash.path))


def remade(clone: Path) -> Iterator[tuple[Git, str, Merged]]:
    """Every merge of two commits that HEAD of the clone has behind it, the newest first, as git makes it.

    Yields the objects, the commit that people made, and what git makes of its parents. The objects last as long as the
    iteration; nothing is written into the clone.
    """
    git = Git(directory=_git_directory(clone))
    lines = git.run("rev-list", "--merges", "--parents", "HEAD").decode().splitlines()
    merges = [words for words in map(str.split, lines) if len(words) == 3]
    with tempfile.TemporaryDirectory(prefix="merges-") as folder:
        assert git.directory is not None
        trial = git.at(objects=Path(folder), alternates=[git.directory / "objects"])
        for at in range(0, len(merges), AT_ONCE):
            batch = merges[at : at + AT_ONCE]
            done = _merged(trial, [(ours, theirs) for _, ours, theirs in batch])
            yield from ((trial, merge, made) for (merge, _, _), made in zip(batch, done, strict=True))


def _git_directory(clone: Path) -> Path:
    return clone / ".git" if (clone / ".git").is_dir() else clone


def _merged(git: Git, pairs: list[tuple[str, str]]) -> list[Merged]:
    """Each merge; one without a tree and clashes where the clone lacks what git needs for it."""
    try:
        return merge_many(git, pairs)
    except GitError:
        return [Merged("")] if len(pairs) == 1 else [_merged(git, [pair])[0] for pair in pairs]


def blob(git: Git, commit: str, path: str) -> bytes | None:
    """The content of a file of a commit; None where it has none."""
    status, out, _ = git.both("cat-file", "blob", f"{commit}:{path}", statuses=(0, 128))
    return None if status else out
