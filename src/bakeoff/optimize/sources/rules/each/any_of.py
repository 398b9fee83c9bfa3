"""`x == 1 or x == 2` becomes `x in (1, 2)`, and several `startswith` one with a tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.looking import calm, same
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.BoolOp):
            continue
        either = isinstance(node.op, ast.Or)
        parts = [_equal(each, ast.Eq if either else ast.NotEq) for each in node.values]
        found = [each for each in parts if each is not None]
        if len(found) == len(parts) >= 3 and all(same(each[0], found[0][0]) for each in found) and calm(found[0][0]):
            values = ", ".join(subject.code(each[1]) for each in found)
            yield from replaced(subject, node, f"{subject.part(found[0][0])} {'in' if either else 'not in'} ({values})")
        tests = [_test(each) for each in node.values] if either else []
        known = [each for each in tests if each is not None]
        if len(known) == len(tests) >= 2 and all(same(each[0], known[0][0]) for each in known) and calm(known[0][0]):
            texts = ", ".join(subject.code(each[1]) for each in known)
            function = known[0][0]
            yield from replaced(subject, node, f"{subject.code(function)}(({texts}))")


def _equal(node: ast.expr, op: type[ast.cmpop]) -> tuple[ast.expr, ast.Constant] | None:
    match node:
        case ast.Compare(left=left, ops=[found], comparators=[ast.Constant(value=str() | int() | bytes()) as right]):
            if type(found) is op and isinstance(left, ast.Name | ast.Attribute | ast.Subscript):
                return left, right
    return None


def _test(node: ast.expr) -> tuple[ast.expr, ast.Constant] | None:
    match node:
        case ast.Call(
            func=ast.Attribute(attr="startswith" | "endswith") as function,
            args=[ast.Constant(str()) as text],
            keywords=[],
        ):
            return function, text
    return None


RULE = Rule("any-of", "One test loads the value once, and goes through the others in C.", find)
