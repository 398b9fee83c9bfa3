"""An attribute or item that stays the same while a loop runs is looked up once before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, SIMPLE, in_text, loops_around, repeating
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import names_in, stored
from bakeoff.optimize.sources.rules.hoisting import Moved, moved
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

Lookup = ast.Attribute | ast.Subscript
INNER = (ast.Lambda, *COMPREHENSIONS)


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    found: list[Moved] = []
    for node in ast.walk(subject.node):
        if isinstance(node, Lookup) and isinstance(node.ctx, ast.Load) and _is_steady(subject, node):
            place = _place(subject, node)
            if place is not None:
                found.append(Moved(node, place, _name(node)))
    yield from moved(subject, found)


def _is_steady(subject: Subject, node: Lookup) -> bool:
    """Whether it is a chain from a local name by plain attributes and items, and is no method that is called."""
    parent = subject.parents.get(id(node))
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        return False
    if isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load):
        above = subject.parents.get(id(parent))
        if not (isinstance(above, ast.Call) and above.func is parent):
            return False  # the longer chain is looked at
    root: ast.expr = node
    while isinstance(root, Lookup):
        if isinstance(root, ast.Subscript) and not isinstance(root.slice, ast.Name | ast.Constant):
            return False
        root = root.value
    if not isinstance(root, ast.Name) or root.id not in subject.local:
        return False
    return not (names_in(node) & subject.shared) and not in_text(subject, node)


def _place(subject: Subject, node: Lookup) -> ast.stmt | None:
    """The outermost loop in which nothing that it goes through changes."""
    needed, names = subject.needs(node), names_in(node)

    def alters(piece: ast.AST) -> bool:
        return bool(names & stored(piece)) or not subject.leaves(piece, needed)

    inner = any(isinstance(each, INNER) for each in subject.around(node))
    silent = inner and (isinstance(node, ast.Subscript) or loops_around(subject, node))
    return None if silent else repeating(subject, node, names, alters, SIMPLE)


def _name(node: Lookup) -> str:
    match node:
        case ast.Attribute(attr=attr):
            return attr
        case ast.Subscript(value=ast.Name(id=of), slice=ast.Name(id=by)):
            return f"{of}_{by}"
        case ast.Subscript(value=ast.Name(id=of)) | ast.Subscript(value=ast.Attribute(attr=of)):
            return f"{of}_item"
    return "found"


RULE = Rule("hoist", "A local is one instruction; each step of a chain looks something up in a dict or list.", find)
