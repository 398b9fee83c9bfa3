"""`xs.count(x)` in a loop in which `xs` stays as it is becomes a look-up in counts that were made once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import calls, calm, names_in
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

COUNTABLE = {"list", "tuple", "deque", None}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    found: dict[tuple[str, int], list[ast.Call]] = {}
    for node in calls(subject.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=xs)), args=[sought], keywords=[]):
                place = repeating(subject, node, {xs}) if _countable(subject, node, sought) else None
                if place is not None:
                    found.setdefault((xs, id(place)), []).append(node)
    for (xs, _), nodes in found.items():
        place = repeating(subject, nodes[0], {xs})
        assert place is not None
        line, counter = subject.imported("collections", "Counter")
        counts = subject.fresh(f"{xs}_counts")
        changed = {id(each): f"{counts}[{subject.code(each.args[0])}]" for each in nodes}
        known = all(subject.kind(each.args[0]) in ("int", "str") for each in nodes)
        made = before(subject, place, f"{counts} = {counter}({xs})", changed)
        yield rewrite(made, imports=[line], assumes=() if known else ("hashable",))


def _countable(subject: Subject, node: ast.Call, sought: ast.expr) -> bool:
    """Whether it counts what a Counter counts."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=xs) as owner, attr="count"):
            kind, one = subject.kind(owner), subject.kind(sought)
            if not calm(sought) or in_text(subject, node) or xs not in subject.local or xs in subject.shared:
                return False
            if {base(element(kind)), base(one)} & (UNHASHABLE | {"float"}):
                return False
            known = base(kind) in COUNTABLE and not (kind is None and one == "str")
            # A text counts parts; but its own characters are counted alike.
            return known or _is_item(subject, node, xs, sought)
    return False


def _is_item(subject: Subject, node: ast.Call, xs: str, sought: ast.expr) -> bool:
    """Whether it is an item of the list itself, or of its set, that is counted, for each of them."""
    for each in subject.around(node):
        generators = [each] if isinstance(each, ast.For) else getattr(each, "generators", [])
        for one in generators:
            if isinstance(sought, ast.Name) and sought.id in names_in(one.target):
                return _of(one.iter, xs)
    return False


def _of(source: ast.expr, xs: str) -> bool:
    match source:
        case ast.Name(id=name):
            return name == xs
        case ast.Call(func=ast.Name(id="set" | "sorted" | "enumerate" | "list" | "reversed"), args=[inner, *_]):
            return _of(inner, xs)
    return False


RULE = Rule("counts", "All are counted in one pass; `count` goes through the whole list for each.", find)
