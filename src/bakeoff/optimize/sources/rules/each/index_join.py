"""A loop in a loop that looks for equal keys becomes a look-up in a dict of the inner items."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.editing_expressions import loops_around
from bakeoff.optimize.sources.rules.joining import Join, alters, conjunction, join_of, several, source_name
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import calm, changed_by_method, changed_in, is_number, names_in, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Items:
    """Iterable of the inner loop: the items that it goes through.

    Attributes:
        source: text of all that any of its runs goes through.
        name: what the dict is called after.
        roots: names that must stay the same.
        start: text of the place from which on this run goes; None: from the first.
        whole: the list whose places are counted from `start`; None: the items are the places.
    """

    source: str
    name: str
    roots: frozenset[str]
    start: str | None = None
    whole: str | None = None


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.For):
            continue
        outers = loops_around(subject, node)
        items = _items(subject, node) if outers else None
        if items is None or subject.read_outside(stored(node.target), [node]):
            continue
        for outer in reversed(outers):
            found = _rewrite(subject, node, outer, items)
            if found is not None:
                yield found
                break


def _items(subject: Subject, loop: ast.For) -> Items | None:
    def steady(name: str) -> bool:
        return name in subject.local and name not in subject.shared

    def listed(node: ast.expr) -> bool:
        return base(subject.kind(node)) not in LAZY | {"dict", "str"}

    plain = source_name(subject, loop.iter)
    if plain is not None:
        return Items(subject.code(loop.iter), plain, frozenset({plain}))
    match loop.iter:
        case ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=xs) as whole], keywords=[]):
            if steady(xs) and listed(whole) and subject.builtin("enumerate"):
                return Items(subject.code(loop.iter), xs, frozenset({xs}))
        case ast.Subscript(value=ast.Name(id=xs) as whole, slice=ast.Slice(lower=ast.expr() as lower, upper=None)):
            usual = isinstance(loop.target, ast.Name) and loop.iter.slice.step is None  # type: ignore[attr-defined]
            if usual and steady(xs) and listed(whole) and _next(lower) and subject.builtin("enumerate"):
                return Items(xs, xs, frozenset({xs}), subject.code(lower), xs)
        case ast.Call(func=ast.Name(id="range"), args=[*first, stop], keywords=[]) if len(first) < 2:
            roots = frozenset(names_in(stop) - {"len"})
            simple = calm(stop) and all(map(steady, roots)) and isinstance(loop.target, ast.Name)
            name = min(roots, default="places")
            if not simple or not subject.builtin("range", "len"):
                return None
            if not first or is_number(first[0], 0):
                return Items(f"range({subject.code(stop)})", name, roots)
            if _next(first[0]):
                return Items(f"range({subject.code(stop)})", name, roots, subject.code(first[0]))
    return None


def _next(node: ast.expr) -> bool:
    """Whether this is `i + 1`, so that it is no place counted from the end."""
    match node:
        case ast.BinOp(left=ast.Name(), op=ast.Add(), right=one):
            return is_number(one, 1)
    return False


def _rewrite(subject: Subject, inner: ast.For, outer: ast.stmt, items: Items) -> Rewrite | None:
    bound, mine = stored(outer), stored(inner.target)
    loads = {each.id for each in ast.walk(inner) if isinstance(each, ast.Name)}
    steady = {each for each in loads - bound if not changed_in(each, outer)} | items.roots
    if any(changed_in(each, outer) for each in items.roots):
        return None
    found = _body(subject, inner, mine, steady)
    if found is None:
        return None
    join, body = found
    ours = set().union(*map(names_in, join.our_nodes))
    if alters(outer, join.nodes, mine) or ours & stored(*inner.body) or not ours & bound:
        return None
    if alters(inner, join.our_nodes, ours) or any(changed_by_method(each, inner) for each in ours):
        return None
    index = subject.fresh(f"{items.name}_by_key")
    target = _plain(inner.target)
    simple = isinstance(inner.target, ast.Name)
    item = target if simple else subject.fresh("item")
    imports: list[str] = []
    look = f"{index}.get({join.ours}, ())"
    source, loop, head = items.source, target, ""
    if items.start is not None:
        line, bisect_left = subject.imported("bisect", "bisect_left")
        imports, places = [line], subject.fresh("places")
        head = f"{places} = {look}\n"
        look = f"{places}[{bisect_left}({places}, {items.start}):]"
        if items.whole is not None:
            at = subject.fresh("at")
            item, loop, source = at, at, f"enumerate({items.whole})"
            body = f"{target} = {items.whole}[{at}]\n{body}"
            target = f"{at}, {target}"
    text = f"{head}for {loop} in {look}:\n{subject.indented(body)}"
    if inner.orelse:
        text += f"\nelse:\n{subject.indented(subject.statements(inner.orelse))}"
    unpack = "" if simple else f"{target} = {item}\n"
    filling = subject.indented(f"{unpack}{join.filling(subject, index, item)}")
    made = f"{index} = {{}}\nfor {target if simple else item} in {source}:\n{filling}"
    changed = subject.statements([outer], {id(inner): text})
    return rewrite(([outer], f"{made}\n{changed}"), imports=imports, assumes=["hashable"])


def _plain(target: ast.expr) -> str:
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) else text


def _body(subject: Subject, inner: ast.For, mine: set[str], steady: set[str]) -> tuple[Join, str] | None:
    """Body of the inner loop: what is asked of each item, and what is done with those that are found."""
    match inner.body:
        case [ast.If(test=test, body=body, orelse=[])]:
            join = join_of(subject, test, mine, steady)
            if join is None or join.rest is None:
                return (join, subject.statements(inner.body)) if join else None
            text = subject.statements(body)
            if join.rest:
                text = f"if {conjunction(subject, join.rest)}:\n{subject.indented(text)}"
            return join, text
        case [ast.If() as chain]:
            tests = _tests(chain)
            join = several(subject, tests, mine, steady) if tests else None
            return (join, subject.statements(inner.body)) if join else None
        case [ast.If(test=ast.Compare(left, [ast.NotEq()], right), body=[ast.Continue()], orelse=[]), *rest] if rest:
            join = join_of(subject, ast.Compare(left, [ast.Eq()], right), mine, steady)
            return (join, subject.statements(rest)) if join else None
        case [ast.If(test=ast.Compare(left, [ast.NotIn()], right), body=[ast.Continue()], orelse=[]), *rest] if rest:
            join = join_of(subject, ast.Compare(left, [ast.In()], right), mine, steady)
            return (join, subject.statements(rest)) if join else None
    return None


def _tests(chain: ast.If) -> list[ast.expr]:
    """The conditions of an `if` with its `elif`; none where an `else` does something for all others."""
    tests = [chain.test]
    while chain.orelse:
        match chain.orelse:
            case [ast.If() as chain]:
                tests.append(chain.test)
            case _:
                return []
    return tests


RULE = Rule("index-join", "A dict finds the partners of an item at once; a loop looks at every pair.", find)
