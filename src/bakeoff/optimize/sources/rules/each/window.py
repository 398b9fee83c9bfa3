"""`sum(xs[a:b])` in a loop over windows of `xs` becomes the difference of two running sums."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating, statement_of
from bakeoff.optimize.sources.rules.kinds import base, element
from bakeoff.optimize.sources.rules.looking import assignment, calls, calm
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits: floats are left alone, since differences of sums are rounded otherwise."""
    if not subject.builtin("sum", "len", "min", "max"):
        return
    for node in calls(subject.node):
        found = _summed(subject, node)
        if found is None or in_text(subject, node):
            continue
        owner, lower, upper = found
        xs, kind = owner.id, subject.kind(owner)
        whole = base(kind) in ("list", "tuple") and element(kind) in ("int", "bool")
        if not whole or not calm(lower, upper) or xs in subject.shared or xs not in subject.local:
            continue
        place = repeating(subject, node, {xs})
        if place is None:
            continue
        line, accumulate = subject.imported("itertools", "accumulate")
        sums, last = subject.fresh(f"{xs}_sums"), subject.fresh(f"{xs}_length")
        made = f"{sums} = [*{accumulate}({xs}, initial=0)]\n{last} = len({xs})"
        begin = subject.fresh("begin")
        start = f"({begin} := min({subject.code(lower)}, {last}))"
        stop = f"{sums}[max({begin}, min({subject.code(upper)}, {last}))]"
        text = f"(-{sums}[{start}] + {stop})"
        yield rewrite(before(subject, place, made, {id(node): text}), imports=[line])


def _summed(subject: Subject, node: ast.Call) -> tuple[ast.Name, ast.expr, ast.expr] | None:
    """The list and both ends in `sum(xs[a:b])`, also where the window got a name right before."""
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[window], keywords=[]):
            if isinstance(window, ast.Name):
                window = _named(subject, node, window.id) or window
            match window:
                case ast.Subscript(
                    value=ast.Name() as owner,
                    slice=ast.Slice(lower=ast.expr() as low, upper=ast.expr() as up, step=None),
                ):
                    return owner, low, up
    return None


def _named(subject: Subject, node: ast.Call, name: str) -> ast.expr | None:
    """The slice that the statement right before this one gives a name, which nothing else changes."""
    statement = statement_of(subject, node)
    for block in subject.blocks():
        for one, two in pairwise(block):
            made = assignment(one)
            if two is statement and made and made[0] == name and name not in subject.shared:
                return made[1]
    return None


RULE = Rule("window", "Two look-ups and a subtraction, however wide the window is.", find)
