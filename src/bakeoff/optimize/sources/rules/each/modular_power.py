"""`a ** b % m` becomes `pow(a, b, m)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.guards import is_original
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


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
    small = isinstance(b, ast.Constant) and type(b.value) is int and b.value < 4
    plain = all(isinstance(each, ast.Name | ast.Constant) for each in (a, b, m))
    fits = plain and not small and all(each in ("int", None) for each in kinds)
    if fits and subject.builtin("pow") and not is_original(subject, node):
        texts = [subject.code(each) for each in (a, b, m)]
        # Also where `int` is said: numbers of numpy are given there.
        unsure = [f"type({text}) is int" for text in texts if text.isidentifier()]
        safe = [f"{texts[1]} >= 0", f"{texts[2]} != 0"]
        text = f"pow({', '.join(texts)}) if {' and '.join([*unsure, *safe])} else {subject.code(node)}"
        returned = isinstance(subject.parents.get(id(node)), ast.Return)
        yield from replaced(subject, node, text if returned else f"({text})")


RULE = Rule("modular-power", "pow with a modulus never makes the huge power; its numbers stay small.", find)
