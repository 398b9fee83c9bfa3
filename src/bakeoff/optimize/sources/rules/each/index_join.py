"""A loop in a loop that looks for equal keys becomes a look-up in a dict of the inner items."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import loops_around
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import calm, changed_in, names_in, plain_for, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.For) or not plain_for(node) or not isinstance(node.iter, ast.Name):
            continue
        outer = loops_around(subject, node)
        match node.body:
            case [ast.If(test=test, body=body, orelse=[])] if outer:
                yield from _rewrite(subject, node, outer[-1], test, body)


def _rewrite(
    subject: Subject, inner: ast.For, outer: ast.stmt, test: ast.expr, body: list[ast.stmt]
) -> Iterator[Rewrite]:
    assert isinstance(inner.iter, ast.Name)
    items, mine = inner.iter.id, stored(inner.target)
    first, rest = (
        (test.values[0], test.values[1:])
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        else (test, [])
    )
    keys = _keys(first, mine)
    if keys is None or not calm(*keys) or changed_in(items, outer) or items in subject.shared:
        return
    theirs, ours = keys
    known = base(subject.kind(inner.iter))
    bound = stored(outer)
    if (
        known in LAZY | {"dict", "str"}
        or names_in(theirs) - mine & bound
        or "float" in (subject.kind(ours), subject.kind(theirs))
    ):
        return
    if (names_in(theirs) - mine) & bound or items not in subject.local or subject.read_outside(mine, [inner]):
        return
    index, target = subject.fresh(f"{items}_by_key"), ast.unparse(inner.target)
    target = target[1:-1] if isinstance(inner.target, ast.Tuple) else target
    item = subject.fresh("item") if isinstance(inner.target, ast.Tuple) else target
    head = f"for {target} in {index}.get({subject.code(ours)}, ()):"
    if rest:
        condition = " and ".join(subject.part(each) for each in rest)
        text = f"{head}\n    if {condition}:\n{subject.indented(subject.statements(body), '        ')}"
    else:
        text = f"{head}\n{subject.indented(subject.statements(body))}"
    unpack = f"    {target} = {item}\n" if isinstance(inner.target, ast.Tuple) else ""
    filled = f"{unpack}    {index}.setdefault({subject.code(theirs)}, []).append({item})"
    made = f"{index} = {{}}\nfor {item} in {items}:\n{filled}"
    yield rewrite(
        ([outer], f"{made}\n{subject.statements([outer], {id(inner): text})}"),
        assumes=["hashable"],
    )


def _keys(test: ast.expr, mine: set[str]) -> tuple[ast.expr, ast.expr] | None:
    """The key of the inner item, and the one that it shall equal."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for theirs, ours in ((left, right), (right, left)):
                if names_in(theirs) & mine and not names_in(ours) & mine:
                    return theirs, ours
    return None


RULE = Rule("index-join", "A dict finds the partners of an item at once; a loop looks at every pair.", find)
