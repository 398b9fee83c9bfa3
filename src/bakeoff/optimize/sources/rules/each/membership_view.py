"""`in list(d.keys())` becomes `in d.keys()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.guards import HAS, hashable
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Compare(
                left=left,
                ops=[ast.In() | ast.NotIn() as op],
                comparators=[ast.Call(func=ast.Name(id="list" | "tuple" as name), args=[inner], keywords=[]) as right],
            ) if subject.builtin(name) and (_is_view(inner) or subject.sure(inner) in ("dict", "set", "frozenset")):
                statement = statement_of(subject, node)
                if statement is None or in_text(subject, node):
                    continue
                if hashable(subject, [left]):
                    yield Rewrite([([statement], subject.statements([statement], {id(right): subject.part(inner)}))])
                else:
                    negated = "not " if isinstance(op, ast.NotIn) else ""
                    text = f"{negated}_has({subject.code(inner)}, {subject.code(left)})"
                    yield Rewrite([([statement], subject.statements([statement], {id(node): text}))], helpers=[HAS])


def _is_view(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="keys"), args=[], keywords=[]):
            return True
    return False


RULE = Rule("membership-view", "The dict answers itself; no copy of its keys is made first.", find)
