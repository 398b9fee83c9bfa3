"""A loop that looks for the smallest or largest item becomes `min` or `max`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.looking import assignment, calm, is_number, plain_for, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start, loop in pairwise(block):
            made = assignment(start)
            if made is None or not isinstance(loop, ast.For) or not plain_for(loop):
                continue
            if isinstance(loop.target, ast.Name) and not subject.read_outside(stored(loop.target), [loop]):
                yield from _rewrite(subject, start, loop, *made)


def _rewrite(subject: Subject, start: ast.stmt, loop: ast.For, name: str, value: ast.expr) -> Iterator[Rewrite]:
    assert isinstance(loop.target, ast.Name)
    item = loop.target.id
    empty = isinstance(value, ast.Constant) and value.value is None
    found = _which(subject, loop.body, name, item, empty)
    if found is None or name in subject.shared or item == name or not subject.builtin(found[0]):
        return
    which, imports, key = found
    xs = _whole(loop.iter)
    match value:
        case ast.Subscript(value=ast.Name(id=of), slice=first) if is_number(first, 0) and of == xs and of != name:
            kind = base(subject.kind(ast.Name(of, ast.Load())))
            if kind in ("list", "tuple", None) and of not in subject.shared:
                # The first item is still asked for: of nothing there is no first one, which is another error.
                old = [start, loop] if _filled(subject, start, of) else [loop]
                yield rewrite((old, f"{name} = {which}({xs}{key})"), imports=imports)
        case ast.Constant(value=None) if isinstance(loop.iter, ast.Name) and loop.iter.id != name:
            yield rewrite(([start, loop], f"{name} = {which}({loop.iter.id}{key}, default=None)"), imports=imports)


def _filled(subject: Subject, start: ast.stmt, xs: str) -> bool:
    """Whether a loop that goes on as long as there are items has just begun another round."""
    around = subject.parents[id(start)]
    tests = {xs, *(f"{left}len({xs}){right}" for left, right in (("", ""), ("", " > 0"), ("", " != 0"), ("0 < ", "")))}
    return isinstance(around, ast.While) and around.body[0] is start and ast.unparse(around.test) in tests


def _whole(source: ast.expr) -> str | None:
    match source:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=ast.Constant(1), upper=None, step=None)):
            return name
    return None


def _which(
    subject: Subject, body: list[ast.stmt], name: str, item: str, empty: bool
) -> tuple[str, list[str], str] | None:
    """Which function it is, what it imports, and its key as a further argument."""
    match body:
        case [ast.If(test=test, body=[taken], orelse=[])] if got := assignment(taken):
            if got[0] != name or not isinstance(got[1], ast.Name) or got[1].id != item:
                return None
        case _:
            return None
    if empty:
        match test:
            case ast.BoolOp(ast.Or(), [ast.Compare(ast.Name(id=none), [ast.Is()], [ast.Constant(None)]), test]):
                if none != name:
                    return None
            case _:
                return None
    match test:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.Gt() as op], comparators=[right]):
            less = isinstance(op, ast.Lt)
            for mine, best, which in ((left, right, "min" if less else "max"), (right, left, "max" if less else "min")):
                if _renamed(mine, item, name) == ast.unparse(best) and calm(mine):
                    key = _key(subject, mine, item)
                    return (which, *key) if key is not None else None
    return None


def _renamed(node: ast.expr, old: str, new: str) -> str:
    copy = ast.parse(ast.unparse(node), mode="eval").body
    for each in ast.walk(copy):
        if isinstance(each, ast.Name):
            each.id = new if each.id == old else each.id
    return ast.unparse(copy)


def _key(subject: Subject, node: ast.expr, item: str) -> tuple[list[str], str] | None:
    """Sort key that C can compare by: the item itself, one of its parts, or what a dict says of it."""
    match node:
        case ast.Name(id=found):
            return ([], "") if found == item else None
        case ast.Subscript(value=ast.Name(id=found), slice=ast.Constant(value=part)) if found == item:
            line, getter = subject.imported("operator", "itemgetter")
            return [line], f", key={getter}({part!r})"
        case ast.Attribute(value=ast.Name(id=found), attr=part) if found == item:
            line, getter = subject.imported("operator", "attrgetter")
            return [line], f", key={getter}({part!r})"
        case ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=found)) if found == item and table != item:
            return [], f", key={table}.__getitem__"
        case ast.Call(func=ast.Name(id="len" | "abs" as called), args=[ast.Name(id=found)]) if found == item:
            return [], f", key={called}"
    return None


RULE = Rule("extreme", "The comparison of all items runs in C.", find)
