"""A dict of lists that is filled with a test for every key becomes a defaultdict, or uses `setdefault`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bakeoff.optimize.sources.rules.collecting import starts
from bakeoff.optimize.sources.rules.looking import assignment, calm, is_empty, same
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Site:
    """Statements that make sure of a key and add to its value."""

    old: list[ast.stmt]
    owner: ast.expr
    key: ast.expr
    empty: ast.expr
    method: str
    item: ast.expr


ADDERS = ("append", "add", "extend", "update")


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    sites = list(_sites(subject))
    for block in subject.blocks():
        for start, loop in starts(block):
            made = assignment(start)
            if (
                made
                and is_empty(made[1], "dict")
                and not subject.caught(loop, made[0])
                and made[0] not in subject.shared
            ):
                yield from _whole(subject, start, loop, made[0], sites)
    for site in sites:
        kind = _kind(subject, site)
        if kind:
            new = "[]" if kind == "list" else "set()"
            head = f"{subject.code(site.owner)}.setdefault({_alone(subject, site.key)}, {new})"
            yield rewrite((site.old, f"{head}.{site.method}({subject.code(site.item)})"))


def _whole(subject: Subject, start: ast.stmt, loop: ast.For, name: str, sites: list[Site]) -> Iterator[Rewrite]:
    """The dict is filled by this loop alone: it is a defaultdict for as long as that takes."""
    inside = {id(node) for node in ast.walk(loop)}
    changed: dict[int, str] = {}
    accounted: set[int] = set()
    kinds: set[str | None] = set()
    for site in sites:
        if id(site.old[0]) in inside and isinstance(site.owner, ast.Name) and site.owner.id == name:
            kinds.add(_kind(subject, site))
            changed[id(site.old[0])] = f"{name}[{subject.code(site.key)}].{site.method}({subject.code(site.item)})"
            changed |= {id(each): "" for each in site.old[1:]}
            accounted |= {id(node) for each in site.old for node in ast.walk(each)}
    every = {id(node) for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == name}
    if len(kinds) == 1 and None not in kinds and every <= accounted and subject.builtin("dict"):
        line, maker = subject.imported("collections", "defaultdict")
        text = f"{subject.statements([loop], changed)}\n{name} = dict({name})"
        yield rewrite(([start], f"{name} = {maker}({kinds.pop()})"), ([loop], text), imports=[line])


def _sites(subject: Subject) -> Iterator[Site]:
    for block in subject.blocks():
        for statement, following in pairwise([*block, None]):
            match statement:
                case ast.If(test=test, body=[ast.Assign(targets=[ast.Subscript() as made], value=empty)], orelse=[]):
                    use = _use(following, made.value, made.slice) if following else None
                    if following and use and _missing(test, made.value, made.slice):
                        yield Site([statement, following], made.value, made.slice, empty, *use)
                case ast.If(test=test, body=[one], orelse=[other]):
                    for first, again, known in ((one, other, False), (other, one, True)):
                        yield from _branches(statement, test, first, again, known)


def _branches(statement: ast.If, test: ast.expr, first: ast.stmt, again: ast.stmt, known: bool) -> Iterator[Site]:
    match first:
        case ast.Assign(targets=[ast.Subscript(value=owner, slice=key)], value=ast.List(elts=[item])):
            use = _use(again, owner, key)
            right = _present(test, owner, key) if known else _missing(test, owner, key)
            if use and right and use[0] == "append" and same(use[1], item):
                yield Site([statement], owner, key, ast.List([], ast.Load()), *use)


def _kind(subject: Subject, site: Site) -> str | None:
    """Kind of container in the dict: lists or sets; None where evaluating less, or in another order, could show."""
    kind = "list" if site.method in ("append", "extend") else "set"
    usual = is_empty(site.empty, kind) and calm(site.owner, site.key, site.item)
    usual = usual and isinstance(site.owner, ast.Name | ast.Attribute) and not isinstance(site.key, ast.Slice)
    return kind if usual and subject.builtin(kind) else None


def _alone(subject: Subject, key: ast.expr) -> str:
    text = subject.code(key)
    return f"({text})" if isinstance(key, ast.Tuple) and not text.startswith("(") else text


def _use(statement: ast.stmt, owner: ast.expr, key: ast.expr) -> tuple[str, ast.expr] | None:
    """Method by which the value of the key is added to, and what is added."""
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


RULE = Rule("grouping", "A missing key is made in C, with one look-up where there were two or three.", find)
