"""A dict of lists that is filled with a test for every key uses `setdefault`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.looking import calm, is_empty, same
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

ADDERS = ("append", "add", "extend", "update")


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, statement in enumerate(block):
            following = block[at + 1] if at + 1 < len(block) else None
            match statement:
                case ast.If(test=test, body=[ast.Assign(targets=[ast.Subscript() as made], value=empty)], orelse=[]):
                    owner, key = made.value, made.slice
                    if following is not None and _missing(test, owner, key) and (use := _use(following, owner, key)):
                        yield from _rewrite(subject, [statement, following], owner, key, empty, use)
                case ast.If(test=test, body=[one], orelse=[other]):
                    for first, again, known in ((one, other, False), (other, one, True)):
                        yield from _branches(subject, statement, test, first, again, known)


def _branches(
    subject: Subject, statement: ast.If, test: ast.expr, first: ast.stmt, again: ast.stmt, known: bool
) -> Iterator[Rewrite]:
    match first:
        case ast.Assign(targets=[ast.Subscript(value=owner, slice=key)], value=ast.List(elts=[item])):
            use = _use(again, owner, key)
            right = _present(test, owner, key) if known else _missing(test, owner, key)
            if use and right and use[0] == "append" and same(use[1], item):
                yield from _rewrite(subject, [statement], owner, key, ast.List([], ast.Load()), use)


def _rewrite(
    subject: Subject, old: list[ast.stmt], owner: ast.expr, key: ast.expr, empty: ast.expr, use: tuple[str, ast.expr]
) -> Iterator[Rewrite]:
    kind = "list" if use[0] in ("append", "extend") else "set"
    usual = is_empty(empty, kind) and calm(owner, key, use[1]) and isinstance(owner, ast.Name | ast.Attribute)
    if usual and subject.builtin(kind) and not isinstance(key, ast.Slice):
        new = "[]" if kind == "list" else "set()"
        text = f"{subject.code(owner)}.setdefault({_alone(subject, key)}, {new}).{use[0]}({subject.code(use[1])})"
        yield rewrite((old, text))


def _alone(subject: Subject, key: ast.expr) -> str:
    text = subject.code(key)
    return f"({text})" if isinstance(key, ast.Tuple) and not text.startswith("(") else text


def _use(statement: ast.stmt, owner: ast.expr, key: ast.expr) -> tuple[str, ast.expr] | None:
    """How the value of the key is added to."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Subscript(value=where, slice=what), method), [item], [])):
            if method in ADDERS and _same(where, owner) and same(what, key) and not isinstance(item, ast.Starred):
                return method, item
    return None


def _missing(test: ast.expr, owner: ast.expr, key: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.NotIn()], comparators=[right]):
            return same(left, key) and _owner(right, owner)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _present(inner, owner, key)
    return False


def _present(test: ast.expr, owner: ast.expr, key: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
            return same(left, key) and _owner(right, owner)
    return False


def _owner(node: ast.expr, owner: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[], keywords=[]):
            return _same(inner, owner)
    return _same(node, owner)


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


RULE = Rule("grouping", "One look-up of the key in C does what took two or three.", find)
