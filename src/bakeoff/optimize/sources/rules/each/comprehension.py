"""A loop that only fills a new list or set becomes a comprehension; one that adds whole numbers up, `sum`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import (
    SUSPENDS,
    assignment,
    has,
    is_empty,
    method_call,
    names_in,
    stored,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

Part = ast.For | ast.expr
"""A loop, or the condition of an `if`."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, loop in enumerate(block):
            parts, last = _inside(loop)
            start = _start(block[max(0, at - 4) : at], loop) if parts else None
            made = assignment(start) if start is not None else None
            if start is None or made is None or not _usable(subject, loop, made[0], parts):
                continue
            clauses = " ".join(_clause(subject, each) for each in parts)
            text = _value(subject, made[0], made[1], last, clauses)
            if text is not None:
                yield Rewrite([([start], ""), ([loop], f"{made[0]} = {text}")])


def _start(ahead: list[ast.stmt], loop: ast.stmt) -> ast.stmt | None:
    """The last assignment before a loop of a name that the loop uses, and that nothing between mentions."""
    for back in range(len(ahead) - 1, -1, -1):
        made = assignment(ahead[back])
        if made is not None and made[0] in names_in(loop) - names_in(*ahead[back + 1 :]) and _begins(made[1]):
            return ahead[back]
    return None


def _begins(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or is_empty(value, "list") or is_empty(value, "set")


def _inside(statement: ast.stmt) -> tuple[list[Part], ast.stmt]:
    """Loops and conditions that stand in each other with nothing else, and the statement inside of all."""
    match statement:
        case ast.For(body=[inner], orelse=[]) | ast.If(body=[inner], orelse=[]):
            parts, last = _inside(inner)
            return [statement if isinstance(statement, ast.For) else statement.test, *parts], last
    return [], statement


def _usable(subject: Subject, loop: ast.stmt, name: str, parts: list[Part]) -> bool:
    """Whether the container is nobody else's while it is filled, and the loop's variables end with it."""
    targets = [each.target for each in parts if isinstance(each, ast.For)]
    if not isinstance(loop, ast.For) or has(loop, *SUSPENDS, ast.Lambda, ast.NamedExpr) or subject.caught(loop, name):
        return False
    if any(not isinstance(node, ast.Name | ast.Tuple | ast.Store) for each in targets for node in ast.walk(each)):
        return False
    uses = sum(isinstance(each, ast.Name) and each.id == name for each in ast.walk(loop))
    return uses == 1 and name not in subject.shared and not subject.read_outside(stored(*targets), [loop])


def _clause(subject: Subject, part: Part) -> str:
    node = part.iter if isinstance(part, ast.For) else part
    text = subject.code(node)
    if isinstance(node, ast.IfExp | ast.Tuple) and not text.startswith("("):
        text = f"({text})"
    return f"for {ast.unparse(part.target).strip('()')} in {text}" if isinstance(part, ast.For) else f"if {text}"


def _value(subject: Subject, name: str, first: ast.expr, last: ast.stmt, clauses: str) -> str | None:
    for method, kind, (left, right) in (("append", "list", "[]"), ("add", "set", "{}")):
        call = method_call(last, method) if isinstance(last, ast.Expr) else None
        if call and call[0] == name and len(call[1]) == 1 and is_empty(first, kind) and subject.builtin(kind):
            item = subject.code(call[1][0])
            bare = isinstance(call[1][0], ast.Tuple) and not item.startswith("(")
            return f"{left}({item}) {clauses}{right}" if bare else f"{left}{item} {clauses}{right}"
    match last, first:
        case ast.AugAssign(target=ast.Name(id=found), op=ast.Add(), value=value), ast.Constant(value=int()):
            # Of floats `sum` may round otherwise, and of others it may fail later.
            if found == name and subject.sure(value) == "int" and subject.builtin("sum"):
                rest = "" if subject.code(first) == "0" else f", {subject.code(first)}"
                alone = clauses.startswith(f"for {subject.code(value)} in ") and " if " not in clauses
                items = clauses.partition(" in ")[2] if alone and clauses.count(" for ") == 0 else ""
                return f"sum({items or f'[{subject.code(value)} {clauses}]'}{rest})"
    return None


RULE = Rule(
    "comprehension", "A comprehension appends by one instruction, `sum` adds in C; no method is looked up.", find
)
