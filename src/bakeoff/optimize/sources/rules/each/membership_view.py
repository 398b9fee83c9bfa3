"""`in list(d.keys())` becomes `in d.keys()`, where keys and what is looked for are of plain types."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.guards import is_a
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

KEYS = re.compile(r"(dict|set|frozenset)\[(str|int|bytes|bool|float)\b")
"""Kinds with keys that are equal to just what their hash tells."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Compare(
                left=left,
                ops=[ast.In() | ast.NotIn() as op],
                comparators=[ast.Call(func=ast.Name(id="list" | "tuple" as name), args=[inner], keywords=[])],
            ) if subject.builtin(name, "type") and isinstance(left, ast.Name | ast.Constant):
                statement, owner = statement_of(subject, node), _owner(inner)
                if statement is None or in_text(subject, node) or isinstance(subject.parents[id(node)], ast.IfExp):
                    continue
                if isinstance(owner, ast.Name) and KEYS.match(subject.certain(owner) or ""):
                    known = is_a(owner.id, "dict", "set", "frozenset")
                    word = "not in" if isinstance(op, ast.NotIn) else "in"
                    quick = f"{subject.code(left)} {word} {subject.code(inner)}"
                    text = f"({quick} if ({known}) and _exact({subject.code(left)}) else {subject.code(node)})"
                    changed = subject.statements([statement], {id(node): text})
                    yield Rewrite([([statement], changed)])


def _owner(node: ast.expr) -> ast.expr:
    """The dict whose keys are meant."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="keys"), args=[], keywords=[]):
            return owner
    return node


RULE = Rule("membership-view", "The dict answers itself; no copy of its keys is made first.", find)
