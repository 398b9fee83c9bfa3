"""An attribute or item that stays the same while a loop runs is looked up once before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, in_text, loops_around, repeating
from bakeoff.optimize.sources.rules.facts.making import FILLING
from bakeoff.optimize.sources.rules.facts.purity import touched
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import CALM_METHODS, READS, SUSPENDS, changed_by_method, has, names_in
from bakeoff.optimize.sources.rules.hoisting import Moved, moved
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

Lookup = ast.Attribute | ast.Subscript


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
    names = names_in(node)
    found = _statement(subject, node, names)
    if found is None and any(isinstance(each, (ast.Lambda, *COMPREHENSIONS)) for each in subject.around(node)):
        return None
    attributes = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    for loop in loops_around(subject, node):
        if any(_rebinds(name, loop) for name in names):
            break
        if _stores(subject, loop, node, attributes) or (_calls_unknown(loop) and not _leaves(subject, loop, node)):
            break
        found = loop
    return found


def _leaves(subject: Subject, loop: ast.stmt, node: Lookup) -> bool:
    """Whether all that a loop calls is known, and changes nothing that the chain goes through."""
    changed = subject.changes(loop)
    if changed is None or touched(changed, subject.needs(node)):
        return False
    own = subject.purity.own(subject.node, subject.home)
    return all(each in own or each.startswith("self.") for each in changed)


def _statement(subject: Subject, node: Lookup, names: set[str]) -> ast.stmt | None:
    """The simple statement whose comprehensions go through an attribute again and again."""
    place = repeating(subject, node, names) if isinstance(node, ast.Attribute) else None
    simple = isinstance(place, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr)
    return place if simple and place is not None and not _calls_unknown(place) else None


def _rebinds(name: str, loop: ast.stmt) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load) for each in ast.walk(loop)
    )


def _stores(subject: Subject, loop: ast.stmt, node: Lookup, attributes: set[str]) -> bool:
    """Whether something is stored where the chain goes through, perhaps by another name for it."""
    bases = [each.value for each in ast.walk(node) if isinstance(each, ast.Subscript)]
    parts = [ast.dump(each) for each in bases]
    mine = names_in(node) | subject.purity.own(subject.node, subject.home)
    for each in ast.walk(loop):
        match each:
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr in attributes:
                return True
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if parts:
                if ast.dump(value) in parts or not names_in(value) & mine:
                    return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if parts and attr in GROWING:
                if name not in mine:
                    return True
    return any(isinstance(each, ast.Name) and changed_by_method(each.id, loop) for each in bases)


GROWING = {"append", "add", "extend", "appendleft", "setdefault", "update", "popleft", "pop", "push", "discard"}


def _calls_unknown(loop: ast.stmt) -> bool:
    """Whether it calls what may change anything: more than built-in functions and the usual methods of containers."""
    if has(loop, *SUSPENDS):
        return True
    for each in ast.walk(loop):
        match each:
            case ast.Call(func=ast.Name(id=name)) if name in READS | FILLING:
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
                pass
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in CALM_METHODS or attr in GROWING:
                pass
            case ast.Call():
                return True
    return False


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
