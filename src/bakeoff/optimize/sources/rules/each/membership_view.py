"""`in d.keys()` and `in list(d)` become `in d`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject

ORDINARY = {"list", "tuple", "dict", "set", "frozenset", "range", "Counter", "defaultdict", "deque"}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
                inner = _inner(subject, right)
                if inner is not None:
                    yield from replaced(subject, right, subject.part(inner))
            case ast.Call(
                func=ast.Name(id="len" | "sorted" | "list" | "set" | "tuple" | "min" | "max" | "enumerate"),
                args=[right],
                keywords=[],
            ):
                inner = _keys(right)
                if inner is not None and base(subject.kind(inner)) in ("dict", "Counter", "defaultdict"):
                    yield from replaced(subject, right, subject.part(inner))


def _keys(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[], keywords=[]):
            return inner
    return None


def _inner(subject: Subject, right: ast.expr) -> ast.expr | None:
    if (inner := _keys(right)) is not None:
        return inner
    match right:
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted" as name), args=[inner], keywords=[]) if (
            subject.builtin(name)
        ):
            keys = _keys(inner)
            if keys is not None:
                return keys
            return inner if base(subject.kind(inner)) in ORDINARY else None
    return None


RULE = Rule("membership-view", "The dict answers itself; no view or copy of its keys is made first.", find)
