"""Early exit: what is made whole, only to ask whether there is any, or for its first item, is made no further."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.editing_expressions import in_text, replaced
from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.looking import assignment, calm, is_number, names_in
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        if isinstance(node, ast.expr) and not in_text(subject, node):
            text = _any(subject, node) or _least(subject, node)
            if text:
                yield from replaced(subject, node, text)
    for block in subject.blocks():
        for one, two in pairwise(block):
            yield from _first(subject, one, two)


def _any(subject: Subject, node: ast.expr) -> str | None:
    """The text in place of `len([x for x in xs if ...]) > 0`, `any([...])` and `all([...])`."""
    match node:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.ListComp() as whole], keywords=[]),
            ops=[op],
            comparators=[zero],
        ) if subject.builtin("len", "any") and calm(whole):
            there = (isinstance(op, ast.Gt | ast.NotEq) and is_number(zero, 0)) or (
                isinstance(op, ast.GtE) and is_number(zero, 1)
            )
            if there or (isinstance(op, ast.Eq) and is_number(zero, 0)):
                text = f"any({_clauses(subject, whole, 'True')})"
                return text if there else f"not {text}"
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.ListComp() as whole], keywords=[]):
            if calm(whole) and subject.builtin(name):
                return f"{name}({_clauses(subject, whole, subject.code(whole.elt))})"
    return None


def _clauses(subject: Subject, whole: ast.ListComp, item: str) -> str:
    """The comprehension as a generator of something else."""
    text = ast.unparse(ast.ListComp(ast.Name("_item_", ast.Load()), whole.generators))[1:-1]
    return f"{item}{text.removeprefix('_item_')}"


def _first(subject: Subject, one: ast.stmt, two: ast.stmt) -> Iterator[Rewrite]:
    """`found = [...]`, and its first item or nothing in the statement after it, which is all that is read of it."""
    made = assignment(one)
    match two:
        case ast.Return(value=ast.IfExp() as choice) | ast.Assign(value=ast.IfExp() as choice):
            pass
        case _:
            return
    if made is None or made[0] in subject.shared or not subject.builtin("next"):
        return
    name, whole = made
    if not isinstance(whole, ast.ListComp) or not calm(whole) or not _gone(subject, name, two):
        return
    match choice:
        case ast.IfExp(
            test=test, body=ast.Subscript(value=ast.Name(id=of), slice=zero), orelse=ast.Constant() as other
        ):
            asked = ast.unparse(test) in {name, f"len({name}) > 0", f"len({name}) != 0"}
            if of == name and is_number(zero, 0) and asked:
                text = f"next(({_clauses(subject, whole, subject.code(whole.elt))}), {subject.code(other)})"
                yield rewrite(([one, two], subject.statements([two], {id(choice): text})))


def _gone(subject: Subject, name: str, statement: ast.stmt) -> bool:
    inside = {id(each) for each in ast.walk(statement)}
    return all(id(each) in inside for each in subject.loads.get(name, []))


def _least(subject: Subject, node: ast.expr) -> str | None:
    """The text in place of `sorted(xs)[0]`."""
    match node:
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="sorted"), args=[ast.Name(id=xs) as items], keywords=keywords),
            slice=at,
            ctx=ast.Load(),
        ) if base(subject.kind(items)) in ("list", "tuple") and subject.builtin("sorted", "min", "max"):
            told = {each.arg: each.value for each in keywords}
            reverse = told.pop("reverse", ast.Constant(False))
            if not isinstance(reverse, ast.Constant) or not told.keys() <= {"key"} or "key" in names_in(items):
                return None
            key = f", key={subject.code(told['key'])}" if told else ""
            if is_number(at, 0):
                which = "max" if reverse.value else "min"
            elif is_number(at, -1) and not told and not reverse.value:
                which = "max"
            else:
                return None
            # Of nothing there is no first item, which is another error than that there is no smallest.
            return f"({which}({xs}{key}) if {xs} else {xs}[0])"
    return None


RULE = Rule("first-only", "Nothing is made, compared or sorted beyond what is asked for.", find)
