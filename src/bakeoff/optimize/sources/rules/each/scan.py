"""A loop that goes on in a text as long as one sign after the other is among some becomes a match of a pattern."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.each.constant_set import is_fixed
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import bound_once, names_in, same
from bakeoff.optimize.sources.rules.guards import fits_twice, is_a
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs that a run is made of, or else that end it."""

    text: str
    wanted: bool


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for loop in ast.walk(subject.node):
        match loop:
            case ast.While(body=[ast.AugAssign(ast.Name(id=i), ast.Add(), ast.Constant(value=1))], orelse=[]):
                yield from _rewrite(subject, loop, i)


def _rewrite(subject: Subject, loop: ast.While, i: str) -> Iterator[Rewrite]:
    match loop.test:
        case ast.BoolOp(
            ast.And(), [ast.Compare(ast.Name(id=at), [ast.Lt()], [bound]), ast.Compare(left, [op], [right])]
        ) if at == i:
            pass
        case _:
            return
    match left, bound:
        case ast.Subscript(text, ast.Name(id=at)), _ if at == i and _at_hand(subject, text) and i in subject.local:
            pass
        case _:
            return
    signs = _signs(subject, op, right)
    if signs is None or i in names_in(text, bound) | subject.shared or not fits_twice(subject, [loop]):
        return
    stop = subject.code(bound)
    length = isinstance(bound, ast.Call) and same(bound, ast.Call(ast.Name("len", ast.Load()), [text], []))
    if not (length or _at_hand(subject, bound)) or not subject.builtin("len", "type"):
        return
    of, run = subject.code(text), subject.fresh("_run")
    attributes = [each for each in (text, bound) if isinstance(each, ast.Attribute)]
    owned = [f"_own({ast.unparse(each.value)}, {each.attr!r})" for each in attributes]
    asked = [*owned, is_a(of, "str"), is_a(i, "int"), *([] if length else [is_a(stop, "int")])]
    asked += [f"0 <= {i} <= {stop}" + ("" if length else f" <= len({of})")]
    original = subject.indented(subject.statements([loop]))
    new = f"if {' and '.join(asked)}:\n    {i} = {run}({of}, {i}, {stop}).end()\nelse:\n{original}"
    pattern = f"[{'' if signs.wanted else '^'}{re.escape(signs.text)}]*"
    helper = f"{run} = re.compile({pattern!r}).match"
    yield Rewrite([([loop], new)], imports=["import re"], helpers=[helper])


def _at_hand(subject: Subject, node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)):
            return name in subject.local - subject.shared
    return False


def _signs(subject: Subject, op: ast.cmpop, right: ast.expr) -> Signs | None:
    """The signs of `in`, `not in`, `==` and `!=`, written out here or bound to a name of the module."""
    wanted = isinstance(op, ast.In | ast.Eq)
    if isinstance(right, ast.Name) and right.id not in subject.local and isinstance(op, ast.In | ast.NotIn):
        tree = subject.definition.file.tree
        known = bound_once(tree, right.id)
        found = _written(known) if known is not None and is_fixed(tree, right.id) else ""
        return Signs(found, wanted) if found else None
    text = _written(right)
    single = isinstance(op, ast.In | ast.NotIn) or (isinstance(right, ast.Constant) and len(text) == 1)
    usual = isinstance(op, ast.In | ast.NotIn | ast.Eq | ast.NotEq)
    return Signs(text, wanted) if text and single and usual else None


def _written(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Set(elts=elts) | ast.Tuple(elts=elts) | ast.List(elts=elts):
            texts = [each.value for each in elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if len(texts) == len(elts) and all(len(each) == 1 for each in texts):
                return "".join(texts)
    return ""


RULE = Rule("scan", "A pattern goes through a text in C; a loop takes out each sign, looks it up and counts.", find)
