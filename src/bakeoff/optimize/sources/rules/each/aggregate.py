"""`sum`, `max`, `min` or `sorted` of a list that only grows is kept up to date with it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, loops_around
from bakeoff.optimize.sources.rules.looking import (
    SCOPES,
    SUSPENDS,
    assignment,
    calls,
    calm,
    has,
    is_empty,
    method_call,
    only_looked_at,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

BEGIN = {"sum": "0", "max": "None", "min": "None", "sorted": "[]"}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for at, loop in enumerate(block):
            if not isinstance(loop, ast.For | ast.While):
                continue
            for start in block[:at]:
                made = assignment(start)
                if made and is_empty(made[1], "list") and made[0] not in subject.shared:
                    yield from _rewrite(subject, start, loop, made[0])


def _rewrite(subject: Subject, start: ast.stmt, loop: ast.stmt, name: str) -> Iterator[Rewrite]:
    appends = _appends(subject, start, loop, name)
    if not appends or has(loop, *SUSPENDS) or subject.caught(loop, name):
        return
    for which in BEGIN:
        found = [each for each in calls(loop) if _aggregates(subject, each, which, name)]
        if not found or not all(_after(subject, each, appends, loop, which) for each in found):
            continue
        kept = subject.fresh(f"{name}_{which}")
        changed = {id(each): kept for each in found}
        imports: list[str] = []
        for statement, item in appends:
            value, first = subject.code(item), ""
            if not isinstance(item, ast.Name | ast.Constant):
                first, value = f"{subject.fresh('item')} = {value}\n", subject.fresh("item")
            update, imports = _update(subject, which, name, kept, value)
            changed[id(statement)] = f"{first}{name}.append({value})\n{update}"
        text = f"{kept} = {BEGIN[which]}\n{subject.statements([loop], changed)}"
        yield rewrite(([loop], text), imports=imports, assumes=[] if which == "sum" else ["total order"])


def _appends(subject: Subject, start: ast.stmt, loop: ast.stmt, name: str) -> list[tuple[ast.stmt, ast.expr]]:
    """The statements that add one item, if the loop changes the list in no other way, and nothing before it does."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    inside = {id(node) for node in ast.walk(loop)}
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        parent = subject.parents[id(node)]
        call = subject.parents.get(id(parent))
        above = subject.parents.get(id(call)) if call else None
        match parent:
            case ast.Attribute(attr="append") if isinstance(above, ast.Expr) and id(node) in inside:
                added = method_call(above, "append")
                if added is None or len(added[1]) != 1:
                    return []
                found.append((above, added[1][0]))
            case ast.Assign() | ast.AnnAssign() if parent is start:
                pass
            case ast.Call(func=ast.Name(id=called)) if called in {*BEGIN, "len", "list", "tuple", "set", "enumerate"}:
                pass
            case ast.Subscript(ctx=ast.Load()) | ast.For() | ast.comprehension() | ast.Return() | ast.Compare():
                pass
            case _ if id(node) in inside or node.lineno < loop.lineno:
                return []
    kinds = {subject.kind(item) for _, item in found}
    if "float" in kinds and sys.version_info >= (3, 12):
        return []
    return [] if kinds & {"str"} or not calm(*(item for _, item in found)) else found


def _aggregates(subject: Subject, call: ast.Call, which: str, name: str) -> bool:
    match call:
        case ast.Call(func=ast.Name(id=found), args=[ast.Name(id=of)], keywords=[]):
            if found != which or of != name or not subject.builtin(which) or in_text(subject, call):
                return False
            return which != "sorted" or _only_read(subject, call)
    return False


def _only_read(subject: Subject, call: ast.Call) -> bool:
    """Whether the sorted list is looked at and forgotten before the next item comes."""
    parent = subject.parents[id(call)]
    if only_looked_at(call, parent):
        return True
    made = assignment(parent)
    if made is None or made[0] in subject.shared or len(loops_around(subject, call)) != 1:
        return False
    again = [each for each in ast.walk(subject.node) if isinstance(each, ast.Name) and each.id == made[0]]
    for each in again:
        above = subject.parents[id(each)]
        inside = any(one is loops_around(subject, call)[0] for one in subject.around(each))
        if above is not parent and not (inside and each.lineno > call.lineno and only_looked_at(each, above)):
            return False
    return True


def _after(
    subject: Subject, call: ast.Call, appends: list[tuple[ast.stmt, ast.expr]], loop: ast.stmt, which: str
) -> bool:
    """Whether something has been added whenever this is reached, and it is in the loop's own frame."""
    around = list(subject.around(call))
    if any(isinstance(each, SCOPES) and each is not subject.node for each in around):
        return False
    if which in ("sum", "sorted"):
        return True
    inner = around[: next(at for at, each in enumerate(around) if each is loop) + 1]
    blocks = [getattr(each, field, []) for each in inner for field in ("body", "orelse")]
    statements = [each for each in [call, *inner] if isinstance(each, ast.stmt)]
    for block in blocks:
        if isinstance(block, list):
            at = next((at for at, each in enumerate(block) if any(each is one for one in statements)), 0)
            if any(each is added for each in block[:at] for added, _ in appends):
                return True
    return False


def _update(subject: Subject, which: str, name: str, kept: str, value: str) -> tuple[str, list[str]]:
    """Update that keeps it up to date when a value has been added."""
    if which == "sum":
        return f"{kept} += {value}", []
    if which == "sorted":
        line, insort = subject.imported("bisect", "insort")
        return f"{insort}({kept}, {value})", [line]
    sign = ">" if which == "max" else "<"
    return f"if len({name}) == 1 or {value} {sign} {kept}:\n    {kept} = {value}", []


RULE = Rule("aggregate", "One step brings it up to date; otherwise the whole list is looked at again.", find)
