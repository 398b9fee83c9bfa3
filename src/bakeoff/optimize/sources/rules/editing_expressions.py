"""Rewrites that replace expressions inside a statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import stored
from bakeoff.optimize.sources.rules.rule import Rewrite


def statement_of(subject: Subject, node: ast.AST) -> ast.stmt | None:
    """The statement that an expression of the function's own frame stands in; None for its own signature."""
    for each in subject.around(node):
        if isinstance(each, ast.stmt):
            return None if each is subject.node else each
    return None


def replaced(subject: Subject, node: ast.expr, text: str) -> Iterator[Rewrite]:
    """One expression replaced by another; none inside an f-string, whose parts have no place of their own."""
    statement = statement_of(subject, node)
    if statement is None or in_text(subject, node):
        return
    yield Rewrite([([statement], subject.statements([statement], {id(node): text}))])


def in_text(subject: Subject, node: ast.AST) -> bool:
    """Whether an expression is part of an f-string."""
    return any(isinstance(each, ast.JoinedStr) for each in subject.around(node))


def repeated(subject: Subject, node: ast.AST) -> bool:
    """Whether something around a node repeats it: a loop, a comprehension, or a function inside."""
    again = (ast.Lambda, ast.FunctionDef, *COMPREHENSIONS)
    return bool(loops_around(subject, node)) or any(
        isinstance(each, again) and each is not subject.node for each in subject.around(node)
    )


def loops_around(subject: Subject, node: ast.AST) -> list[ast.For | ast.While]:
    """All loops of the same frame around a node, innermost first, of which it is not the source."""
    found: list[ast.For | ast.While] = []
    previous = node
    for each in subject.around(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            break
        if isinstance(each, ast.While) or (isinstance(each, ast.For) and previous is not each.iter):
            found.append(each)
        previous = each
    return found


def before(subject: Subject, statement: ast.stmt, new: str, changed: Mapping[int, str]) -> tuple[list[ast.stmt], str]:
    """A statement with others before it, and expressions in it replaced."""
    return [statement], f"{new}\n{subject.statements([statement], changed)}"


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)
"""Statements that compute one value, and change nothing before it is there."""


def repeating(
    subject: Subject,
    node: ast.AST,
    names: set[str],
    alters: Callable[[ast.AST], bool] | None = None,
    kinds: tuple[type[ast.stmt], ...] = (ast.stmt,),
) -> ast.stmt | None:
    """The outermost statement that computes `node` again and again while none of `names` changes; None where none is.

    What stands before it is computed once instead. Comprehensions and lambdas repeat, too: then it is their statement.

    Args:
        subject: the function.
        node: what is computed.
        names: what it depends on.
        alters: whether a piece may change that; if left out, as far as its text tells.
        kinds: statements before which it may stand what their own comprehensions compute.
    """

    def changes(piece: ast.AST) -> bool:
        return any(subject.changed(name, piece) for name in names) if alters is None else alters(piece)

    found: ast.stmt | None = None
    again = False
    child = node
    for each in subject.around(node):
        if each is subject.node:
            break
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        if _is_late(subject, each):
            return found
        if isinstance(each, ast.Lambda):
            if names & {argument.arg for argument in ast.walk(each) if isinstance(argument, ast.arg)}:
                return found
            again = True
        elif isinstance(each, COMPREHENSIONS):
            first = each.generators[0]
            if child is not first or not any(inner is node for inner in ast.walk(first.iter)):
                if names & stored(*(one.target for one in each.generators)):
                    return found
                again = True
        elif isinstance(each, ast.For | ast.While) and not (isinstance(each, ast.For) and child is each.iter):
            if changes(each):
                return found
            found, again = each, False
        if again and isinstance(each, ast.stmt):
            if not isinstance(each, kinds) or changes(child if isinstance(each, SIMPLE) else each):
                return found
            found, again = each, False
        child = each
    return found


CONSUMERS = {"sum", "any", "all", "sorted", "list", "tuple", "set", "frozenset", "min", "max", "dict", "join", "extend"}


def _is_late(subject: Subject, node: ast.AST) -> bool:
    """Whether what is in it may be computed when the function is over: an inner function, a generator handed on."""
    parent = subject.parents.get(id(node))
    match node, parent:
        case ast.Lambda(), ast.keyword(arg="key"):
            return False
        case ast.GeneratorExp(), ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name not in CONSUMERS
    return isinstance(node, ast.Lambda | ast.GeneratorExp)
