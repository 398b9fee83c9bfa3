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


def _four(subject: Subject, loop: ast.For) -> bool:
    return loop.body[0].col_offset - loop.col_offset == 4 and "\t" not in subject.text


def _reads(test: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(test))


RULE = Rule("early-exit", "What cannot change the answer any more is not looked at.", find)
