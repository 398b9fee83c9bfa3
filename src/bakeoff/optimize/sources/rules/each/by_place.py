"""Memo by place: what a pure function gives for the item at a place is kept, while an outer loop comes back to it.

The item itself may be a list or dict, which could not be a key; what stands in brackets can.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, before, in_text, loops_around
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SCOPES, calm, stored
from bakeoff.optimize.sources.rules.hoisting import shareable
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.Call) or in_text(subject, node) or not subject.pure_functions(node):
            continue
        scoped = any(isinstance(each, SCOPES) and each is not subject.node for each in subject.around(node))
        if scoped or node.keywords or not calm(*node.args):
            continue
        if not all(map(subject.purity.works, subject.pure_functions(node))):
            continue
        place = _place(subject, node)
        keys = _keys(subject, node, place) if place is not None else []
        if place is None or not keys or not shareable(subject, node) or not _comes_back(subject, node, place, keys):
            continue
        same = [each for each in ast.walk(place) if isinstance(each, ast.Call) and ast.dump(each) == ast.dump(node)]
        function = subject.pure_functions(node)[0].rpartition(".")[2].lstrip("_")
        kept = subject.fresh(f"{function}_at")
        given = ", ".join(map(subject.code, [node.func, *node.args]))
        text = f"_at_place({kept}, ({', '.join(keys)},), {given})"
        made = before(subject, place, f"{kept} = {{}}", {id(each): text for each in same})
        yield Rewrite([made], assumes=["pure"])


def _place(subject: Subject, node: ast.Call) -> ast.For | ast.While | None:
    """The outermost loop in which nothing changes that the call reads."""
    needed = subject.needs(node)
    found = None
    for loop in loops_around(subject, node):
        if needed & subject.rebound or not subject.leaves(loop, needed):
            break
        found = loop
    return found


def _bound(each: ast.AST) -> set[str]:
    if isinstance(each, ast.For):
        return stored(each.target)
    return stored(*(one.target for one in each.generators)) if isinstance(each, COMPREHENSIONS) else set()


def _keys(subject: Subject, node: ast.Call, place: ast.stmt) -> list[str]:
    """The variables of loops by which the call differs, if each of them is a place of something; none otherwise."""
    changing = subject.needs(node) & stored(place)
    places = {
        each.slice.id
        for argument in node.args
        for each in ast.walk(argument)
        if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Name)
    }
    looped = set().union(*map(_bound, subject.around(node)))
    targets = [
        target
        for each in ast.walk(place)
        if isinstance(each, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr)
        for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
    ]
    others = stored(*targets) & changing
    return sorted(changing) if changing <= places & looped and not others else []


def _comes_back(subject: Subject, node: ast.Call, place: ast.stmt, keys: list[str]) -> bool:
    """Whether a loop around binds none of them, so that the same ones come again."""
    for each in subject.around(node):
        if isinstance(each, ast.For | ast.While) and not _bound(each) & set(keys):
            return True
        if each is place:
            break
    return False


RULE = Rule("by-place", "What was computed for a place is looked up when a loop comes back to it.", find)
