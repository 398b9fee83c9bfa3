"""Locals that every round of a loop begins with, and that are the same in each, are set once before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import (
    assignment,
    bound_inside,
    calls,
    calm,
    changed_in,
    length_of,
    names_in,
    range_of,
    stores_parts,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for loop in ast.walk(subject.node):
        if not isinstance(loop, ast.For) or loop.orelse or stores_parts(subject, loop):
            continue
        source = _source(subject, loop.iter)
        moved: list[ast.stmt] = []
        names: set[str] = set()
        for statement in loop.body[:-1]:
            made = assignment(statement)
            if source is None or made is None or not _steady(subject, loop, *made, names):
                break
            moved.append(statement)
            names.add(made[0])
        worth = any(names_in(each) for statement in moved for each in calls(statement))
        if not worth or subject.read_outside(names, [loop]):
            continue
        head = f"if {source}:\n{subject.indented(subject.statements(moved))}"
        rest = subject.statements([loop], {id(each): "" for each in moved})
        yield rewrite(([loop], f"{head}\n{rest}"))


def _source(subject: Subject, node: ast.expr) -> str | None:
    """The list that is gone through: true where there is a first round."""
    bounds = range_of(node) or []
    name = length_of(bounds[0]) if len(bounds) == 1 else None
    match node:
        case ast.Name(id=found) if base(subject.kind(node)) not in LAZY:
            name = found
        case ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=found) as whole]):
            name = found if base(subject.kind(whole)) not in LAZY else None
    return name if name in subject.local and name not in subject.shared else None


def _steady(subject: Subject, loop: ast.For, name: str, value: ast.expr, moved: set[str]) -> bool:
    """Whether a local is bound to the same in every round, and to nothing else."""
    if name in subject.shared or not calm(value) or not isinstance(value, ast.BinOp | ast.Call | ast.Constant):
        return False
    if base(subject.kind(value)) not in ("int", "float", "str", "bool", None):
        return False  # a new list each time
    bound = [each for each in ast.walk(loop) if isinstance(each, ast.Name) and each.id == name]
    if sum(not isinstance(each.ctx, ast.Load) for each in bound) != 1:
        return False
    called = {each.func.id for each in calls(value) if isinstance(each.func, ast.Name)}
    names = names_in(value) - bound_inside(value) - called - moved
    lazy = any(base(subject.kind(ast.Name(each, ast.Load()))) in LAZY for each in names)
    return not lazy and names <= subject.local - subject.shared and not any(changed_in(each, loop) for each in names)


RULE = Rule("loop-constant", "What is the same in every round is computed in the first one alone.", find)
