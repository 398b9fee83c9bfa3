"""Hoisting of a call: what a pure function of the file gives in every round alike is computed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.sources.rules.editing_expressions import COMPREHENSIONS, before, in_text, repeating
from bakeoff.optimize.sources.rules.kinds import LAZY, base
from bakeoff.optimize.sources.rules.looking import USUAL_METHODS, calm, only_looked_at, stored
from bakeoff.optimize.sources.rules.purity import touched
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

ITEMS = "(items)"
"""What is gone through tells it, once it has a name."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    done: set[str] = set()
    for node in ast.walk(subject.node):
        if not isinstance(node, ast.Call | ast.ListComp | ast.SetComp | ast.DictComp) or in_text(subject, node):
            continue
        text = subject.code(node)
        if text in done or not _worth(subject, node):
            continue
        place = _place(subject, node)
        if place is None or subject.trying(node, place):
            continue
        same = [each for each in ast.walk(place) if isinstance(each, type(node)) and ast.dump(each) == ast.dump(node)]
        same = [each for each in same if not in_text(subject, each) and shareable(subject, each)]
        if not any(each is node for each in same):
            continue
        done.add(text)
        guard = _guard(subject, node, place) if _always(subject, node, place) else None
        name = subject.fresh(_name(node))
        changed = {id(each): name for each in same}
        if guard is not None:
            head = ""
            if guard is ITEMS:
                assert isinstance(place, ast.For)
                guard = subject.fresh("items")
                head = f"{guard} = {subject.code(place.iter)}\n"
                changed[id(place.iter)] = guard
            value = f"{text} if {guard} else ()" if guard else text  # what others make of it does not fail
            yield rewrite(before(subject, place, f"{head}{name} = {value}", changed), assumes=["pure"])
        elif isinstance(node, ast.Call) and subject.pure_functions(node):
            yield _when_asked(subject, node, place, name, changed)


def _when_asked(subject: Subject, node: ast.Call, place: ast.stmt, name: str, changed: dict[int, str]) -> Rewrite:
    """It is computed when the first round asks for it: perhaps none does."""
    (one, cache), (two, partial) = subject.imported("functools", "cache"), subject.imported("functools", "partial")
    parts = [subject.code(node.func), *map(subject.code, node.args)]
    parts += [f"{each.arg}={subject.code(each.value)}" for each in node.keywords]
    head = f"{name} = {cache}({partial}({', '.join(parts)}))" if len(parts) > 1 else f"{name} = {cache}({parts[0]})"
    imports = [one, two] if len(parts) > 1 else [one]
    return rewrite(before(subject, place, head, dict.fromkeys(changed, f"{name}()")), imports=imports, assumes=["pure"])


def _worth(subject: Subject, node: ast.expr) -> bool:
    """Whether this is a call of a pure function, or goes through something, and changes nothing."""
    if isinstance(node, ast.Call):
        starred = any(isinstance(each, ast.Starred) for each in node.args) or any(
            not each.arg for each in node.keywords
        )
        if starred:
            return False
        if subject.pure_functions(node):
            return calm(*node.args, *(each.value for each in node.keywords))
        match node.func:
            case ast.Name(id="sorted" | "sum" | "min" | "max" | "set" | "any" | "all" | "list" | "dict" as name):
                if not subject.builtin(name) or not node.args:
                    return False
            case _:
                return False
    local = stored(subject.node)
    inner = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    quiet = not any(isinstance(each, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for each in ast.walk(node))
    return quiet and all(subject.purity.calm_call(each, subject.home, local) for each in inner)


def _name(node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=last) | ast.Name(id=last)):
            return f"the_{last}"
    return "the_items"


def _place(subject: Subject, node: ast.expr) -> ast.stmt | None:
    """The outermost statement that computes it again and again while nothing that it depends on changes."""
    needed = subject.needs(node)
    lazy = any(base(subject.kind(ast.Name(each, ast.Load()))) in LAZY for each in needed)
    if needed & subject.rebound or lazy or not needed & (subject.local | {each for each in needed if "." in each}):
        return None

    def alters(loop: ast.stmt) -> bool:
        return touched(subject.changes(loop), needed) or bool(needed & stored(loop))

    def holds(statement: ast.stmt) -> bool:
        return isinstance(statement, SIMPLE) and not touched(subject.changes(statement), needed)

    return repeating(subject, node, needed, alters, holds)


SIMPLE = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr, ast.AugAssign, ast.For)


def shareable(subject: Subject, node: ast.expr) -> bool:
    """Whether what it gives may be the same object each time: nobody changes or keeps it."""
    match node:
        case ast.Call(func=ast.Name(id="sum" | "min" | "max" | "any" | "all")):
            return True
        case ast.Call() if called := subject.pure_functions(node) or _foreign(subject, node):
            if not any(subject.purity.makes_new(each) for each in called):
                return True
    parent = subject.parents.get(id(node))
    if _only_read(subject, node, parent):
        return True
    match parent:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            changed = subject.changes(*subject.node.body)
            loads = subject.loads.get(name, [])
            return (
                changed is not None
                and name not in changed
                and all(_only_read(subject, load, subject.parents.get(id(load))) for load in loads)
            )
    return False


def _foreign(subject: Subject, call: ast.Call) -> list[str]:
    """Pure methods of classes of the file that a call on some object means."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr in USUAL_METHODS:
        return []
    found = subject.purity.methods.get(call.func.attr, [])
    return found if all(each in subject.purity.pure for each in found) else []


def _only_read(subject: Subject, node: ast.expr, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Call) and node in parent.args:
        local = stored(subject.node)
        return not isinstance(parent.func, ast.Attribute) and subject.purity.calm_call(parent, subject.home, local)
    return only_looked_at(node, parent) or isinstance(parent, ast.BinOp | ast.If | ast.IfExp | ast.UnaryOp)


def _always(subject: Subject, node: ast.AST, place: ast.stmt) -> bool:
    """Whether every first round computes it, and before anything else is decided."""
    child: ast.AST = node
    for each in subject.around(node):
        match each:
            case ast.For(iter=source, body=body) if child is not source:
                return each is place and _before(body, child)
            case ast.While(test=test) if child is test:
                return each is place
            case ast.While(test=ast.Constant(), body=body):
                return each is place and _before(body, child)
            case ast.While() | ast.Try() | ast.TryStar() | ast.Lambda() | ast.Match() | ast.With():
                return False
            case ast.If(test=test) if child is not test:
                return False
            case ast.IfExp(test=test) if child is not test:
                return False
            case ast.BoolOp(values=[first, *_]) if child is not first:
                return False
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                generator = each.generators[0]
                if len(each.generators) > 1 or (generator.ifs and child is not generator):
                    return False
                if child is generator and generator.ifs and not any(n is node for n in ast.walk(generator.ifs[0])):
                    return False
                if any(isinstance(one, COMPREHENSIONS) for one in subject.around(each) if isinstance(one, ast.expr)):
                    return False
        if each is place:
            return True
        child = each
    return False


def _before(body: list[ast.stmt], child: ast.AST) -> bool:
    for statement in body:
        if statement is child:
            return True
        if any(isinstance(each, ast.Continue | ast.Break | ast.Return | ast.Raise) for each in ast.walk(statement)):
            return False
    return False


def _guard(subject: Subject, node: ast.expr, place: ast.stmt) -> str | None:
    """Guard that tells whether there is a first round; empty: there is; None: nobody knows."""
    source: ast.expr | None = None
    if isinstance(place, ast.While):
        return ""
    if isinstance(place, ast.For):
        source = place.iter
    else:
        around = [each for each in subject.around(node) if isinstance(each, COMPREHENSIONS)]
        source = around[-1].generators[0].iter if around else None
    match source:
        case ast.Name() | ast.Attribute(value=ast.Name()) if base(subject.kind(source)) not in LAZY:
            return subject.code(source)
        case ast.Call(func=ast.Name(id="range"), args=args) if subject.builtin("range") and calm(*args):
            return subject.code(source)
        case ast.Call() if isinstance(place, ast.For):
            listed = base(subject.kind(source)) in ("list", "tuple", "set", "dict")
            called = subject.pure_functions(source)
            if listed or (called and all(_gives_list(subject, each) for each in called)):
                return ITEMS
    return None


def _gives_list(subject: Subject, name: str) -> bool:
    """Whether a function gives a list, which tells whether there is anything in it."""
    inner = Subject(locate(subject.definition.file, name))
    here = [each.value for each in ast.walk(inner.node) if isinstance(each, ast.Return)]
    return bool(here) and all(value and base(inner.kind(value)) in ("list", "set", "tuple", "dict") for value in here)


RULE = Rule("steady-call", "What a function of the file gives in every round alike is computed once.", find)
