"""A list that is searched again and again, and does not change meanwhile, becomes a set before the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.facts.kinds import base
from bakeoff.optimize.sources.rules.facts.purity import touched
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import assignment, stored
from bakeoff.optimize.sources.rules.guards import is_a, is_method
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

KNOWN = {"list", "tuple", "Sequence", "Iterable", None}
UNHASHABLE = {"list", "dict", "set"}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if not subject.builtin("set", "getattr"):
        return
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Compare) and _open(subject, node) and base(subject.kind(node.left)) not in UNHASHABLE:
            match node.ops, node.comparators:
                case [ast.In() | ast.NotIn()], [ast.Name() | ast.Attribute(value=ast.Name()) as right]:
                    yield from _searched(subject, node, right)


def _open(subject: Subject, node: ast.Compare) -> bool:
    """Whether a search may be changed: it is part of no f-string, and of no guard."""
    above = subject.parents[id(node)]
    return not in_text(subject, node) and not (isinstance(above, ast.IfExp) and above.test is not node)


def _searched(subject: Subject, node: ast.Compare, right: ast.Name | ast.Attribute) -> Iterator[Rewrite]:
    kind = base(subject.kind(right))
    place = _place(subject, node, right) if kind in KNOWN else None
    if place is None:
        return
    code = subject.code(right)
    index = subject.fresh(f"{right.id if isinstance(right, ast.Name) else right.attr}_set")
    searches = [
        each
        for each in ast.walk(place)
        if isinstance(each, ast.Compare) and len(each.ops) == 1 and isinstance(each.ops[0], ast.In | ast.NotIn)
        if ast.dump(each.comparators[0]) == ast.dump(right) and _open(subject, each)
    ]
    changed = searched(subject, searches, index, code)
    at_hand = code if isinstance(right, ast.Name) else f"getattr({ast.unparse(right.value)}, {right.attr!r}, None)"
    yield Rewrite([before(subject, place, f"{index} = _as_set({at_hand})", changed)])


def searched(subject: Subject, searches: list[ast.Compare], index: str, items: str) -> dict[int, str]:
    """Searches in a set in place of a list."""
    changed: dict[int, str] = {}
    for each in searches:
        negated, left = "not " if isinstance(each.ops[0], ast.NotIn) else "", subject.code(each.left)
        text = f"{negated}_has({index}, {left}, {items})"
        if isinstance(each.left, ast.Name) and items.isidentifier():  # the usual types without a call
            text = f"({left} {negated}in {index} if {is_a(left, 'str', 'int')} else {text})"
        changed[id(each)] = text
    return changed


def _place(subject: Subject, node: ast.Compare, right: ast.Name | ast.Attribute) -> ast.stmt | None:
    """The outermost statement that searches the list again and again while it stays the same."""
    if isinstance(right, ast.Name):
        name = right.id
        place = repeating(subject, node, {name}) if name in subject.local - subject.shared else None
        return place if place is not None and bound_before(subject, name, place) else None
    assert isinstance(right.value, ast.Name)
    owner, part = right.value.id, f"{right.value.id}.{right.attr}"

    def alters(place: ast.AST) -> bool:
        changed = subject.changes(place)
        return owner in stored(place) or touched(changed, {part}) or owner in (changed or ())

    plain = owner == "self" and subject.home and not is_method(subject, right.attr)
    return repeating(subject, node, {owner}, alters) if plain else None


def bound_before(subject: Subject, name: str, place: ast.stmt) -> bool:
    """Whether a name has a value before a statement, which does not change it."""
    if name in subject.parameters:
        return True
    made = [node for block in subject.blocks() for node in block if (found := assignment(node)) and found[0] == name]
    return any(node.lineno < place.lineno for node in made) and not subject.changed(name, place)


RULE = Rule("membership-set", "A set answers `in` in constant time; making it costs one pass over the list.", find)
