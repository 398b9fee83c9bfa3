"""A loop that looks for the smallest or largest item becomes `min` or `max`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.looking import assignment, is_number, plain_for, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start, loop in pairwise(block):
            made = assignment(start)
            if (
                made is None
                or not isinstance(loop, ast.For)
                or not plain_for(loop)
                or not isinstance(loop.target, ast.Name)
            ):
                continue
            name, item = made[0], loop.target.id
            match made[1]:
                case ast.Subscript(value=ast.Name(id=xs), slice=first) if is_number(first, 0) and _over(loop.iter, xs):
                    which = _which(loop.body, name, item)
                    kind = base(subject.kind(ast.Name(xs, ast.Load())))
                    usual = kind in ("list", "tuple", None) and {name, xs}.isdisjoint(subject.shared) and name != xs
                    if (
                        which
                        and usual
                        and subject.builtin(which)
                        and not subject.read_outside(stored(loop.target), [loop])
                    ):
                        # The first item is still asked for: of nothing there is no first one, which is another error.
                        yield rewrite(([loop], f"{name} = {which}({xs})"))


def _over(source: ast.expr, xs: str) -> bool:
    match source:
        case ast.Name(id=name):
            return name == xs
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=ast.Constant(1), upper=None, step=None)):
            return name == xs
    return False


def _which(body: list[ast.stmt], name: str, item: str) -> str | None:
    match body:
        case [
            ast.If(
                test=ast.Compare(left=ast.Name(id=left), ops=[op], comparators=[ast.Name(id=right)]),
                body=[taken],
                orelse=[],
            )
        ]:
            got = assignment(taken)
            if not got or got[0] != name or not isinstance(got[1], ast.Name) or got[1].id != item:
                return None
            if (left, right) == (item, name):
                return {ast.Lt: "min", ast.Gt: "max"}.get(type(op))
            if (left, right) == (name, item):
                return {ast.Gt: "min", ast.Lt: "max"}.get(type(op))
    return None


RULE = Rule("extreme", "The comparison of all items runs in C.", find)
