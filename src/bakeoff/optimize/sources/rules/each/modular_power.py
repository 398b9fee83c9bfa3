"""`a ** b % m` becomes `pow(a, b, m)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.BinOp(left=ast.BinOp(left=a, op=ast.Pow(), right=b), op=ast.Mod(), right=m):
                yield from _rewrite(subject, node, a, b, m)
            case ast.BinOp(left=ast.Call(func=ast.Name(id="pow"), args=[a, b], keywords=[]), op=ast.Mod(), right=m):
                yield from _rewrite(subject, node, a, b, m)


def _rewrite(subject: Subject, node: ast.expr, a: ast.expr, b: ast.expr, m: ast.expr) -> Iterator[Rewrite]:
    kinds = [subject.kind(each) for each in (a, b, m)]
    negative = isinstance(b, ast.UnaryOp) and isinstance(b.op, ast.USub)
    small = isinstance(b, ast.Constant) and type(b.value) is int and b.value < 4
    if subject.builtin("pow") and all(each in ("int", None) for each in kinds) and not negative and not small:
        yield from replaced(subject, node, f"pow({subject.code(a)}, {subject.code(b)}, {subject.code(m)})")


RULE = Rule("modular-power", "pow with a modulus never makes the huge power; its numbers stay small.", find)
