"""A unified diff as HTML: a part for each file that can be folded, added and deleted lines on grounds of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bakeoff.report.escape import markup

MOST = 20_000
"""Lines that are shown; the rest is counted."""

MOST_OPEN = 1_000
"""Lines up to which files are unfolded; the first one is in any case."""


SAID_BY_THE_NAME = ("diff --git ", "index ", "--- ", "+++ ")
"""Beginnings of lines above the first hunk that are left out: the part's heading has the file's name."""


@dataclass(slots=True)
class _File:
    """One file of a diff: its lines, each with its class and its text, and what they add and take away."""

    name: str
    lines: list[tuple[str, str]] = field(default_factory=list)
    added: int = 0
    deleted: int = 0


def diff_markup(text: str) -> str:
    """The diff, escaped."""
    lines = text.splitlines()
    parts, shown = [], 0
    for file in _files(lines[:MOST]):
        parts.append(_markup(file, opened=shown == 0 or shown + len(file.lines) <= MOST_OPEN))
        shown += len(file.lines)
    if len(lines) > MOST:
        parts.append(f'<p class="quiet">and {len(lines) - MOST:,} lines more</p>')
    return "".join(parts)


def _files(lines: list[str]) -> Iterator[_File]:
    file, inside = _File(""), False
    for line in lines:
        if line.startswith("diff --git "):
            if file.name or file.lines:
                yield file
            file, inside = _File(_both(line.removeprefix("diff --git "))), False
        if line.startswith("@@"):
            inside = True
        elif not inside and line.startswith(("--- ", "+++ ")):
            file.name = _named(file.name, line[4:])
        if not inside and line.startswith(SAID_BY_THE_NAME):
            continue
        kind = {"+": "added", "-": "deleted", " ": ""}.get(line[:1], "hunk") if inside else "hunk"
        file.added += kind == "added"
        file.deleted += kind == "deleted"
        file.lines.append((kind, line))
    if file.name or file.lines:
        yield file


def _both(names: str) -> str:
    """The name behind `diff --git`: one where it is twice the same."""
    half = names[: (len(names) - 1) // 2]
    return half[2:] if half[:2] == "a/" and names == f"{half} b/{half[2:]}" else names


def _named(before: str, path: str) -> str:
    """The file's name by what stands behind `---` or `+++`; `/dev/null` names none."""
    return before if path == "/dev/null" else path.removeprefix("a/").removeprefix("b/")


def _markup(file: _File, opened: bool) -> str:
    rows = "".join(
        f'<span class="{kind}">{markup(line)}</span>' if kind else f"<span>{markup(line)}</span>"
        for kind, line in file.lines
    )
    return (
        f'<details class="diff"{" open" if opened else ""}><summary>{markup(file.name)} '
        f'<span class="more-lines">+{file.added:,}</span> <span class="fewer-lines">-{file.deleted:,}</span></summary>'
        f"<pre>{rows}</pre></details>\n"
    )
