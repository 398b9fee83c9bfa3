"""A loop that looks for an equal item becomes `in`, and one that counts equal items `count`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.joining import sides
from bakeoff.optimize.sources.rules.kinds import base, element
from bakeoff.optimize.sources.rules.looking import assignment, calm, is_number, plain_for, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, loop in enumerate(block):
            if not isinstance(loop, ast.For) or not plain_for(loop) or not isinstance(loop.target, ast.Name):
                continue
            item = loop.target.id
            before, after = block[at - 1] if at else None, block[at + 1] if at + 1 < len(block) else None
            match loop.body:
                case [ast.If(test=test, body=body, orelse=[])] if found := sides(test, {item}):
                    if isinstance(found[0], ast.Name) and _usual(subject, loop, found[1], item):
                        yield from _found(subject, loop, found[1], body, before, after)


def _found(
    subject: Subject,
    loop: ast.For,
    wanted: ast.expr,
    body: list[ast.stmt],
    before: ast.stmt | None,
    after: ast.stmt | None,
) -> Iterator[Rewrite]:
    where, what = subject.part(loop.iter), subject.part(wanted)
    match body, before, after:
        case [ast.Return(ast.Constant(True))], _, ast.Return(ast.Constant(False)):
            yield rewrite(([loop, after], f"return {what} in {where}"))
        case [ast.Return(ast.Constant(False))], _, ast.Return(ast.Constant(True)):
            yield rewrite(([loop, after], f"return {what} not in {where}"))
        case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(True)), ast.Break()], ast.Assign(), _:
            made = assignment(before)
            if made and made[0] == name and isinstance(made[1], ast.Constant) and made[1].value is False:
                yield rewrite(([before, loop], f"{name} = {what} in {where}"))
        case [ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=one)], ast.Assign(), _ if is_number(one, 1):
            made = assignment(before)
            known = base(subject.kind(loop.iter)) in ("list", "tuple")
            if made and made[0] == name and is_number(made[1], 0) and known and name not in subject.shared:
                yield rewrite(([before, loop], f"{name} = {where}.count({what})"))


def _usual(subject: Subject, loop: ast.For, wanted: ast.expr, item: str) -> bool:
    whole, one = subject.kind(loop.iter), subject.kind(wanted)
    if base(whole) in ("str", "bytes") or "float" in (one, element(whole)) or not calm(wanted, loop.iter):
        return False  # a text is searched for parts, and a number that is none equals nothing
    return isinstance(loop.iter, ast.Name | ast.Attribute) and not subject.read_outside(stored(loop.target), [loop])


RULE = Rule("search", "The search runs in C and compares without bytecode.", find)
