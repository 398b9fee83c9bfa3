"""A list from whose front is taken becomes a deque."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import assignment, changed_in, is_number
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

KEPT = {"append", "extend", "remove", "clear", "count", "reverse"}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start in block:
            made = assignment(start)
            if made is None or made[0] in subject.shared or made[0] in subject.parameters:
                continue
            name, value = made
            new = isinstance(value, ast.List | ast.ListComp) or (
                isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("list", "sorted")
            )
            changed = _uses(subject, name, start) if new else None
            if changed:
                line, deque = subject.imported("collections", "deque")
                text = subject.code(value)
                if isinstance(value, ast.Call) and ast.unparse(value.func) == "list" and len(value.args) == 1:
                    text = subject.code(value.args[0])
                changed[id(value)] = f"{deque}()" if text in ("[]", "list()") else f"{deque}({text})"
                yield Rewrite(subject.edited(block, changed), imports=[line])


def _uses(subject: Subject, name: str, start: ast.stmt) -> dict[int, str] | None:
    """The calls that work at the front, if all else that is done with the list can be done with a deque."""
    changed: dict[int, str] = {}
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = subject.parents[id(node)]
        call = subject.parents.get(id(parent))
        if in_text(subject, node):
            return None
        match parent, call:
            case ast.Attribute(attr="pop"), ast.Call(args=[index]) if is_number(index, 0):
                changed[id(call)] = f"{name}.popleft()"
            case ast.Subscript(slice=index, ctx=ast.Del()), ast.Delete(targets=[_]) if is_number(index, 0):
                changed[id(call)] = f"{name}.popleft()"
            case ast.Attribute(attr="pop"), ast.Call(args=[], keywords=[]):
                pass
            case ast.Attribute(attr="insert"), ast.Call(args=[index, item]) if is_number(index, 0):
                changed[id(call)] = f"{name}.appendleft({subject.code(item)})"
            case ast.Attribute(attr=attr), ast.Call(func=func) if func is parent and attr in KEPT:
                pass
            case ast.Subscript(slice=index, ctx=ast.Load()), _ if is_number(index, 0) or is_number(index, -1):
                pass
            case ((ast.While() | ast.If() | ast.UnaryOp(op=ast.Not()) | ast.BoolOp()), _):
                pass
            case ast.Call(func=ast.Name(id="len" | "sum" | "list" | "sorted" | "bool" | "set" | "tuple")), _:
                pass
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]), _ if right is node:
                pass
            case (ast.For(iter=source, body=body), _) if source is node and not changed_in(name, *body):
                pass  # a deque that changes while it is gone through is an error
            case (ast.comprehension(iter=source), _) if source is node:
                pass
            case ((ast.Assign() | ast.AnnAssign()), _) if parent is start:
                pass
            case _:
                return None
    return changed if any("popleft" in each for each in changed.values()) else None


RULE = Rule("deque", "Taking from the front of a list moves all that is behind it; a deque moves nothing.", find)
