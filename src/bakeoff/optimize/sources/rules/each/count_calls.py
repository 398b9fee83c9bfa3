"""`xs.count(x)` for every item becomes one look-up in a Counter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, statement_of
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import changed_in, names_in
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=xs) as whole, attr="count"), args=[ast.Name(id=item)], keywords=[]
            ):
                place = _place(subject, node, xs, item)
                kind = subject.kind(whole)
                if place is None or xs in subject.shared or xs not in subject.local or in_text(subject, node):
                    continue
                if base(kind) not in ("list", "tuple", "str", None) or base(element(kind)) in UNHASHABLE | {"float"}:
                    continue
                if changed_in(xs, place):
                    continue
                line, counter = subject.imported("collections", "Counter")
                counts = subject.fresh(f"{xs}_counts")
                calls = [
                    each for each in ast.walk(place) if isinstance(each, ast.Call) and ast.dump(each) == ast.dump(node)
                ]
                changed = {id(each): f"{counts}[{item}]" for each in calls}
                assumes = [] if element(kind) in ("int", "str") else ["hashable"]
                yield rewrite(
                    before(subject, place, f"{counts} = {counter}({xs})", changed), imports=[line], assumes=assumes
                )


def _place(subject: Subject, node: ast.Call, xs: str, item: str) -> ast.stmt | None:
    """Where an item of the list itself, or of its set, is counted for each of them."""
    for each in subject.around(node):
        match each:
            case ast.For(target=target, iter=source) if item in names_in(target):
                return each if _of(source, xs) else None
            case ast.ListComp(generators=[one]) | ast.SetComp(generators=[one]) | ast.GeneratorExp(generators=[one]):
                if item in names_in(one.target):
                    return statement_of(subject, node) if _of(one.iter, xs) else None
            case ast.DictComp(generators=[one]) if item in names_in(one.target):
                return statement_of(subject, node) if _of(one.iter, xs) else None
    return None


def _of(source: ast.expr, xs: str) -> bool:
    match source:
        case ast.Name(id=name):
            return name == xs
        case ast.Call(func=ast.Name(id="set" | "sorted" | "enumerate" | "list" | "reversed"), args=[inner, *_]):
            return _of(inner, xs)
    return False


RULE = Rule("count-calls", "All items are counted in one pass; a call of count takes a pass for each.", find)
