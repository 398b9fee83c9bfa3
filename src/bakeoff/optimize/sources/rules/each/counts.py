"""`xs.count(x)` in a loop in which `xs` stays as it is becomes a look-up in counts that were made once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.each.membership_set import bound_before
from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.facts.kinds import base
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import calls, calm
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

COUNTABLE = {"list", "tuple", None}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    found: dict[tuple[str, int], tuple[ast.stmt, list[ast.Call]]] = {}
    for node in calls(subject.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=xs)), args=[sought], keywords=[]):
                place = repeating(subject, node, {xs}) if _countable(subject, node, sought) else None
                if place is not None and bound_before(subject, xs, place):
                    found.setdefault((xs, id(place)), (place, []))[1].append(node)
    for (xs, _), (place, nodes) in found.items():
        counts = subject.fresh(f"{xs}_counts")
        changed = {id(each): f"_count({counts}, {subject.code(each.args[0])}, {xs})" for each in nodes}
        yield Rewrite([before(subject, place, f"{counts} = _counted({xs})", changed)])


def _countable(subject: Subject, node: ast.Call, sought: ast.expr) -> bool:
    """Whether it counts what a Counter counts."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=xs) as owner, attr="count"):
            mine = xs in subject.local and xs not in subject.shared
            return mine and base(subject.kind(owner)) in COUNTABLE and calm(sought) and not in_text(subject, node)
    return False


RULE = Rule("counts", "All are counted in one pass; `count` goes through the whole list for each.", find)
