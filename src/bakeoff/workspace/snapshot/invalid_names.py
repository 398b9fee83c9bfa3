"""Invalid names, which git takes into no index: some file system takes them for `.git`, whatever they look like."""

from __future__ import annotations

import re

_FORBIDDEN = re.compile(rb"(\.git|git~1)[. ]*(:.*)?", re.IGNORECASE | re.DOTALL)
"""Names that git refuses as Windows takes them for `.git`, and with them what HFS+ does."""

_MODULES = re.compile(rb"(\.gitmodules|gitmod~[1-4]|gi7eba~\d)[. ]*(:.*)?", re.IGNORECASE | re.DOTALL)
"""Names of `.gitmodules`, which git does not take as a link."""

_PARTS = re.compile(rb"[/\\]")
"""Separators of names, on Windows too."""

_UNSEEN = re.compile(b"\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf")
"""Characters that HFS+ leaves out of names."""


def repository_of(path: bytes) -> bytes | None:
    """The `.git` that a path is or lies in; None for most."""
    parts = path.split(b"/")
    for place, part in enumerate(parts, 1):
        if part.lower() in (b".git", b"git~1"):
            return b"/".join(parts[:place])
    return None


def why_refused(path: bytes, *, link: bool) -> str | None:
    """Why git takes no file, or `link`, at this path; None where it takes it."""
    if repository_of(path) is not None:
        return "it belongs to a repository inside the slot, whose files alone are taken"
    for part in _PARTS.split(path):
        name = _UNSEEN.sub(b"", part)
        if _FORBIDDEN.fullmatch(name):
            return "git takes no such name: on some systems it stands for .git"
        if link and _MODULES.fullmatch(name):
            return "git takes no link with such a name: on some systems it stands for .gitmodules"
    return None
