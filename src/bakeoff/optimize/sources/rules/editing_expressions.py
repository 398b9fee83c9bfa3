"""Rewrites that replace expressions inside a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from bakeoff.optimize.sources.rules.rule import Rewrite, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def statement_of(subject: Subject, node: ast.AST) -> ast.stmt | None:
    """The statement that an expression of the function's own frame stands in; None for its own signature."""
    for each in subject.around(node):
        if isinstance(each, ast.stmt):
            return None if each is subject.node else each
    return None


def replaced(subject: Subject, node: ast.expr, text: str) -> Iterator[Rewrite]:
    """One expression replaced by another; none inside an f-string, whose parts have no place of their own."""
    statement = statement_of(subject, node)
    if statement is None or in_text(subject, node):
        return
    yield rewrite(([statement], subject.statements([statement], {id(node): text})))


def in_text(subject: Subject, node: ast.AST) -> bool:
    """Whether an expression is part of an f-string."""
    return any(isinstance(each, ast.JoinedStr) for each in subject.around(node))


def loop_around(subject: Subject, statement: ast.AST) -> ast.stmt | None:
    """The outermost loop of the same frame around a node, or itself."""
    found: ast.stmt | None = statement if isinstance(statement, ast.For | ast.While) else None
    for each in subject.around(statement):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            break
        if isinstance(each, ast.For | ast.While):
            found = each
    return found


def loops_around(subject: Subject, node: ast.AST) -> list[ast.For | ast.While]:
    """All loops of the same frame around a node, innermost first, of which it is not the source."""
    found: list[ast.For | ast.While] = []
    previous = node
    for each in subject.around(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            break
        if isinstance(each, ast.While) or (isinstance(each, ast.For) and previous is not each.iter):
            found.append(each)
        previous = each
    return found


def before(subject: Subject, statement: ast.stmt, new: str, changed: Mapping[int, str]) -> tuple[list[ast.stmt], str]:
    """A statement with others before it, and expressions in it replaced."""
    return [statement], f"{new}\n{subject.statements([statement], changed)}"
