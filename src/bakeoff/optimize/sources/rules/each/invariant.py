"""Loop-invariant code motion: what gives the same in every round of a loop is computed once before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, loops_around, statement_of
from bakeoff.optimize.sources.rules.looking import (
    TEXTS_METHODS,
    bound_inside,
    calm,
    changed_in,
    names_in,
    only_looked_at,
    stored,
    stores_parts,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

WORK = {"sum", "sorted", "set", "frozenset", "list", "tuple", "dict", "len", "str", "max", "min"}
FRESH = {"sorted", "list", "dict", "set"}
"""These give something new every time, which must not be changed or kept by two."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    done: set[str] = set()
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.Call) or in_text(subject, node) or not _pure(subject, node):
            continue
        text = subject.code(node)
        place = _place(subject, node)
        if place is None or text in done or subject.trying(node, place):
            continue
        done.add(text)
        name = subject.fresh(_name(node))
        same = [each for each in ast.walk(place) if isinstance(each, ast.Call) and ast.dump(each) == ast.dump(node)]
        changed = {id(each): name for each in same if not in_text(subject, each)}
        value = text
        if isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
            # What runs for no item needs no value.
            more = "".join(f", {each.arg}={subject.code(each.value)}" for each in node.keywords)
            default = "" if any(each.arg == "default" for each in node.keywords) else ", default=None"
            value = f"{node.func.id}({subject.code(node.args[0])}{more}{default})"
        yield rewrite(before(subject, place, f"{name} = {value}", changed))


def _pure(subject: Subject, node: ast.Call) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=keywords) if name in WORK:
            if not subject.builtin(name) or not names_in(argument) or not _steady(subject, argument):
                return False
            if not all(_fixed(each) for each in keywords):
                return False
            parent = subject.parents.get(id(node))
            if name in FRESH and not only_looked_at(node, parent):
                return False
            return name != "len" or isinstance(argument, ast.Name | ast.Attribute)
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args, keywords=[]) if attr in TEXTS_METHODS:
            return subject.kind(owner) == "str" and all(_steady(subject, each) for each in [owner, *args])
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=args):
            return all(isinstance(each, ast.Constant) for each in args) and "re" not in subject.local
    return False


def _fixed(keyword: ast.keyword) -> bool:
    """Whether a keyword's value is told by its text alone."""
    match keyword:
        case ast.keyword(arg="key" | "reverse" | "default", value=ast.Constant()):
            return True
        case ast.keyword(arg="key", value=ast.Lambda(args=arguments, body=body)):
            return calm(body) and names_in(body) <= {each.arg for each in arguments.args}
    return False


def _steady(subject: Subject, node: ast.expr) -> bool:
    names = (
        names_in(node)
        - bound_inside(node)
        - {each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    )
    lazy = any(subject.kind(ast.Name(name, ast.Load())) in LAZY for name in names)
    return calm(node) and not lazy and bool(names) and names <= subject.local and not names & subject.rebound


LAZY = {"map", "filter", "zip", "enumerate", "iterator", "generator"}


def _place(subject: Subject, node: ast.Call) -> ast.stmt | None:
    """The outermost loop around in which nothing that it depends on changes; or the statement of a comprehension."""
    names = names_in(node) - bound_inside(node)
    roots = [each for each in names if each in subject.local]
    attributes = any(_reads_part(subject, each) for argument in node.args[:1] for each in ast.walk(argument))
    found: ast.stmt | None = None
    bound: set[str] = set()
    inside_each = False
    previous: ast.AST = node
    for each in subject.around(node):
        if isinstance(each, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            first = any(previous is one for one in each.generators[:1])
            inside_each = inside_each or not (first and node in list(ast.walk(each.generators[0].iter)))
            bound |= stored(*(one.target for one in each.generators))
        if isinstance(each, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) and each is not subject.node:
            return None
        previous = each
    if bound & names:
        return None
    if inside_each:
        statement = statement_of(subject, node)
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr | ast.AugAssign):
            found = statement
    for loop in loops_around(subject, node):
        if any(changed_in(name, loop) for name in roots) or (attributes and stores_parts(subject, loop)):
            break
        found = loop
    if isinstance(found, ast.For | ast.While) and not inside_each and not _goes_on(found):
        return None
    return found


def _goes_on(loop: ast.stmt) -> bool:
    """Whether it is no loop that ends in its first round, which would gain nothing."""
    return not isinstance(loop, ast.For) or not any(isinstance(each, ast.Break | ast.Return) for each in loop.body)


def _reads_part(subject: Subject, node: ast.AST) -> bool:
    """Whether this reads an attribute or item, which others may change, and not only a method."""
    call = subject.parents.get(id(node))
    method = isinstance(call, ast.Call) and call.func is node
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and not method)


def _name(node: ast.Call) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)]):
            return f"{of}_{name}" if name != "len" else f"{of}_length"
        case ast.Call(func=ast.Name(id=name)):
            return f"the_{name}"
        case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=attr)):
            return f"{of}_{attr}"
    return "invariant"


RULE = Rule("invariant", "What is computed once is not computed again in every round.", find)
