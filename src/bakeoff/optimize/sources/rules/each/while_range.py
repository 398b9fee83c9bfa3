"""A `while` that counts up to a bound becomes a `for` over a range."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.looking import assignment, calm, changed_in, is_number, names_in, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start, loop in pairwise(block):
            made = assignment(start)
            if made is None or not isinstance(loop, ast.While) or loop.orelse or not subject.builtin("range"):
                continue
            name, first = made
            match loop.test:
                case ast.Compare(left=ast.Name(id=left), ops=[ast.Lt() | ast.LtE() as op], comparators=[bound]) if (
                    left == name
                ):
                    if _counts(subject, loop, name, first, bound):
                        last = subject.code(bound) if isinstance(op, ast.Lt) else f"{subject.part(bound)} + 1"
                        head = last if is_number(first, 0) else f"{subject.code(first)}, {last}"
                        body = subject.indented(subject.statements(loop.body[:-1]))
                        yield rewrite(([start, loop], f"for {name} in range({head}):\n{body}"))


def _counts(subject: Subject, loop: ast.While, name: str, first: ast.expr, bound: ast.expr) -> bool:
    """Whether the last statement alone counts, always, and the bound stays the same whole number."""
    *body, last = loop.body
    plus = isinstance(last, ast.AugAssign) and isinstance(last.op, ast.Add) and is_number(last.value, 1)
    if not plus or not isinstance(last.target, ast.Name) or last.target.id != name or not body:  # type: ignore[attr-defined]
        return False
    if name in stored(*body) or name in subject.shared or _continues(body) or name in names_in(bound):
        return False
    whole = subject.kind(bound) == "int" or isinstance(bound, ast.Name)
    if isinstance(bound, ast.Name) and subject.kind(bound) not in ("int", None):
        return False
    starts = (isinstance(first, ast.Constant) and type(first.value) is int) or subject.kind(first) == "int"
    if not whole or not starts or not calm(bound):
        return False
    return not any(changed_in(each, *body) for each in names_in(bound)) and not subject.read_outside([name], [loop])


def _continues(body: list[ast.stmt]) -> bool:
    for statement in body:
        if isinstance(statement, ast.Continue):
            return True
        if isinstance(statement, ast.For | ast.While):
            continue
        if any(isinstance(each, ast.Continue) for each in ast.walk(statement)):
            return True
    return False


RULE = Rule("count-range", "A range counts in C; a `while` loads, compares and adds in bytecode.", find)
