"""The map of errors in the documents is whole: every error for people stands there, and nothing else does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TOP = Path(__file__).parents[1]


def errors_for_people() -> set[str]:
    """Names of `BakeoffError` and all classes below it."""
    bases: dict[str, set[str]] = {}
    for file in (TOP / "src/bakeoff").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                bases.setdefault(node.name, set()).update(base.id for base in node.bases if isinstance(base, ast.Name))
    found = {"BakeoffError"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def test_every_error_is_in_the_map() -> None:
    rows = [line for line in (TOP / "docs/errors.md").read_text().splitlines() if line.startswith("| ")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    assert named == errors_for_people()
