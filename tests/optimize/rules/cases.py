"""Reads the case files: what a rule makes of a text, what it must leave alone, and calls that both versions answer.

A file is a row of blocks. `#: before` and `#: after` go together, `#: call ...` gives arguments for both, `#: types
xs=list[int]` the types that were seen, and `#: silent why` begins a text that the rule must not touch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"


@dataclass
class Case:
    """One text; `after` is None where the rule must be silent."""

    rule: str
    before: str = ""
    after: str | None = ""
    calls: list[str] = field(default_factory=list)
    types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    why: str = ""

    @property
    def qualname(self) -> str:
        """What is rewritten: `f`, or `A.f`."""
        return "A.f" if "class A:" in self.before else "f"

    def __str__(self) -> str:
        return f"{self.rule} {self.why or self.before.splitlines()[0]}"


def read(path: Path) -> list[Case]:
    """The cases of one file."""
    cases: list[Case] = []
    for block in re.split(r"^#: ", path.read_text(), flags=re.M)[1:]:
        head, _, text = block.partition("\n")
        word, _, rest = head.partition(" ")
        if word == "before":
            cases.append(Case(path.stem, text))
        elif word == "silent":
            cases.append(Case(path.stem, text, None, why=rest))
        elif word == "after":
            cases[-1].after = text
        elif word == "call":
            cases[-1].calls.append(rest)
        elif word == "types":
            cases[-1].types = {n: (t,) for n, t in (pair.split("=") for pair in rest.split("; "))}
            cases[-1].before = cases[-1].before or text
    return cases


def every() -> list[Case]:
    """All cases."""
    return [case for path in sorted(FOLDER.glob("*.cases")) for case in read(path)]
