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
    raised = [each for each in ast.walk(loop) if _raises(each)]
    names = {each.targets[0].id for each in raised}  # type: ignore[attr-defined]
    values = {each.value.value for each in raised}  # type: ignore[attr-defined]
    for name in names if len(values) == 1 else ():
        others = any(
            isinstance(each, ast.Break | ast.Return | ast.Raise | ast.Assert | ast.With) for each in ast.walk(loop)
        )
        own = stored(loop) - {name}
        if others or len(names) > 1 or name in subject.shared or name in _read(loop):
            continue
        if not _forgets(subject, loop, own) or not any(isinstance(each, ast.For) for each in loop.body):
            continue
        condition = name if values == {True} else f"not {name}"
        changed = {id(each): f"{subject.statements([each])}\nbreak" for each in raised}
        inner = [each for each in ast.walk(loop) if isinstance(each, ast.For) and each is not loop]
        inner = [each for each in inner if any(one is mark for mark in raised for one in ast.walk(each))]
        for each in sorted(inner, key=lambda one: one.lineno, reverse=True):
            text = subject.statements([each], changed)
            changed = {**changed, id(each): f"{text}\nif {condition}:\n    break"}
            changed = {key: new for key, new in changed.items() if key == id(each) or not _holds(each, key)}
        yield rewrite(([loop], subject.statements([loop], changed)))


def _holds(statement: ast.stmt, key: int) -> bool:
    return any(id(each) == key for each in ast.walk(statement) if each is not statement)


def _raises(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name()], value=ast.Constant(value=bool())):
            return True
    return False


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
