"""A text that grows by `+=` or at its front becomes a list of parts that are joined once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.looking import assignment
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

Growth = tuple[ast.stmt, ast.expr, bool]
"""A statement that makes the text longer, by what, and whether at its front."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, statement in enumerate(block[1:], 1):
            for start in block[max(0, at - 3) : at]:
                made = assignment(start)
                between = block[block.index(start) + 1 : at]
                if made is None or not isinstance(statement, ast.For | ast.While) or statement.orelse:
                    continue
                name, value = made
                text = isinstance(value, ast.Constant) and isinstance(value.value, str)
                if (
                    not text
                    or name in subject.shared
                    or subject.caught(statement, name)
                    or any(_mentions(each, name) for each in between)
                ):
                    continue
                grown = _growths(statement, name)
                if grown and _is_text(subject, grown):
                    yield _rewrite(subject, start, statement, name, value, grown)


def _rewrite(
    subject: Subject, start: ast.stmt, loop: ast.stmt, name: str, first: ast.expr, grown: list[Growth]
) -> Rewrite:
    parts = subject.fresh(f"{name}_parts")
    front = grown[0][2]
    changed = {id(statement): f"{parts}.append({subject.code(value)})" for statement, value, _ in grown}
    empty = isinstance(first, ast.Constant) and not first.value
    begin = f"{parts} = []" if empty else f"{parts} = [{subject.code(first)}]"
    joined = f"{parts}[::-1]" if front else parts
    end = f'{name} = "".join({joined})'
    return rewrite(([start], begin), ([loop], f"{subject.statements([loop], changed)}\n{end}"))


def _growths(loop: ast.stmt, name: str) -> list[Growth]:
    """Concatenations that make the text longer, if the loop does nothing else with it, and always at the same end."""
    found: list[Growth] = []
    accounted: set[int] = set()
    for node in ast.walk(loop):
        growth = _growth(node, name)
        if growth:
            value = growth[1]
            if any(_mentions(each, name) for each in [value]):
                return []
            found.append(growth)
            accounted.update(id(each) for each in ast.walk(growth[0]))
    every = {id(each) for each in ast.walk(loop) if isinstance(each, ast.Name) and each.id == name}
    if not every <= accounted or len({front for _, _, front in found}) != 1:
        return []
    leaves = any(isinstance(each, ast.Yield | ast.YieldFrom | ast.Lambda | ast.FunctionDef) for each in ast.walk(loop))
    return [] if leaves else found


def _growth(node: ast.AST, name: str) -> Growth | None:
    match node:
        case ast.AugAssign(target=ast.Name(id=owner), op=ast.Add(), value=value) if owner == name:
            return node, value, False
        case ast.Assign(targets=[ast.Name(id=owner)], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            if owner != name:
                return None
            if isinstance(left, ast.Name) and left.id == name:
                return node, right, False
            if isinstance(right, ast.Name) and right.id == name:
                return node, left, True
    return None


def _is_text(subject: Subject, grown: list[Growth]) -> bool:
    return all(subject.kind(value) in ("str", None) for _, value, _ in grown)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))


RULE = Rule("join", "Joining parts once copies each character once; a growing text may be copied at every step.", find)
