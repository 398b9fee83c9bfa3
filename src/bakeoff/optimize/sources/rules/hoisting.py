"""Moving what a loop computes in every round alike in front of it, with the loop as it was where that fails."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, has, names_in, only_looked_at, stored
from bakeoff.optimize.sources.rules.guards import fits_twice, is_original, looked_up, tried
from bakeoff.optimize.sources.rules.rule import Rewrite

SETTLED = {"int", "str", "bytes", "bool", "float", "range"}
"""Kinds that can be gone through again, or not at all, with nothing else inside."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One expression, the statement before which it is computed, and what its value is called after."""

    node: ast.expr
    place: ast.stmt
    name: str


def moved(
    subject: Subject, found: Sequence[Moved], fits: Callable[[Subject, ast.expr], bool] = lambda _, __: True
) -> Iterator[Rewrite]:
    """All expressions that move before the same statement, together; `fits`: which of equal ones move."""
    places = {id(each.place): each.place for each in found}
    for place in places.values():
        if has(place, *SUSPENDS) or is_original(subject, place):
            continue  # others run meanwhile
        twice = fits_twice(subject, [place])
        lines: dict[str, str] = {}
        changed: dict[int, str] = {}
        again: set[str] = set()
        for each in found:
            text = ast.dump(each.node)
            covered = any(id(around) in changed for around in (each.node, *subject.around(each.node)))
            if each.place is not place or text in lines or covered or not (twice or _simple(subject, each.node)):
                continue
            same = [one for one in ast.walk(place) if isinstance(one, type(each.node)) and ast.dump(one) == text]
            same = [one for one in same if not in_text(subject, one) and fits(subject, one)]
            name, number = subject.fresh(each.name), 2
            while any(line.startswith(f"{name} = ") for line in lines.values()):
                name, number = subject.fresh(f"{each.name}_{number}"), number + 1
            changed |= {id(one): name if twice else f"{name}()" for one in same}
            lines[text] = f"{name} = {looked_up(subject, each.node)}" if twice else _once(subject, name, each.node)
            again |= _unsettled(subject, each.node)
        if lines and not twice:
            yield Rewrite([before(subject, place, "\n".join(lines.values()), changed)])
        elif lines:
            first = [f"_again({', '.join(sorted(again))})"] if again else []
            yield from tried(subject, place, "\n".join([*first, *lines.values()]), subject.statements([place], changed))


def _simple(subject: Subject, node: ast.expr) -> bool:
    """Whether it is a call of a function by its name, with arguments that are at hand before the loop."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name not in subject.local:
            at_hand = (isinstance(each, ast.Constant) or getattr(each, "id", "") in subject.parameters for each in args)
            return name not in ("len", "min", "max") and all(at_hand)
    return False


def _once(subject: Subject, name: str, node: ast.expr) -> str:
    assert isinstance(node, ast.Call)
    return f"{name} = _once({', '.join(map(subject.code, [node.func, *node.args]))})"


def _unsettled(subject: Subject, node: ast.expr) -> set[str]:
    """Names that may hold an iterator, which the first round would use up, or what changes when it is looked at."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return set()
    names = names_in(node) & subject.local - stored(node)
    return {each for each in names if each != "self" and subject.sure(ast.Name(each, ast.Load())) not in SETTLED}


def shareable(subject: Subject, node: ast.expr) -> bool:
    """Whether what an expression gives may be the same object each time: nobody changes or keeps it."""
    match node:
        case ast.Call(func=ast.Name(id="sum" | "min" | "max" | "any" | "all" | "len" | "str" | "tuple" | "frozenset")):
            return True
        case ast.Call() if called := subject.pure_functions(node):
            if not any(subject.purity.makes_new(each) for each in called):
                return True
        case ast.Call(func=ast.Attribute(attr=attr)) if attr not in ("split", "splitlines"):
            return True
    parent = subject.parents.get(id(node))
    if _only_read(subject, node, parent):
        return True
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            changed = subject.changes(*subject.node.body)
            loads = subject.loads.get(name, [])
            kept = changed is not None and name not in changed
            return kept and all(_only_read(subject, load, subject.parents.get(id(load))) for load in loads)
    return False


def _only_read(subject: Subject, node: ast.expr, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Call) and node in parent.args:
        return not isinstance(parent.func, ast.Attribute) and subject.calm_call(parent)
    return only_looked_at(node, parent) or isinstance(parent, ast.BinOp | ast.If | ast.IfExp | ast.UnaryOp)
