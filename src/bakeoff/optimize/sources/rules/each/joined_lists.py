"""`sum(lists, [])` puts the items of each list into one list, which is not copied each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(func=ast.Name(id="sum"), args=[lists, ast.List(elts=[])], keywords=[]) if subject.builtin(
                "sum", "iter"
            ) and not isinstance(lists, ast.Starred):
                text = subject.code(lists)
                bare = isinstance(lists, ast.GeneratorExp) and not text.startswith("(")
                yield from replaced(subject, node, f"_added({f'({text})' if bare else text})")


RULE = Rule("joined-lists", "Adding a list to a sum copies all that was added before.", find)
