"""Generator expressions that a call consumes whole become comprehensions, or `map` where they only call a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import CONSUMERS, replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, calls, has
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

WHOLE = {"sorted", "tuple"}
"""Functions that look at no item before they have all, as `join` does."""
QUICK = {
    "int", "str", "float", "len", "ord", "chr", "abs", "repr", "bool", "tuple", "list", "sorted", "sum", "max", "min",
}  # fmt: skip
"""Built-in functions of one argument."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.GeneratorExp() | ast.ListComp() if (mapped := _mapped(subject, node)) and _consumed(subject, node):
                yield from replaced(subject, node, mapped)
            case ast.Call(func=func, args=[ast.GeneratorExp() as inner, *rest]) if not _mapped(subject, inner):
                if has(inner, *SUSPENDS) or not _ends_alike(subject, inner):
                    continue
                # The parentheses of an only argument are those of the call.
                text = f"[{subject.code(inner)[1:-1]}]"
                alone = not rest and not node.keywords
                match func:
                    case ast.Name(id="list") if alone and subject.builtin("list"):
                        yield from replaced(subject, node, text)
                    case ast.Name(id=name) if name in WHOLE and subject.builtin(name):
                        yield from replaced(subject, inner, f"({text})" if alone else text)
                    case ast.Attribute(value=ast.Constant(value=str()), attr="join"):
                        yield from replaced(subject, inner, f"({text})" if alone else text)


def _ends_alike(subject: Subject, generator: ast.GeneratorExp) -> bool:
    """Whether nothing that it calls for an item may raise StopIteration, of which a generator makes a RuntimeError."""
    source = {id(each) for each in calls(generator.generators[0].iter)}
    return all(id(each) in source or subject.calm_call(each) for each in calls(generator))


def _mapped(subject: Subject, node: ast.GeneratorExp | ast.ListComp) -> str | None:
    """`map(f, xs)` for `f(x) for x in xs`, where `f` is a built-in function or one of the file."""
    match node.elt, node.generators:
        case (
            ast.Call(func=ast.Name(id=name), args=[ast.Name(id=item)], keywords=[]),
            [ast.comprehension(target=ast.Name(id=target), iter=source, ifs=[], is_async=0)],
        ) if item == target != name:
            # A function of the file may raise StopIteration, which would end a `map` in silence.
            if name not in QUICK or not subject.builtin(name, "map", "list"):
                return None
            text = f"map({name}, {subject.code(source)})"
            return f"list({text})" if isinstance(node, ast.ListComp) else f"({text})"
    return None


def _consumed(subject: Subject, node: ast.expr) -> bool:
    """Whether it is a list, or a generator that is used up where it stands."""
    match subject.parents[id(node)]:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Constant(), attr=name), args=[first, *_]):
            return isinstance(node, ast.ListComp) or (first is node and name in CONSUMERS)
    return isinstance(node, ast.ListComp)


RULE = Rule("join-list", "A generator is resumed for every item; `map` has no frame, a comprehension one.", find)
