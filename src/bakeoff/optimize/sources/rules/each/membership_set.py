"""A list that is searched again and again, and does not change meanwhile, becomes a set before the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, loops_around, statement_of
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import assignment, calls_out, changed_in, stored
from bakeoff.optimize.sources.rules.purity import touched
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

KNOWN = {"list", "tuple", "Sequence", "Iterable", None}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if not subject.builtin("set"):
        return
    for node in ast.walk(subject.node):
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name) as right]):
                if name in subject.local and not in_text(subject, node):
                    yield from _variable(subject, node, left, right)
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(value=ast.Name()) as right]):
                yield from _attribute(subject, node, right)
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.List() | ast.Tuple() as right]):
                yield from _constant(subject, node, right)


def _constant(subject: Subject, node: ast.Compare, right: ast.List | ast.Tuple) -> Iterator[Rewrite]:
    values = [each.value for each in right.elts if isinstance(each, ast.Constant)]
    statement = statement_of(subject, node)
    usual = all(isinstance(each, str | int | bytes) for each in values)
    if len(values) < 4 or len(values) != len(right.elts) or not usual or statement is None or in_text(subject, node):
        return
    kind = base(subject.kind(node.left))
    if kind in UNHASHABLE:
        return
    text = "{" + ", ".join(subject.code(each) for each in right.elts) + "}"
    changed = subject.statements([statement], {id(right): text})
    yield rewrite(([statement], changed), assumes=() if kind else ("hashable",))


def _attribute(subject: Subject, node: ast.Compare, right: ast.Attribute) -> Iterator[Rewrite]:
    """A list of an object, in a loop that only fills lists of its own."""
    loops = loops_around(subject, node)
    item = base(subject.kind(node.left))
    if not loops or in_text(subject, node) or item in UNHASHABLE | {"float"}:
        return
    loop = None
    for each in loops:  # the outermost in which the list stays as it is
        if not _keeps(subject, each, right):
            break
        loop = each
    if loop is None:
        return
    index = subject.fresh(f"{right.attr}_set")
    same_list = [each for each in ast.walk(loop) if isinstance(each, ast.Compare) and len(each.ops) == 1]
    changed = {
        id(each.comparators[0]): index
        for each in same_list
        if isinstance(each.ops[0], ast.In | ast.NotIn) and ast.dump(each.comparators[0]) == ast.dump(right)
    }
    # It may be a dict or a set already: then the copy is measured, and loses.
    yield rewrite(before(subject, loop, f"{index} = set({subject.code(right)})", changed), assumes=("hashable",))


def _keeps(subject: Subject, loop: ast.stmt, right: ast.Attribute) -> bool:
    """Whether a loop leaves a list of an object as it is."""
    assert isinstance(right.value, ast.Name)
    if right.value.id in stored(loop):
        return False
    changed = subject.changes(loop)
    if changed is not None and right.value.id == "self" and subject.home:
        return not touched(changed, {f"self.{right.attr}"})
    for each in ast.walk(loop):
        if isinstance(each, ast.Attribute) and not isinstance(each.ctx, ast.Load):
            return False
        if isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load) and _same_name(each.value, right):
            return False
    return not calls_out(subject, loop)


def _same_name(place: ast.expr, right: ast.Attribute) -> bool:
    """Whether items of such a place may be those of the list: objects may have more than one name."""
    return isinstance(place, ast.Attribute) and place.attr == right.attr


def _variable(subject: Subject, node: ast.Compare, left: ast.expr, right: ast.Name) -> Iterator[Rewrite]:
    name, kind, item = right.id, subject.kind(right), base(subject.kind(left))
    if base(kind) not in KNOWN or name in subject.shared or item in UNHASHABLE | {"float"}:
        return
    if base(element(kind)) in UNHASHABLE | {"float"} or isinstance(left, ast.List | ast.Dict | ast.Set):
        return
    place = _place(subject, node, name)
    if place is None or subject.trying(node, place) or not _bound_before(subject, name, place):
        return
    index = subject.fresh(f"{name}_set")
    tests = [
        each.comparators[0]
        for each in ast.walk(place)
        if isinstance(each, ast.Compare) and len(each.ops) == 1 and isinstance(each.ops[0], ast.In | ast.NotIn)
        if isinstance(each.comparators[0], ast.Name) and each.comparators[0].id == name and not in_text(subject, each)
    ]
    changed = {id(each): index for each in tests}
    known = item in ("int", "str", "bytes", "bool")
    yield rewrite(before(subject, place, f"{index} = set({name})", changed), assumes=() if known else ("hashable",))


def _place(subject: Subject, node: ast.expr, name: str) -> ast.stmt | None:
    """The outermost loop in which the list stays the same; or the statement of a comprehension."""
    found: ast.stmt | None = None
    for loop in loops_around(subject, node):
        if changed_in(name, loop):
            return found
        found = loop
    if found is None:
        statement = statement_of(subject, node)
        previous: ast.AST = node
        for each in subject.around(node):
            if isinstance(each, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                # It must stand inside what is evaluated for every item, and the name must be from outside.
                if previous is each.generators[0] and node in ast.walk(each.generators[0].iter):
                    return None
                if name not in stored(*(one.target for one in each.generators)):
                    found = statement
                break
            previous = each
        if found is None or changed_in(name, found) or isinstance(found, ast.While):
            return None
    return found


def _bound_before(subject: Subject, name: str, place: ast.stmt) -> bool:
    if name in subject.parameters:
        return True
    made = [node for block in subject.blocks() for node in block if (found := assignment(node)) and found[0] == name]
    return any(node.lineno < place.lineno for node in made)


RULE = Rule("membership-set", "A set answers `in` in constant time; making it costs one pass over the list.", find)
