"""A set that grows until nothing changes any more: what is new is looked at once, in place of all in every round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import assignment, calm, changed_in, method_call, names_in, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, loop in enumerate(block):
            match loop:
                case ast.While(test=ast.Name(id=flag), orelse=[], body=[lowered, ast.For(orelse=[]) as inner]):
                    raised = assignment(block[at - 1]) if at else None
                    if _is(assignment(lowered), flag, False) and _is(raised, flag, True):
                        yield from _rewrite(subject, loop, flag, inner)


def _is(made: tuple[str, ast.expr] | None, flag: str, value: bool) -> bool:
    return made is not None and made[0] == flag and isinstance(made[1], ast.Constant) and made[1].value is value


def _rewrite(subject: Subject, loop: ast.While, flag: str, inner: ast.For) -> Iterator[Rewrite]:
    todo = subject.fresh("todo")
    match inner:
        case ast.For(target=ast.Name(id=node), iter=source, body=[ast.For(orelse=[]) as each]):
            grown = _grown(each.body, flag)
            if grown is None or not _copy(source, grown[0]) or grown[1]:
                return
            name, _, item, add = grown
            if not _steady(subject, loop, name, flag) or not calm(each.iter, item) or name in names_in(each.iter):
                return
            changed = {id(add): f"{subject.statements([add])}\n{todo}.append({subject.code(item)})"}
            body = subject.statements([each], changed | _gone(each, flag))
            text = f"{todo} = list({name})\nwhile {todo}:\n    {node} = {todo}.pop()\n{subject.indented(body)}"
            yield rewrite(([loop], f"{text}\n{flag} = False"), assumes=["hashable"])
        case ast.For(target=ast.Tuple() as target, iter=ast.Name(id=edges) as source, body=body):
            grown = _grown(body, flag)
            if grown is None or len(grown[1]) != 1 or changed_in(edges, loop) or edges not in subject.local:
                return
            name, (known,), item, _ = grown
            mine = stored(target)
            usual = base(subject.kind(source)) not in LAZY | {"dict"} and names_in(known, item) <= mine | subject.local
            if not usual or not _steady(subject, loop, name, flag) or not calm(known, item):
                return
            if subject.read_outside(mine, [loop]) or name in names_in(known, item):
                return
            after, shown, new = subject.fresh(f"{edges}_from"), ast.unparse(target)[1:-1], subject.fresh("new")
            fill = f"{after}.setdefault({subject.code(known)}, []).append({subject.code(item)})"
            yield rewrite(
                (
                    [loop],
                    f"{after} = {{}}\nfor {shown} in {edges}:\n    {fill}\n{todo} = list({name})\nwhile {todo}:\n"
                    f"    for {new} in {after}.get({todo}.pop(), ()):\n        if {new} not in {name}:\n"
                    f"            {name}.add({new})\n            {todo}.append({new})\n{flag} = False",
                ),
                assumes=["hashable"],
            )


def _steady(subject: Subject, loop: ast.While, name: str, flag: str) -> bool:
    """Whether the set is one, and nobody else's."""
    made = [found[1] for node in ast.walk(subject.node) if (found := assignment(node)) and found[0] == name]
    new = all(isinstance(each, ast.Set | ast.SetComp) or ast.unparse(each).startswith("set(") for each in made)
    return bool(made) and new and not {name, flag} & subject.shared and subject.builtin("set", "list")


def _copy(source: ast.expr, name: str) -> bool:
    """Whether this goes through all that is in the set at the beginning of a round."""
    text = ast.unparse(source)
    return text in {f"{maker}({name})" for maker in ("list", "set", "tuple", "sorted")} | {f"{name}.copy()"}


def _grown(body: list[ast.stmt], flag: str) -> tuple[str, list[ast.expr], ast.expr, ast.stmt] | None:
    """The set, what must be in it, what is added, and the statement that adds; nothing where more is done."""
    conditions: list[ast.expr] = []
    while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        test = body[0].test
        conditions += test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        body = body[0].body
    if len(body) != 2 or not conditions:
        return None
    adds = [(each, call) for each in body if isinstance(each, ast.Expr) and (call := method_call(each, "add"))]
    if len(adds) != 1 or not any(_is(assignment(each), flag, True) for each in body):
        return None
    add, (name, (item, *_)) = adds[0]
    known: list[ast.expr] = []
    missing = False
    for each in conditions:
        match each:
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Name(id=of)]) if of == name:
                known.append(left)
            case ast.Compare(left=left, ops=[ast.NotIn()], comparators=[ast.Name(id=of)]) if of == name:
                if ast.dump(left) != ast.dump(item):
                    return None
                missing = True
            case _:
                return None
    return (name, known, item, add) if missing else None


def _gone(loop: ast.For, flag: str) -> dict[int, str]:
    """The statements that raise the flag, which go."""
    return {id(each): "" for each in ast.walk(loop) if isinstance(each, ast.stmt) and _is(assignment(each), flag, True)}


RULE = Rule("closure", "Each item is looked at once; otherwise all are looked at again in every round.", find)
