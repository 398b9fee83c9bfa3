"""The node with the smallest value in a dict, which is searched in every round, is taken from a heap."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text
from bakeoff.optimize.sources.rules.looking import SCOPES, assignment, calm, has, method_call, names_in
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for loop in block:
            if not isinstance(loop, ast.While) or loop.orelse or not loop.body:
                continue
            for statement in loop.body:
                taken = _taken(statement)
                if taken is not None and taken[1] in _asked(loop.test):
                    yield from _rewrite(subject, block, loop, statement, *taken)


def _taken(statement: ast.stmt) -> tuple[str, str, str] | None:
    """Node, the nodes that are left, and the dict, in `node = min(left, key=...)`."""
    made = assignment(statement)
    match made:
        case (node, ast.Call(ast.Name(id="min"), [ast.Name(id=left)], [ast.keyword("key", key), *more])):
            if any(each.arg != "default" for each in more):
                return None
            match key:
                case ast.Attribute(value=ast.Name(id=table), attr="get" | "__getitem__"):
                    return node, left, table
                case ast.Lambda(
                    args=ast.arguments(args=[ast.arg(arg=one)]),
                    body=ast.Subscript(value=ast.Name(id=table), slice=ast.Name(id=by)),
                ) if one == by != table:
                    return node, left, table
    return None


def _asked(test: ast.expr) -> set[str]:
    """The list whose emptiness ends the loop."""
    match test:
        case ast.Name(id=name):
            return {name}
        case ast.Call(ast.Name(id="len"), [ast.Name(id=name)]):
            return {name}
        case ast.Compare(
            ast.Call(ast.Name(id="len"), [ast.Name(id=name)]), [ast.Gt() | ast.NotEq()], [ast.Constant(0)]
        ):
            return {name}
    return set()


def _rewrite(
    subject: Subject, block: list[ast.stmt], loop: ast.While, first: ast.stmt, node: str, left: str, table: str
) -> Iterator[Rewrite]:
    at = loop.body.index(first)
    removed = next((each for each in loop.body[at + 1 :] if _removes(each, left, node)), None)
    start = [each for each in block[: block.index(loop)] if (made := assignment(each)) and made[0] == left]
    if removed is None or len(start) != 1 or {left, node} & subject.shared or not subject.builtin("enumerate"):
        return
    if any(
        table in names_in(each)
        for each in ast.walk(subject.node)
        if isinstance(each, SCOPES) and _other(each, subject, first)
    ):
        return
    between = loop.body[at + 1 : loop.body.index(removed)]
    source = _source(subject, start[0])
    pushes = _pushes(subject, loop, table)
    if source is None or pushes is None or has(between, ast.Continue) or left in names_in(*between):
        return
    if not _only(subject, left, loop, [start[0], first, removed]) or subject.caught(loop, left):
        return
    names = {each: subject.imported("heapq", each) for each in ("heapify", "heappop", "heappush")}
    todo, best, place = subject.fresh("todo"), subject.fresh("best"), subject.fresh("place")
    item = subject.fresh("item")
    changed = {
        id(first): f"while True:\n    {best}, _, {node} = {names['heappop'][1]}({todo})\n"
        f"    if {node} in {left} and {best} == {table}[{node}]:\n        break",
        id(removed): f"del {left}[{node}]",
    }
    for each, key in pushes:
        push = f"{names['heappush'][1]}({todo}, ({table}[{key}], {left}[{key}], {key}))"
        changed[id(each)] = f"{subject.statements([each])}\nif {key} in {left}:\n    {push}"
    begin = f"{left} = {{{item}: {place} for {place}, {item} in enumerate({source})}}"
    filled = f"{todo} = [({table}[{item}], {place}, {item}) for {item}, {place} in {left}.items()]"
    lines = [names["heappop"][0], names["heapify"][0], *([names["heappush"][0]] if pushes else [])]
    yield rewrite(
        (start, begin),
        ([loop], f"{filled}\n{names['heapify'][1]}({todo})\n{subject.statements([loop], changed)}"),
        imports=lines,
        assumes=["hashable", "distinct", "total order"],
    )


def _other(scope: ast.AST, subject: Subject, first: ast.stmt) -> bool:
    """Whether a scope is neither the function itself nor part of a statement that goes."""
    return scope is not subject.node and not any(each is first for each in subject.around(scope))


def _removes(statement: ast.stmt, left: str, node: str) -> bool:
    call = method_call(statement, "remove", "discard") if isinstance(statement, ast.Expr) else None
    return call is not None and call[0] == left and len(call[1]) == 1 and ast.unparse(call[1][0]) == node


def _source(subject: Subject, start: ast.stmt) -> str | None:
    """Initial content of the nodes that are left, as code."""
    made = assignment(start)
    match made:
        case (_, ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[])):
            return subject.code(inner)
        case (_, ast.Call(func=ast.Name(id="set" | "sorted"), args=[_, *_]) | ast.ListComp() | ast.SetComp() as whole):
            return subject.code(whole)
        case (_, ast.Subscript(slice=ast.Slice(lower=None, upper=None, step=None)) as whole):
            return subject.code(whole)
    return None


def _pushes(subject: Subject, loop: ast.While, table: str) -> list[tuple[ast.stmt, str]] | None:
    """The statements of the loop that store to the dict, with their keys; None where it may change otherwise."""
    found: list[tuple[ast.stmt, str]] = []
    for each in ast.walk(loop):
        if not isinstance(each, ast.Name) or each.id != table:
            continue
        parent = subject.parents[id(each)]
        statement = subject.parents[id(parent)]
        match parent, statement:
            case ast.Subscript(slice=key, ctx=ast.Store()), ast.Assign(targets=[_]) if calm(key):
                simple = isinstance(key, ast.Name | ast.Constant | ast.Attribute | ast.Subscript)
                if not simple:
                    return None
                found.append((statement, subject.code(key)))
            case ast.Subscript(ctx=ast.Load()), _:
                pass
            case ast.Attribute(attr="get" | "__getitem__" | "items" | "keys"), _:
                pass
            case ast.Compare(), _:
                pass
            case _:
                return None
    return found


def _only(subject: Subject, left: str, loop: ast.While, known: list[ast.stmt]) -> bool:
    """Whether the list is nothing but looked into by anybody else, and forgotten after the loop."""
    inside = {id(node) for each in known for node in ast.walk(each)}
    for each in ast.walk(subject.node):
        if not isinstance(each, ast.Name) or each.id != left or id(each) in inside:
            continue
        parent = subject.parents[id(each)]
        within = any(one is loop for one in subject.around(each))
        length = isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "len"
        asked = (
            isinstance(parent, ast.Compare)
            and isinstance(parent.ops[0], ast.In | ast.NotIn)
            and parent.left is not each
        )
        if not within or in_text(subject, each) or not (parent is loop or length or asked):
            return False
    return True


RULE = Rule("nearest", "A heap gives the nearest node in log n steps; `min` looks at all that are left.", find)
