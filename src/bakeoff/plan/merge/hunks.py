"""Hunks in conflict between two versions of a text: the places, and what each side has there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bakeoff.plan.merge.trees import Clash
from bakeoff.system.temporary import temporary_folder
from bakeoff.workspace.repository.git import Git

Favour = Literal["ours", "union"]

MOST_LINES = 200
"""Lines of one side of a hunk that are kept."""

MOST_BYTES = 32 << 20
"""Of a file that is looked into; what is larger is merged by git alone."""

_SIZE = 47
"""Characters of a conflict marker: none that stands in a text for its own reasons is that long."""

_REGULAR = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place.

    Attributes:
        line: where it begins in our version, from 1.
        base, ours, theirs: the lines that each version has there.
    """

    line: int
    base: str
    ours: str
    theirs: str

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Texts:
    """The three versions of a regular file; that of a file added by both has an empty base."""

    base: bytes
    ours: bytes
    theirs: bytes

    @property
    def binary(self) -> bool:
        """Whether git would not merge them line by line."""
        return any(b"\0" in text[:8000] for text in (self.base, self.ours, self.theirs))


def texts_of(git: Git, clash: Clash) -> Texts | None:
    """The versions of a clash about the content of one regular file; None where it is about something else. Blocks."""
    if clash.kind not in ("contents", "add/add") or clash.ours is None or clash.theirs is None:
        return None
    sides = [side for side in (clash.base, clash.ours, clash.theirs) if side is not None]
    if any(side.mode not in _REGULAR for side in sides) or clash.ours.mode != clash.theirs.mode:
        return None
    asked = "".join(f"{side.oid}\n" for side in sides).encode()
    sizes = [int(size) for size in git.run("cat-file", "--batch-check=%(objectsize)", data=asked).split()]
    if max(sizes) > MOST_BYTES:
        return None
    out, at, contents = git.run("cat-file", "--batch=", data=asked), 0, []
    for size in sizes:  # each between two line ends
        contents.append(out[at + 1 : at + 1 + size])
        at += size + 2
    found = Texts(*([b""] if clash.base is None else []), *contents)
    return None if found.binary else found


def hunks_of(git: Git, clash: Clash) -> tuple[Hunk, ...]:
    """The places in conflict; none where the clash is not about lines (binary, renamed, deleted, a link, ...). Blocks.

    Passes on GitError: an object is missing.
    """
    texts = texts_of(git, clash)
    if texts is None:
        return ()
    return tuple(_hunks(_merge_file(texts, "--diff3", f"--marker-size={_SIZE}").decode("utf-8", "replace")))


def favoured(texts: Texts, favour: Favour) -> bytes:
    """The merged text, with our lines, or both sides', wherever there is a conflict. Blocks."""
    return _merge_file(texts, f"--{favour}")


def _merge_file(texts: Texts, *options: str) -> bytes:
    with temporary_folder("merge") as folder:
        names = ("ours", "base", "theirs")
        for name in names:
            (Path(folder) / name).write_bytes(getattr(texts, name))
        # Its exit status is the number of conflicts, up to 127.
        command = ("merge-file", "-p", "-q", *options, *names)
        return Git(cwd=Path(folder)).both(*command, statuses=range(128))[1]


def _hunks(text: str) -> Iterator[Hunk]:
    """The places that conflict markers name."""
    # What ends each part, and the part that begins there; a heading underlined with `=` may be as long as a marker.
    ends = {"": ("<", "ours"), "ours": ("|", "base"), "base": ("=", "theirs"), "theirs": (">", "")}
    part, line = "", 1
    lines: dict[str, list[str]] = {}
    began = 1
    for each in text.split("\n"):
        sign, after = ends[part]
        if each.partition(" ")[0] != sign * _SIZE:
            if part:
                lines[part].append(each)
            line += part in ("", "ours")
            continue
        if after == "ours":
            lines, began = {"ours": [], "base": [], "theirs": []}, line
        elif not after:
            yield Hunk(began, *("\n".join(_cut(lines[name])) for name in ("base", "ours", "theirs")))
        part = after


def _cut(lines: list[str]) -> list[str]:
    left = len(lines) - MOST_LINES
    return lines if left <= 0 else [*lines[:MOST_LINES], f"[... {left} lines left out ...]"]
