"""A list of which always the smallest item is taken becomes a heap."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, in_text
from bakeoff.optimize.sources.rules.joining import alters
from bakeoff.optimize.sources.rules.looking import (
    assignment,
    calls,
    calm,
    changed_in,
    has,
    is_number,
    method_call,
    names_in,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Take:
    """Statements that take the first of all in some order.

    Attributes:
        order: the statement that finds it, or sorts; it goes.
        taken: the expressions that give what is taken out.
        key: what is compared, as a text; empty: the items.
        reverse: the largest is taken.
        node: the same key as expression.
    """

    order: ast.stmt
    taken: tuple[ast.expr, ...]
    key: str = ""
    reverse: bool = False
    node: ast.expr | None = None


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start in block:
            made = assignment(start)
            if made is None or made[0] in subject.shared or made[0] in subject.parameters:
                continue
            whole = isinstance(made[1], ast.Subscript) and ast.unparse(made[1]).endswith("[:]")
            new = isinstance(made[1], ast.List | ast.ListComp) or ast.unparse(made[1]).startswith(("list(", "sorted("))
            if new or whole:
                yield from _rewrite(subject, block, start, *made)


def _rewrite(subject: Subject, block: list[ast.stmt], start: ast.stmt, name: str, value: ast.expr) -> Iterator[Rewrite]:
    takes = [found for inside in subject.blocks() for at in range(len(inside)) if (found := _take(inside[at:], name))]
    if not takes or len({(each.key, each.reverse) for each in takes}) > 1:
        return
    key, reverse = takes[0].key, takes[0].reverse
    if not all(_in_loop(subject, each.order) for each in takes) or not _steady(subject, takes[0]):
        return
    pushes = [
        each
        for each in ast.walk(subject.node)
        if isinstance(each, ast.Expr) and (call := method_call(each, "append")) and call[0] == name
    ]
    taken = [each for take in takes for each in take.taken]
    firsts = [each for each in subject.loads.get(name, []) if _last(subject, each, name, takes)]
    if not _only(subject, name, [*(each.order for each in takes), *taken, *pushes, *firsts, start]):
        return
    names = {each: subject.imported("heapq", each) for each in ("heapify", "heappop", "heappush")}
    lines = [names["heappop"][0], names["heapify"][0], *([names["heappush"][0]] if pushes else [])]
    made, entry = subject.statements([start]), "{}"
    if key or reverse:
        line, count = subject.imported("itertools", "count")
        lines.append(line)
        number, ordered, item = (subject.fresh(each) for each in ("numbers", f"{name}_key", "item"))
        rank = f"{ordered}({{0}})" if key else "{0}"
        entry = f"({'-' if reverse else ''}{rank}, next({number}), {{0}})"
        first = entry.format(item)
        made = f"{number} = {count}()\n" + (f"{ordered} = {key}\n" if key else "")
        made += f"{name} = [{first} for {item} in {subject.code(value)}]"
    inner = "[2]" if key or reverse else ""
    changed: dict[int, str] = {id(take.order): "" for take in takes}
    changed |= {id(each): f"{names['heappop'][1]}({name}){inner}" for each in taken}
    changed |= {id(subject.parents[id(each)]): f"{name}[0]{inner}" for each in firsts}
    for each in pushes:
        call = method_call(each, "append")
        assert call is not None
        text, head = subject.code(call[1][0]), ""
        if entry != "{}" and not isinstance(call[1][0], ast.Name):
            item = subject.fresh("item")
            text, head = item, f"{item} = {text}\n"
        changed[id(each)] = f"{head}{names['heappush'][1]}({name}, {entry.format(text)})"
    replaced = []
    for statement in block:
        if statement is start:
            replaced.append(([statement], f"{made}\n{names['heapify'][1]}({name})"))
        elif any(id(node) in changed for node in ast.walk(statement)):
            replaced.append(([statement], subject.statements([statement], changed)))
    yield rewrite(*replaced, imports=lines, assumes=["total order"])


def _last(subject: Subject, node: ast.Name, name: str, takes: list[Take]) -> bool:
    """Whether this reads the only item that a loop has left."""
    parent = subject.parents[id(node)]
    first = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load) and is_number(parent.slice, 0)
    if not first or in_text(subject, node) or _in_loop(subject, node):
        return False
    loops = {id(each): each for take in takes for each in subject.around(take.order) if isinstance(each, ast.While)}
    one = [each for each in loops.values() if ast.unparse(each.test) == f"len({name}) > 1"]
    return bool(one) and all(each.lineno < node.lineno for each in loops.values())


def _only(subject: Subject, name: str, known: list[ast.AST]) -> bool:
    """Whether the list is not looked at besides these statements, but for whether it is empty."""
    inside = {id(node) for each in known for node in ast.walk(each)}
    for node in ast.walk(subject.node):
        if isinstance(node, ast.Name) and node.id == name and id(node) not in inside:
            parent = subject.parents[id(node)]
            looked = isinstance(parent, ast.While | ast.If | ast.UnaryOp | ast.BoolOp)
            measured = (
                isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in ("len", "bool")
            )
            if not looked and not measured:
                return False
    return True


def _steady(subject: Subject, take: Take) -> bool:
    """Whether an item's key stays what it was when the item was put in."""
    node = take.node
    if node is None:
        return True
    mine = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    body = node.body if isinstance(node, ast.Lambda) else node
    free = names_in(node) - mine
    return (
        calm(body, calls=("itemgetter", "attrgetter"))
        and not alters(subject.node, [body], mine)
        and not any(changed_in(each, *subject.node.body) for each in free)
    )


def _take(statements: list[ast.stmt], name: str) -> Take | None:
    """Taking of what comes first, by statements at the beginning of these."""
    first = statements[0]
    order = _order(first, name)
    if order is not None:
        node, reverse = order
        last = reverse and node is None
        taken = []
        for each in statements[1:]:
            pop = _popped(each, name, last)
            if pop is None:
                break
            taken.append(pop)
        return (
            Take(first, tuple(taken), ast.unparse(node) if node else "", reverse and not last, node) if taken else None
        )
    made = assignment(first)
    second = method_call(statements[1], "remove") if made and len(statements) > 1 else None
    if made is None or second is None or second[0] != name or ast.unparse(second[1][0]) != made[0]:
        return None
    match made[1]:
        case ast.Call(func=ast.Name(id="min" | "max" as which), args=[ast.Name(id=found)], keywords=keywords):
            keys = [each.value for each in keywords if each.arg == "key"]
            if found == name and len(keys) == len(keywords):
                node = keys[0] if keys else None
                return Take(statements[1], (made[1],), ast.unparse(node) if node else "", which == "max", node)
    return None


def _order(statement: ast.stmt, name: str) -> tuple[ast.expr | None, bool] | None:
    """Key and direction in which a statement sorts the list."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=found), "sort"), [], keywords)):
            pass
        case ast.Assign([ast.Name(id=target)], ast.Call(ast.Name(id="sorted"), [ast.Name(id=found)], keywords)):
            if target != found:
                return None
        case _:
            return None
    told = {each.arg: each.value for each in keywords}
    reverse = told.get("reverse", ast.Constant(False))
    if found != name or not told.keys() <= {"key", "reverse"} or not isinstance(reverse, ast.Constant):
        return None
    return told.get("key"), bool(reverse.value)


def _popped(statement: ast.stmt, name: str, last: bool) -> ast.expr | None:
    """The expression in a statement that takes out the first (or last) item, if it does nothing else to the list."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.AugAssign | ast.Return):
        return None
    pops = [each for each in calls(statement) if (found := method_call(each, "pop")) and found[0] == name]
    reads = [each for each in ast.walk(statement) if isinstance(each, ast.Name) and each.id == name]
    if len(pops) != 1 or len(reads) != 1 or has(statement, *COMPREHENSIONS, ast.Lambda):
        return None
    at_end = not pops[0].args or is_number(pops[0].args[0], -1)
    fits = at_end if last else bool(pops[0].args) and is_number(pops[0].args[0], 0)
    return pops[0] if fits else None


def _in_loop(subject: Subject, node: ast.AST) -> bool:
    return any(isinstance(each, ast.For | ast.While) for each in subject.around(node))


RULE = Rule("heap", "A heap gives its smallest item in log n steps; sorting or searching the list looks at all.", find)
