"""A comprehension that picks the items with one key, again and again, takes them from a dict of all keys."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, before, in_text, repeating
from bakeoff.optimize.sources.rules.joining import alters, conjunction, join_of, source_name
from bakeoff.optimize.sources.rules.looking import names_in, stored
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
                        case ast.comprehension(iter=items, ifs=[test, *_], is_async=0):
                            xs = source_name(subject, items)
                            if xs is not None:
                                yield from _rewrite(subject, node, generator, xs, test)


def _rewrite(
    subject: Subject, node: ast.expr, generator: ast.comprehension, xs: str, test: ast.expr
) -> Iterator[Rewrite]:
    target, mine = generator.target, stored(generator.target)
    plain = isinstance(target, ast.Name) or (
        isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts)
    )
    if not plain or in_text(subject, node) or mine & _bound_outside(subject):
        return
    join = join_of(subject, test, mine, names_in(test))
    if join is None:
        return
    theirs = set().union(*map(names_in, [*join.nodes, *join.guards])) - mine
    place = repeating(subject, node, {xs} | theirs)
    ours = set().union(*map(names_in, join.our_nodes))
    if place is None or alters(place, join.nodes, mine) or not ours & stored(place):
        return
    index, shown = subject.fresh(f"{xs}_by_key"), ast.unparse(target)
    shown = shown[1:-1] if isinstance(target, ast.Tuple) else shown
    filling = subject.indented(join.filling(subject, index, ast.unparse(target)))
    made = f"{index} = {{}}\nfor {shown} in {subject.code(generator.iter)}:\n{filling}"
    changed = {id(generator.iter): f"{index}.get({join.ours}, ())"}
    if join.rest is not None:
        changed[id(test)] = conjunction(subject, join.rest) if join.rest else _NONE
    statements, text = before(subject, place, made, changed)
    yield rewrite((statements, _NO_CONDITION.sub("", text)), assumes=["hashable"])


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
