"""`for i in range(len(xs))` with `xs[i]` iterates over the items."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text
from bakeoff.optimize.sources.rules.facts.kinds import base
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import length_of, range_of, stored
from bakeoff.optimize.sources.rules.guards import checked, is_a
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node) if subject.builtin("range", "len", "enumerate") else ():
        match node:
            case ast.For(target=ast.Name(id=index), iter=over, orelse=[]) if bounds := range_of(over):
                if xs := _whole(subject, bounds):
                    yield from _rewrite(subject, node, index, xs)


def _whole(subject: Subject, bounds: list[ast.expr]) -> str | None:
    """The list over whose places a range runs."""
    if len(bounds) == 2 and isinstance(bounds[0], ast.Constant) and bounds[0].value == 0:
        bounds = bounds[1:]
    if len(bounds) != 1:
        return None
    match bounds[0]:
        case ast.Name(id=name) if name not in subject.parameters:
            made = [n.value for n in ast.walk(subject.node) if isinstance(n, ast.Assign) and name in stored(*n.targets)]
            xs = length_of(made[0]) if len(made) == len(subject.bindings(name)) == 1 else None
            if xs is None or subject.changed(xs, *subject.node.body):
                return None
            return xs
    return length_of(bounds[0])


def _rewrite(subject: Subject, loop: ast.For, index: str, xs: str) -> Iterator[Rewrite]:
    if subject.changed(xs, *loop.body) or index in stored(*loop.body) or {xs, index} & subject.shared:
        return
    items = ast.Name(xs, ast.Load())
    if xs not in subject.local or base(subject.kind(items)) in ("dict", "Counter", "defaultdict", "deque"):
        return
    reads, others = [], 0
    for node in (each for top in loop.body for each in ast.walk(top)):
        match node:
            case ast.Subscript(ast.Name(id=owner), ast.Name(id=at), ast.Load()) if (owner, at) == (xs, index):
                reads.append(node)
            case ast.Name(id=name) if name == index:
                others += 1
    others -= len(reads)
    if not reads or any(in_text(subject, each) for each in reads) or subject.read_outside([index], [loop]):
        return
    item = subject.fresh(_singular(xs))
    changed: dict[int, str] = {id(each): item for each in reads}
    changed[id(loop.iter)] = f"enumerate({xs})" if others else xs
    changed[id(loop.target)] = f"{index}, {item}" if others else item
    fast = subject.statements([loop], changed)
    kinds = ("list", "tuple", "str")
    sure = subject.sure(items) in kinds
    yield from checked(subject, [loop], "" if sure else is_a(xs, *kinds), fast)


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and len(name) > 2 else f"{name}_item"


RULE = Rule("iterate", "A loop over items takes no index, no bounds check and no second object for every item.", find)
