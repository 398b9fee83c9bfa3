"""A list that grows and is searched by `in` gets a set beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.each.membership_set import UNHASHABLE, searched
from bakeoff.optimize.sources.rules.editing_expressions import in_text, loops_around
from bakeoff.optimize.sources.rules.facts.kinds import base
from bakeoff.optimize.sources.rules.facts.making import MORE_METHODS
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import assignment, calm, method_call
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for statement in block:
            made = assignment(statement)
            if made is None or not isinstance(made[1], ast.List) or made[0] in subject.shared:
                continue
            found = _rewrite(subject, block, statement, made[0], made[1])
            if found and subject.builtin("set"):
                yield found


def _rewrite(subject: Subject, block: list[ast.stmt], start: ast.stmt, name: str, first: ast.List) -> Rewrite | None:
    uses = _uses(subject, name, start)
    if uses is None or not all(uses):
        return None
    tests, appends = uses
    items = [call[1][0] for each in appends if (call := method_call(each, "append")) and len(call[1]) == 1]
    sought = [each.left for each in tests]
    if len(items) != len(appends) or not calm(*items):
        return None
    if not any(loops_around(subject, each) for each in tests):
        return None
    if {base(subject.kind(each)) for each in (*items, *sought)} & UNHASHABLE:
        return None
    index = subject.fresh(f"{name}_set")
    changed = searched(subject, tests, index, name)
    for statement, item in zip(appends, items, strict=True):
        value, lead = subject.code(item), ""
        if not isinstance(item, ast.Name | ast.Constant):
            value, lead = subject.fresh("item"), f"{subject.fresh('item')} = {value}\n"
        added = f"{index} = _add({index}, {value}, {name})"
        changed[id(statement)] = f"{lead}{name}.append({value})\n{added}"
    begin = "set()" if not first.elts else f"_as_set({name})"
    replacements = [
        ([each], f"{subject.statements([start])}\n{index} = {begin}")
        if each is start
        else ([each], subject.statements([each], changed))
        for each in block
        if each is start or any(id(node) in changed for node in ast.walk(each))
    ]
    return Rewrite(replacements)


def _uses(subject: Subject, name: str, start: ast.stmt) -> tuple[list[ast.Compare], list[ast.stmt]] | None:
    """Where the list is searched and where it grows; None where anything else may change it or hold it."""
    tests: list[ast.Compare] = []
    appends: list[ast.stmt] = []
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Name) and node.id == name:
            parent = subject.parents[id(node)]
            grand = subject.parents.get(id(parent))
            outer = subject.parents.get(id(grand)) if grand else None
            match parent:
                case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]) if right is node:
                    tests.append(parent)
                case ast.Attribute(attr="append") if isinstance(grand, ast.Call) and isinstance(outer, ast.Expr):
                    appends.append(outer)
                case ast.Attribute(attr=attr) if attr not in MORE_METHODS:
                    return None
                case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.AugAssign() | ast.Lambda():
                    return None
                case _ if not isinstance(node.ctx, ast.Load) and parent is not start:
                    return None
    if not subject.alone(name):
        return None
    return None if any(in_text(subject, each) for each in tests) else (tests, appends)


RULE = Rule("seen-set", "A set is searched in constant time, a list from its front to its end.", find)
