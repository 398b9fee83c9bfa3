"""Unified diffs between commits, as patches and for people."""

from __future__ import annotations

from bakeoff.workspace.repository.repository import Repository

_DIFF = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv")
_MOST_SHOWN = 1 << 20
"""Bytes of a diff that people are shown."""


def diff(repository: Repository, before: str, after: str) -> bytes:
    """The patch from one commit or tree to another, as `git apply` takes it. To be called in a thread."""
    return repository.git().run(*_DIFF, "--binary", "--full-index", before, after)


def diff_text(repository: Repository, before: str, after: str) -> str:
    """The same for people: of binary files only that they differ, and cut where it is long, as its last line says."""
    found = repository.git().beginning(*_DIFF, before, after, most=_MOST_SHOWN)
    cut = f"\n(the diff goes on: this is its first {_MOST_SHOWN >> 20} MiB)\n" if len(found) == _MOST_SHOWN else ""
    return found.decode("utf-8", "replace") + cut
