"""A comprehension that picks the items with one key, again and again, takes them from a dict of all keys."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, before, in_text, repeating
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import calm, names_in, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

_NONE = "_no_condition_is_left_"
_NO_CONDITION = re.compile(rf"\s+if\s+{_NONE}")


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                for generator in node.generators:
                    match generator:
                        case ast.comprehension(iter=ast.Name() as items, ifs=[test, *_], is_async=0):
                            yield from _rewrite(subject, node, generator.target, items, test)


def _rewrite(subject: Subject, node: ast.expr, target: ast.expr, items: ast.Name, test: ast.expr) -> Iterator[Rewrite]:
    first, rest = (
        (test.values[0], test.values[1:])
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        else (test, [])
    )
    mine = stored(target)
    keys = _keys(first, mine)
    plain = isinstance(target, ast.Name) or (
        isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts)
    )
    if keys is None or not plain or not calm(*keys) or in_text(subject, node) or items.id in subject.shared:
        return
    theirs, ours = keys
    if base(subject.kind(items)) in LAZY | {"dict", "str"} or "float" in (subject.kind(ours), subject.kind(theirs)):
        return
    place = repeating(subject, node, {items.id} | (names_in(theirs) - mine))
    if place is None or mine & _bound_outside(subject) or items.id not in subject.local:
        return
    index, shown = subject.fresh(f"{items.id}_by_key"), ast.unparse(target)
    shown = shown[1:-1] if isinstance(target, ast.Tuple) else shown
    made = (
        f"{index} = {{}}\nfor {shown} in {items.id}:\n"
        f"    {index}.setdefault({subject.code(theirs)}, []).append({'(' + shown + ')' if ',' in shown else shown})"
    )
    changed = {
        id(items): f"{index}.get({subject.code(ours)}, ())",
        id(test): _joined(subject, rest) or _NONE,
    }
    statements, text = before(subject, place, made, changed)
    yield rewrite((statements, _NO_CONDITION.sub("", text)), assumes=["hashable"])


def _joined(subject: Subject, conditions: list[ast.expr]) -> str:
    if len(conditions) == 1:
        return subject.code(conditions[0])
    return " and ".join(map(subject.part, conditions))


def _keys(test: ast.expr, mine: set[str]) -> tuple[ast.expr, ast.expr] | None:
    """The key of the item, and the one that it shall equal."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for theirs, ours in ((left, right), (right, left)):
                if names_in(theirs) & mine and not names_in(ours) & mine:
                    return theirs, ours
    return None


def _bound_outside(subject: Subject) -> set[str]:
    """Names that statements of the function bind, comprehensions apart."""
    inside = {
        id(each) for node in ast.walk(subject.node) if isinstance(node, COMPREHENSIONS) for each in ast.walk(node)
    }
    return set(subject.parameters) | {
        node.id
        for node in ast.walk(subject.node)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in inside
    }


RULE = Rule("filter", "A dict gives the items of a key at once; a condition looks at all items for each key.", find)
