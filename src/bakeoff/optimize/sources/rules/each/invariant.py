"""Loop-invariant code motion: what gives the same in every round of a loop is computed once before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import SIMPLE, in_text, repeating
from bakeoff.optimize.sources.rules.facts.kinds import LAZY, base
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, TEXTS_METHODS, calls, calm, has, names_in, stored
from bakeoff.optimize.sources.rules.hoisting import Moved, moved, shareable
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

WORK = {"sum", "sorted", "set", "frozenset", "list", "tuple", "dict", "len", "str", "max", "min", "any", "all"}
COMPUTED = (ast.Call, ast.ListComp, ast.SetComp, ast.DictComp)


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    found: list[Moved] = []
    for node in ast.walk(subject.node):
        if not isinstance(node, COMPUTED) or in_text(subject, node) or not _worth(subject, node):
            continue
        place = _place(subject, node)
        if place is not None and shareable(subject, node):
            found.append(Moved(node, place, _name(node)))
    yield from moved(subject, found, shareable)


def _worth(subject: Subject, node: ast.expr) -> bool:
    """Whether it takes a while, changes nothing and gives the same again, as far as what it is given stays the same."""
    match node:
        case ast.Call(args=args, keywords=keywords) if any(isinstance(each, ast.Starred) for each in args) or any(
            not each.arg for each in keywords
        ):
            return False
        case ast.Call(args=args, keywords=keywords) if subject.pure_functions(node):
            return calm(*args, *(each.value for each in keywords))
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in WORK:
            quick = name == "len" and not isinstance(first, ast.Name | ast.Attribute)
            if not subject.builtin(name) or quick:
                return False
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args, keywords=[]) if attr in TEXTS_METHODS:
            return bool(names_in(owner)) and calm(owner, *args)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=args):
            return all(isinstance(each, ast.Constant) for each in args) and "re" not in subject.local
        case ast.Call():
            return False
    return not has(node, ast.NamedExpr, *SUSPENDS) and all(map(subject.calm_call, calls(node)))


def _place(subject: Subject, node: ast.expr) -> ast.stmt | None:
    """The outermost statement that computes it again and again while nothing that it depends on changes."""
    needed = subject.needs(node) - {"re"}
    lazy = any(base(subject.kind(ast.Name(each, ast.Load()))) in LAZY for each in needed)
    if needed & subject.rebound or lazy:
        return None
    texts = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not subject.pure_functions(node)

    def alters(place: ast.AST) -> bool:
        if not needed or needed & stored(place):
            return bool(needed)
        if texts and all(not isinstance(each, ast.Attribute | ast.Subscript) for each in _owner(node)):
            return any(subject.changed(each, place) for each in needed)
        return not subject.leaves(place, needed)

    return repeating(subject, node, needed, alters, (*SIMPLE, ast.For))


def _owner(node: ast.expr) -> Iterator[ast.AST]:
    """What a method of a text is called on, and given."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner), args=args):
            for each in (owner, *args):
                yield from ast.walk(each)


def _name(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of), *_]):
            return f"{of}_{name}" if name != "len" else f"{of}_length"
        case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=attr)) if of not in ("self", "re"):
            return f"{of}_{attr}"
        case ast.Call(func=ast.Attribute(attr=last) | ast.Name(id=last)):
            return f"the_{last}"
    return "the_items"


RULE = Rule("invariant", "What is computed once is not computed again in every round.", find)
