"""A list of which always the smallest item is taken becomes a heap."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from bakeoff.optimize.sources.rules.looking import assignment, is_number, method_call
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start in block:
            made = assignment(start)
            if made is None or made[0] in subject.shared or made[0] in subject.parameters:
                continue
            new = isinstance(made[1], ast.List | ast.ListComp) or ast.unparse(made[1]).startswith(("list(", "sorted("))
            if new:
                yield from _rewrite(subject, block, start, made[0])


def _rewrite(subject: Subject, block: list[ast.stmt], start: ast.stmt, name: str) -> Iterator[Rewrite]:
    takes = [(each, found) for inside in subject.blocks() for each in pairwise(inside) if (found := _take(*each, name))]
    pushes = [
        each
        for each in ast.walk(subject.node)
        if isinstance(each, ast.Expr) and (call := method_call(each, "append")) and call[0] == name
    ]
    known = {id(node) for (one, two), _ in takes for stmt in (one, two) for node in ast.walk(stmt)}
    known |= {id(node) for each in [*pushes, start] for node in ast.walk(each)}
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Name) and node.id == name and id(node) not in known:
            parent = subject.parents[id(node)]
            looked = isinstance(parent, ast.While | ast.If | ast.UnaryOp | ast.BoolOp)
            measured = (
                isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in ("len", "bool")
            )
            if not looked and not measured:
                return
    if not takes or not all(_in_loop(subject, one) for (one, _), _ in takes):
        return
    names = {each: subject.imported("heapq", each) for each in ("heapify", "heappop", "heappush")}
    changed: dict[int, str] = {}
    for (one, two), target in takes:
        changed[id(one)] = f"{target} = {names['heappop'][1]}({name})"
        changed[id(two)] = ""
    for each in pushes:
        call = method_call(each, "append")
        assert call is not None
        changed[id(each)] = f"{names['heappush'][1]}({name}, {subject.code(call[1][0])})"
    lines = [names["heappop"][0], names["heapify"][0], *([names["heappush"][0]] if pushes else [])]
    replaced = []
    for statement in block:
        if statement is start:
            replaced.append(([statement], f"{subject.statements([statement])}\n{names['heapify'][1]}({name})"))
        elif any(id(node) in changed for node in ast.walk(statement)):
            replaced.append(([statement], subject.statements([statement], changed)))
    yield rewrite(*replaced, imports=lines, assumes=["total order"])


def _take(one: ast.stmt, two: ast.stmt, name: str) -> str | None:
    """The variable that gets the smallest item, which is taken out."""
    match one, two:
        case ast.Expr(), _ if (call := method_call(one, "sort")) and call == (name, []):
            if isinstance(two, ast.Assign) and len(two.targets) == 1 and (pop := method_call(two.value, "pop")):
                first = pop[0] == name and len(pop[1]) == 1 and is_number(pop[1][0], 0)
                return ast.unparse(two.targets[0]).removeprefix("(").removesuffix(")") if first else None
        case _, ast.Expr() if (made := assignment(one)) and ast.unparse(made[1]) == f"min({name})":
            removed = method_call(two, "remove")
            if removed and removed[0] == name and ast.unparse(removed[1][0]) == made[0]:
                return made[0]
    return None


def _in_loop(subject: Subject, node: ast.AST) -> bool:
    return any(isinstance(each, ast.For | ast.While) for each in subject.around(node))


RULE = Rule("heap", "A heap gives its smallest item in log n steps; sorting or searching the list looks at all.", find)
