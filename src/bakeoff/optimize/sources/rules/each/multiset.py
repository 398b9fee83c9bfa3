"""A list that is only searched, and from which what is found is removed, becomes a dict of counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, loops_around, uses
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import assignment, calm
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start in block:
            match assignment(start):
                case (name, ast.Call(func=ast.Name(id="list"), args=[source], keywords=[]) as value):
                    pass
                case (name, ast.Subscript(value=source, slice=ast.Slice(lower=None, upper=None, step=None)) as value):
                    pass
                case _:
                    continue
            kind = base(element(subject.kind(source)))
            changed = _uses(subject, name, start) if kind not in UNHASHABLE | {"float"} else None
            if not changed or name in subject.shared or name in subject.parameters:
                continue
            line, counter = subject.imported("collections", "Counter")
            changed[id(value)] = f"{counter}({subject.code(source)})"
            yield rewrite(*subject.edited(block, changed), imports=[line], assumes=["hashable"])


def _uses(subject: Subject, name: str, start: ast.stmt) -> dict[int, str] | None:
    """Replacements of uses, if the list is only asked whether it is empty or holds something, and loses items."""
    changed: dict[int, str] = {}
    searched = False
    for node, parent, call, above in uses(subject, name):
        if in_text(subject, node):
            return None
        match parent, call:
            case ast.Attribute(attr="remove"), ast.Call(args=[item]) if isinstance(above, ast.Expr):
                if not calm(item) or not isinstance(item, ast.Name | ast.Constant):
                    return None
                text = f"{name}[{subject.code(item)}]"
                changed[id(above)] = f"if {text} == 1:\n    del {text}\nelse:\n    {text} -= 1"
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]), _ if right is node:
                if base(subject.kind(left)) in UNHASHABLE:
                    return None
                searched = searched or bool(loops_around(subject, node))
            case ((ast.While() | ast.If() | ast.UnaryOp(op=ast.Not()) | ast.BoolOp()), _):
                pass
            case ((ast.Assign() | ast.AnnAssign()), _) if parent is start:
                pass
            case _:
                return None
    return changed if searched and changed else None


RULE = Rule("multiset", "Counts are found and lowered at once; a list looks at and moves what is in it.", find)
