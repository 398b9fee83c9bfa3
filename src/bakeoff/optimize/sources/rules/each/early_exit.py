"""A loop that only raises a flag stops when it is raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import calm, plain_for, same, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, loop in enumerate(block):
            if isinstance(loop, ast.For) and plain_for(loop) and not subject.read_outside(stored(loop.target), [loop]):
                yield from _flag(subject, loop)
                yield from _outer(subject, loop, block[at - 1] if at else None)
    for node in ast.walk(subject.node):  # the outermost first
        if isinstance(node, ast.For) and plain_for(node):
            yield from _nested(subject, node)


def _flag(subject: Subject, loop: ast.For) -> Iterator[Rewrite]:
    match loop.body:
        case [
            ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()) as raised], orelse=[])
        ]:
            steady = calm(test, loop.iter) and base(subject.kind(loop.iter)) not in LAZY
            if steady and name not in subject.shared and not _reads(test, name):
                changed = {id(raised): f"{subject.statements([raised])}\nbreak"}
                yield rewrite(([loop], subject.statements([loop], changed)))


def _outer(subject: Subject, loop: ast.For, start: ast.stmt | None) -> Iterator[Rewrite]:
    """The outer of two loops goes on although the flag is raised for good."""
    match loop.body:
        case [ast.For(orelse=[], body=[ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)],
              value=ast.Constant()) as raised, ast.Break()], orelse=[])]) as inner]:  # fmt: skip
            begin = (
                isinstance(start, ast.Assign)
                and stored(*start.targets) == {name}
                and not same(start.value, raised.value)
            )
            steady = calm(test, loop.iter, inner.iter) and base(subject.kind(loop.iter)) not in LAZY
            simple = isinstance(start, ast.Assign) and isinstance(start.value, ast.Constant)
            if begin and simple and steady and name not in subject.shared and raised.value.value in (True, False):  # type: ignore[attr-defined]
                condition = name if raised.value.value else f"not {name}"  # type: ignore[attr-defined]
                text = subject.statements([loop])
                yield rewrite(([loop], f"{text}\n    if {condition}:\n        break" if _four(subject, loop) else text))


def _nested(subject: Subject, loop: ast.For) -> Iterator[Rewrite]:
    """Loops in loops that do nothing that is seen afterwards, besides raising a flag."""
    raised = [(each, flag) for each in ast.walk(loop) if isinstance(each, ast.Assign) and (flag := _flag_of(each))]
    if len({flag for _, flag in raised}) != 1 or not any(isinstance(each, ast.For) for each in loop.body):
        return
    name, value = raised[0][1]
    if name in subject.shared or name in _read(loop) or not _forgets(subject, loop, stored(loop) - {name}):
        return
    changed = {id(each): f"{subject.statements([each])}\nbreak" for each, _ in raised}
    marks = {id(each) for each, _ in raised}
    inner = [each for each in ast.walk(loop) if isinstance(each, ast.For) and each is not loop]
    for each in sorted(inner, key=lambda one: one.lineno, reverse=True):
        inside = {id(one) for one in ast.walk(each) if one is not each}
        if inside & marks:
            text = f"{subject.statements([each], changed)}\nif {name if value else f'not {name}'}:\n    break"
            changed = {key: new for key, new in changed.items() if key not in inside} | {id(each): text}
    yield rewrite(([loop], subject.statements([loop], changed)))


def _flag_of(statement: ast.Assign) -> tuple[str, bool] | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=bool() as value)):
            return name, value
    return None


def _read(loop: ast.For) -> set[str]:
    return {each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _forgets(subject: Subject, loop: ast.For, own: set[str]) -> bool:
    """Whether a loop binds nothing else that is read after it, stores nothing, and calls nothing unknown."""
    if subject.read_outside(own, [loop]) or base(subject.kind(loop.iter)) in LAZY:
        return False
    stores = (ast.Attribute, ast.Subscript)
    if any(isinstance(each, stores) and not isinstance(each.ctx, ast.Load) for each in ast.walk(loop)):
        return False
    lazy = [each for each in ast.walk(loop) if isinstance(each, ast.For) and base(subject.kind(each.iter)) in LAZY]
    sources = all(isinstance(each, ast.For | ast.If | ast.Assign | ast.AugAssign | ast.Continue | ast.Pass | ast.expr
                  | ast.expr_context | ast.operator | ast.boolop | ast.cmpop | ast.unaryop | ast.comprehension
                  | ast.slice | ast.keyword) for each in ast.walk(loop))  # fmt: skip
    return sources and not lazy and calm(loop)


def _four(subject: Subject, loop: ast.For) -> bool:
    return loop.body[0].col_offset - loop.col_offset == 4 and "\t" not in subject.text


def _reads(test: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(test))


RULE = Rule("early-exit", "What cannot change the answer any more is not looked at.", find)
