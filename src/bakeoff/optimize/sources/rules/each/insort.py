"""A sorted list to which something is added and that is sorted again has it put in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.editing_expressions import loops_around
from bakeoff.optimize.sources.rules.looking import assignment, is_empty, is_number, method_call
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        yield from _scanned(subject, block)
        for one, two in pairwise(block):
            added, ordered = method_call(one, "append"), method_call(two, "sort")
            if added is None or ordered is None or not isinstance(one, ast.Expr) or not isinstance(two, ast.Expr):
                continue
            (xs, arguments), (other, none) = added, ordered
            if xs != other or len(arguments) != 1 or none or not loops_around(subject, one):
                continue
            if not _begins_sorted(subject, xs) or len(_appends(subject, xs)) != 1:
                continue
            line, insort = subject.imported("bisect", "insort")
            text = f"{insort}({xs}, {subject.code(arguments[0])})"
            yield rewrite(([one, two], text), imports=[line], assumes=["total order"])


def _scanned(subject: Subject, block: list[ast.stmt]) -> Iterator[Rewrite]:
    """The place is counted out: `i = 0`, `while i < len(xs) and xs[i] < x: i += 1`, `xs.insert(i, x)`."""
    for one, loop, two in zip(block, block[1:], block[2:], strict=False):
        begun, inserted = assignment(one), method_call(two, "insert")
        if begun is None or inserted is None or not is_number(begun[1], 0) or not isinstance(loop, ast.While):
            continue
        i, (xs, arguments) = begun[0], inserted
        if len(arguments) != 2 or ast.unparse(arguments[0]) != i or not isinstance(arguments[1], ast.Name):
            continue
        item = arguments[1].id
        inside, there = f"{i} < len({xs}) and ", f"{xs}[{i}]"
        sign = {
            f"{inside}{there} < {item}": "<",
            f"{inside}{item} > {there}": "<",
            f"{inside}{there} <= {item}": "<=",
            f"{inside}{item} >= {there}": "<=",
        }.get(ast.unparse(loop.test))
        counted = len(loop.body) == 1 and not loop.orelse and ast.unparse(loop.body[0]) == f"{i} += 1"
        alone = _begins_sorted(subject, xs) and len(_appends(subject, xs)) == 1 and loops_around(subject, one)
        if sign and counted and alone and not subject.read_outside([i], [one, loop, two]):
            line, insort = subject.imported("bisect", "insort_left" if sign == "<" else "insort")
            text = f"{insort}({xs}, {subject.code(arguments[1])})"
            yield rewrite(([one, loop, two], text), imports=[line], assumes=["total order"])


def _begins_sorted(subject: Subject, xs: str) -> bool:
    """Whether all that is ever bound to the name is sorted."""
    values = [found[1] for node in ast.walk(subject.node) if (found := assignment(node)) and found[0] == xs]
    stores = [
        node
        for node in ast.walk(subject.node)
        if isinstance(node, ast.Name) and node.id == xs and not isinstance(node.ctx, ast.Load)
    ]
    ordered = [is_empty(each, "list") or _is_sorted(each) or _is_single(each) for each in values]
    return xs not in subject.parameters and bool(values) and all(ordered) and len(stores) == len(values)


def _is_sorted(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="sorted"), keywords=[]):
            return True
    return False


def _is_single(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and len(node.elts) == 1 and not isinstance(node.elts[0], ast.Starred)


def _appends(subject: Subject, xs: str) -> list[ast.AST]:
    adding = ("append", "extend", "insert", "reverse")
    return [node for node in ast.walk(subject.node) if isinstance(node, ast.Call) and _adds(node, xs, adding)]


def _adds(node: ast.Call, xs: str, adding: tuple[str, ...]) -> bool:
    found = method_call(node, *adding)
    return found is not None and found[0] == xs


RULE = Rule("insort", "Its place is found in log n comparisons; sorting looks at the whole list again.", find)
