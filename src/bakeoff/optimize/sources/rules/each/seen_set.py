"""A list that grows and is searched by `in` gets a set beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base
from bakeoff.optimize.sources.rules.looking import assignment, calm, method_call
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

READERS = {"len", "sorted", "list", "tuple", "set", "sum", "min", "max", "zip", "enumerate"}
"""Functions that only look at a list."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for statement in block:
            made = assignment(statement)
            if made is None or not isinstance(made[1], ast.List) or made[0] in subject.shared:
                continue
            found = _rewrite(subject, statement, *made)
            if found and subject.builtin("set"):
                yield found


def _rewrite(subject: Subject, start: ast.stmt, name: str, first: ast.expr) -> Rewrite | None:
    tests: list[tuple[ast.Name, ast.expr]] = []
    appends: list[ast.stmt] = []
    places: list[tuple[ast.Call, ast.expr]] = []
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Name) and node.id == name:
            parent = subject.parents[id(node)]
            grand = subject.parents.get(id(parent))
            outer = subject.parents.get(id(grand)) if grand else None
            match parent:
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]) if right is node:
                    tests.append((node, parent.left))
                case ast.Attribute(attr="append") if isinstance(grand, ast.Call) and isinstance(outer, ast.Expr):
                    appends.append(outer)
                case ast.Attribute(attr="index") if isinstance(grand, ast.Call) and len(grand.args) == 1:
                    places.append((grand, grand.args[0]))
                case ast.Return() | ast.For() | ast.comprehension():
                    pass
                case ast.Assign() if parent is start:
                    pass
                case ast.Call(func=ast.Name(id=called)) if called in READERS:
                    pass
                case ast.Subscript(ctx=ast.Load()):
                    pass
                case _:
                    return None
    if not tests or not appends or any(in_text(subject, node) for node, _ in tests):
        return None
    items = [call[1][0] for each in appends if (call := method_call(each, "append")) and len(call[1]) == 1]
    if len(items) != len(appends) or not calm(*items):
        return None
    sought = {ast.dump(left) for _, left in tests}
    if any(ast.dump(each) not in sought or in_text(subject, call) for call, each in places):
        return None
    kinds = {base(subject.kind(each)) for each in [*items, *(left for _, left in tests)]}
    if kinds & (UNHASHABLE | {"float"}) or not any(_in_loop(subject, node) for node, _ in tests):
        return None
    index = subject.fresh(f"{name}_{'places' if places else 'set'}")
    changed = {id(node): index for node, _ in tests}
    changed |= {id(call): f"{index}[{_text(subject, each)}]" for call, each in places}
    for statement, item in zip(appends, items, strict=True):
        value, first_line = _text(subject, item), ""
        if isinstance(item, ast.Call):
            value, first_line = subject.fresh("item"), f"{subject.fresh('item')} = {value}\n"
        added = f"{index}.setdefault({value}, len({name}) - 1)" if places else f"{index}.add({value})"
        changed[id(statement)] = f"{first_line}{name}.append({value})\n{added}"
    filled = bool(getattr(first, "elts", None))
    if places:
        begin = f"{{item: at for at, item in reversed(list(enumerate({name})))}}" if filled else "{}"
    else:
        begin = f"set({name})" if filled else "set()"
    made = f"{subject.statements([start])}\n{index} = {begin}"
    changed[id(start)] = made
    return _whole(subject, start, changed, kinds <= {"int", "str", "bool", "bytes"})


def _text(subject: Subject, item: ast.expr) -> str:
    text = subject.code(item)
    return f"({text})" if isinstance(item, ast.Tuple) and not text.startswith("(") else text


def _whole(subject: Subject, start: ast.stmt, changed: dict[int, str], hashable: bool) -> Rewrite:
    """Each statement of the block of `start` that holds a change, replaced."""
    block = next(block for block in subject.blocks() if any(each is start for each in block))
    replacements = []
    for statement in block:
        if statement is start:
            replacements.append(([statement], changed[id(start)]))
        elif any(id(node) in changed for node in ast.walk(statement)):
            replacements.append(([statement], subject.statements([statement], changed)))
    return rewrite(*replacements, assumes=() if hashable else ("hashable",))


def _in_loop(subject: Subject, node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.For | ast.While | ast.comprehension | ast.ListComp) for each in subject.around(node)
    )


RULE = Rule("seen-set", "A set is searched in constant time, a list from its front to its end.", find)
