"""`sum(xs[a:b])` in a loop over windows of `xs` becomes the difference of two running sums."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.kinds import base, element
from bakeoff.optimize.sources.rules.looking import calls, calm
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits: floats are left alone, since differences of sums are rounded otherwise."""
    if not subject.builtin("sum", "len", "min", "max"):
        return
    for node in calls(subject.node):
        match node:
            case ast.Call(
                func=ast.Name(id="sum"),
                args=[
                    ast.Subscript(
                        value=ast.Name(id=xs) as owner,
                        slice=ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper, step=None),
                    )
                ],
                keywords=[],
            ):
                kind = subject.kind(owner)
                whole = base(kind) in ("list", "tuple") and element(kind) in ("int", "bool")
                if not whole or not calm(lower, upper) or in_text(subject, node) or xs in subject.shared:
                    continue
                place = repeating(subject, node, {xs})
                if place is None or xs not in subject.local:
                    continue
                line, accumulate = subject.imported("itertools", "accumulate")
                sums, last = subject.fresh(f"{xs}_sums"), subject.fresh(f"{xs}_length")
                made = f"{sums} = [*{accumulate}({xs}, initial=0)]\n{last} = len({xs})"
                begin = subject.fresh("begin")
                start = f"({begin} := min({subject.code(lower)}, {last}))"
                stop = f"{sums}[max({begin}, min({subject.code(upper)}, {last}))]"
                text = f"(-{sums}[{start}] + {stop})"
                yield rewrite(before(subject, place, made, {id(node): text}), imports=[line])


RULE = Rule("window", "Two look-ups and a subtraction, however wide the window is.", find)
