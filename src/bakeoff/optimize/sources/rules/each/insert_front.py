"""A list that grows at its front grows at its end, and is turned round once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.looking import assignment, is_empty, is_number, method_call
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, loop in enumerate(block):
            if not isinstance(loop, ast.For | ast.While) or loop.orelse:
                continue
            for start in block[max(0, at - 3) : at]:
                made = assignment(start)
                if made and is_empty(made[1], "list") and made[0] not in subject.shared:
                    name = made[0]
                    used = [each for other in block[block.index(start) + 1 : at] for each in ast.walk(other)]
                    clean = not any(isinstance(each, ast.Name) and each.id == name for each in used)
                    changed = _front(subject, loop, name)
                    if clean and changed and not subject.caught(loop, name):
                        text = f"{subject.statements([loop], changed)}\n{name}.reverse()"
                        yield rewrite(([loop], text))


def _front(subject: Subject, loop: ast.stmt, name: str) -> dict[int, str]:
    changed: dict[int, str] = {}
    known: set[int] = set()
    for node in ast.walk(loop):
        call = method_call(node, "insert") if isinstance(node, ast.Expr) else None
        if call and call[0] == name and len(call[1]) == 2 and is_number(call[1][0], 0):
            changed[id(node)] = f"{name}.append({subject.code(call[1][1])})"
            known.add(id(node.value.func.value))  # type: ignore[attr-defined]
        match node:
            case ast.Assign(
                targets=[ast.Name(id=owner) as target], value=ast.BinOp(ast.List([item]), ast.Add(), right)
            ):
                if owner == name and isinstance(right, ast.Name) and right.id == name:
                    changed[id(node)] = f"{name}.append({subject.code(item)})"
                    known |= {id(target), id(right)}
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            return {}
    every = {id(each) for each in ast.walk(loop) if isinstance(each, ast.Name) and each.id == name}
    return changed if every <= known else {}


RULE = Rule("insert-front", "Inserting at the front of a list moves all that is in it; appending moves nothing.", find)
