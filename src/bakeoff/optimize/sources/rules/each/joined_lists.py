"""`sum(lists, [])` puts the items of each list into one list, which is not copied each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

ADDED = '''def _added(lists):
    """The sum of lists; from the first thing on that is none, whatever adding gives."""
    found, rest = [], iter(lists)
    for each in rest:
        if type(each) is not list:
            return sum(rest, found + each)
        found += each
    return found'''


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(func=ast.Name(id="sum"), args=[lists, ast.List(elts=[])], keywords=[]) if subject.builtin(
                "sum", "iter"
            ) and not isinstance(lists, ast.Starred):
                text = subject.code(lists)
                bare = isinstance(lists, ast.GeneratorExp) and not text.startswith("(")
                for each in replaced(subject, node, f"_added({f'({text})' if bare else text})"):
                    yield Rewrite(each.replacements, helpers=[ADDED])


RULE = Rule("joined-lists", "Adding a list to a sum copies all that was added before.", find)
