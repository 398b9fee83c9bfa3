"""A list that is searched, and from which found items are removed, becomes a dict that keeps its order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, loops_around, uses
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import assignment, changed_in, is_empty, is_number
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start in block:
            made = assignment(start)
            if made is None or made[0] in subject.shared or made[0] in subject.parameters:
                continue
            name, value = made
            again = [each for each in ast.walk(subject.node) if (one := assignment(each)) and one[0] == name]
            source = _source(subject, value) if len(again) == 1 else None
            changed = _uses(subject, name, start) if source is not None else None
            if source is None or not changed:
                continue
            line, maker = subject.imported("collections", "OrderedDict")
            changed[id(value)] = f"{maker}.fromkeys({source})" if source else f"{maker}()"
            yield rewrite(*subject.edited(block, changed), imports=[line], assumes=["hashable", "distinct"])


def _source(subject: Subject, value: ast.expr) -> str | None:
    """The text of what a new list begins with; None where it is no list, or its items cannot be keys."""
    if base(element(subject.kind(value))) in UNHASHABLE:
        return None
    match value:
        case _ if is_empty(value, "list"):
            return ""
        case ast.List(elts=elts):
            return subject.code(value) if len(elts) == 1 and not isinstance(elts[0], ast.Starred) else None
        case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]) if subject.kind(inner) != "str":
            return subject.code(inner)
        case ast.Call(func=ast.Name(id="sorted")) | ast.ListComp():
            return subject.code(value)
        case ast.Subscript(value=ast.Name(), slice=ast.Slice(lower=None, upper=None, step=None)):
            return subject.code(value)
    return None


def _uses(subject: Subject, name: str, start: ast.stmt) -> dict[int, str] | None:
    """Replacements of uses, if all that is done with the list can be done with a dict of its items."""
    changed: dict[int, str] = {}
    searched = removed = False
    for node, parent, call, above in uses(subject, name):
        if in_text(subject, node):
            return None
        match parent, call:
            case ast.Attribute(attr="append"), ast.Call(args=[item], keywords=[]) if isinstance(above, ast.Expr):
                if base(subject.kind(item)) in UNHASHABLE | {"float"} or not _missing(subject, above, name, item):
                    return None
                changed[id(above)] = f"{name}[{subject.code(item)}] = None"
            case ast.Attribute(attr="remove"), ast.Call(args=[item]) if isinstance(above, ast.Expr):
                changed[id(above)] = f"del {name}[{subject.code(item)}]"
                removed = removed or bool(loops_around(subject, node))
            case ast.Attribute(attr="pop"), ast.Call(args=[index]) if is_number(index, 0) or is_number(index, -1):
                changed[id(call)] = _popped(subject, name, call, "last=False" if is_number(index, 0) else "")
                removed = removed or is_number(index, 0)
            case ast.Attribute(attr="pop"), ast.Call(args=[], keywords=[]):
                changed[id(call)] = _popped(subject, name, call, "")
            case ast.Attribute(attr="clear"), ast.Call():
                pass
            case ((ast.While() | ast.If() | ast.UnaryOp(op=ast.Not()) | ast.BoolOp()), _):
                pass
            case ast.Call(func=ast.Name(id="len" | "sum" | "list" | "sorted" | "set" | "tuple" | "min" | "max")), _:
                pass
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]), _ if right is node:
                searched = searched or bool(loops_around(subject, node))
            case ast.Subscript(slice=index, ctx=ast.Load()), _ if is_number(index, 0):
                changed[id(parent)] = f"next(iter({name}))"
            case ast.Return(value=value), _ if value is node:
                changed[id(node)] = f"list({name})"
            case ast.Tuple(), ast.Return():
                changed[id(node)] = f"list({name})"
            case (ast.For(iter=source, body=body), _) if source is node and not _shrinks(name, body):
                pass
            case (ast.comprehension(iter=source), _) if source is node:
                pass
            case ((ast.Assign() | ast.AnnAssign()), _) if parent is start:
                pass
            case _:
                return None
    return changed if searched and removed else None


def _popped(subject: Subject, name: str, call: ast.Call, which: str) -> str:
    """Pop from a dict, as code that takes an item out; of nothing, with the error of a list."""
    text = f"{name}.popitem({which})[0]"
    loops = loops_around(subject, call)
    if loops and isinstance(loops[0], ast.While):
        tests = {name, f"len({name})", f"len({name}) > 0", f"len({name}) != 0"}
        if ast.unparse(loops[0].test) in tests and any(each is loops[0].body[0] for each in subject.around(call)):
            return text
    return f"({text} if {name} else [].pop())"


def _missing(subject: Subject, append: ast.stmt, name: str, item: ast.expr) -> bool:
    """Whether an item is asked for, or taken out, before it is added."""
    text = ast.unparse(item)
    asked = {f"{text} not in {name}", f"{text} in {name}", f"{name}.remove({text})"}
    inside = [each for each in ast.walk(subject.node) if isinstance(each, ast.Compare | ast.Call)]
    return any(ast.unparse(each) in asked and each.lineno <= append.lineno for each in inside)


def _shrinks(name: str, body: list[ast.stmt]) -> bool:
    """Whether it changes while it is gone through, which a list allows."""
    return changed_in(name, *body)


RULE = Rule(
    "ordered-set",
    "A dict finds, adds and removes at once, and keeps the order; a list looks at and moves what is in it.",
    find,
    gamble=True,
)
