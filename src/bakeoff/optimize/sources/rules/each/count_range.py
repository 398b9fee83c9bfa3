"""`while i < n: ...; i += 1` becomes a loop over a range, where both are whole numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, has, length_of, stored
from bakeoff.optimize.sources.rules.guards import checked, is_a
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for loop in ast.walk(subject.node) if subject.builtin("range", "type", "len", "max") else ():
        match loop:
            case ast.While(
                test=ast.Compare(left=ast.Name(id=i), ops=[ast.Lt() | ast.LtE() as op], comparators=[bound]),
                body=[_, *_, ast.AugAssign(target=ast.Name(id=counted), op=ast.Add(), value=ast.Constant(value=step))],
                orelse=[],
            ) if i == counted and type(step) is int and step > 0 and _steady(subject, loop, i, bound):
                stop = _stop(subject, bound, isinstance(op, ast.LtE))
                over = f"range({i}, {stop}{f', {step}' if step > 1 else ''})"
                body = subject.indented(subject.statements(loop.body[:-1]))
                fast = f"for {i} in {over}:\n{body}"
                if subject.read_outside([i], [loop]):
                    steps = subject.fresh(f"{i}_range")
                    fast = f"{steps} = {over}\nfor {i} in {steps}:\n{body}\nelse:\n"
                    fast += f"    if {steps}:\n        {i} += {step}"
                yield from checked(subject, [loop], _condition(i, bound), fast)


def _stop(subject: Subject, bound: ast.expr, included: bool) -> str:
    if isinstance(bound, ast.Constant):
        return str(bound.value + included)  # type: ignore[operator]
    return subject.code(bound) + (" + 1" if included else "")


def _steady(subject: Subject, loop: ast.While, i: str, bound: ast.expr) -> bool:
    """Whether nothing in the loop changes the number besides the last line, nor its bound."""
    body = loop.body[:-1]
    of = length_of(bound)
    left = has(body, ast.Continue, *SUSPENDS) or has(bound, *SUSPENDS)
    if left or i in stored(*body) or {i, of} & subject.shared or i not in subject.local:
        return False
    match bound:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.Name(id=name):
            return name in subject.local - subject.shared and name not in stored(loop)
    return of in subject.local and subject.builtin("len") and not subject.changed(of or "", loop)


def _condition(i: str, bound: ast.expr) -> str:
    """What must be of Python's own types: the number, and its bound or what has that length; `True` is no number."""
    asked, of = [is_a(i, "int")], length_of(bound)
    if of is not None:
        asked.append(f"({is_a(of, 'list', 'str', 'tuple')})")
    elif isinstance(bound, ast.Name):
        asked.append(is_a(bound.id, "int"))
    return " and ".join(asked)


RULE = Rule("count-range", "A range counts in C; a number of one's own is compared and added to in every round.", find)
