"""Guards: what is right only for some values stands beside the original, which runs for all others.

Nobody has to believe an assumption then: callers may give floats, iterators, tuples or what cannot be hashed, and
errors are raised where they were, by what raised them before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.rule import Rewrite

LONGEST = 30
"""Lines of a statement beyond which it is not written twice."""


def checked(subject: Subject, statements: Sequence[ast.stmt], condition: str, fast: str) -> Iterator[Rewrite]:
    """Statements in a new form where a condition holds; nothing where they are a guard's original already."""
    if not condition:
        yield Rewrite([(statements, fast)])
    elif fits_twice(subject, statements):
        original = subject.indented(subject.statements(statements))
        text = f"if {condition}:\n{subject.indented(fast)}\nelse:\n{original}"
        yield Rewrite([(statements, text)])


def tried(subject: Subject, statement: ast.stmt, setup: str, fast: str) -> Iterator[Rewrite]:
    """A statement in a new form that needs `setup`; where that fails, the original decides whether that is an error."""
    if fits_twice(subject, [statement]):
        original = subject.indented(subject.statements([statement]))
        text = f"try:\n{subject.indented(setup)}\nexcept Exception:\n{original}\nelse:\n{subject.indented(fast)}"
        yield Rewrite([([statement], text)])


def fits_twice(subject: Subject, statements: Sequence[ast.stmt]) -> bool:
    """Whether statements may be written twice: they are short, and no guard's original already."""
    lines = sum((each.end_lineno or each.lineno) - each.lineno + 1 for each in statements)
    return lines <= LONGEST and not any(is_original(subject, each) for each in statements)


def is_original(subject: Subject, node: ast.AST) -> bool:
    """Whether a node is in the part of a guard that keeps the original: it stays as it is."""
    inner = node
    for each in subject.around(node):
        match each:
            case ast.If(test=test, orelse=orelse) if orelse and any(inner is one for one in orelse) and _types(test):
                return True
            case ast.IfExp(test=test, orelse=orelse) if inner is orelse and _types(test):
                return True
            case ast.Try(handlers=[ast.ExceptHandler(type=ast.Name(id="Exception")) as handler], orelse=[_, *_]) if (
                inner is handler
            ):
                return True
        inner = each
    return False


def _types(test: ast.expr) -> bool:
    """Whether a condition asks for exact types, as guards do."""
    return any(
        isinstance(each, ast.Compare)
        and isinstance(each.ops[0], ast.Is)
        and isinstance(each.left, ast.Call)
        and ast.unparse(each.left.func) == "type"
        for each in ast.walk(test)
    )


def plain(subject: Subject, values: Mapping[str, Iterable[ast.expr]]) -> str:
    """The condition that these names may be keys of a memo; empty where all expressions for them certainly may."""
    unsure = [name for name, nodes in values.items() if any(subject.sure(each) not in MEMO for each in nodes)]
    each = [f"type({name}) is str or type({name}) is int or _plain({name})" for name in unsure]
    return each[0] if len(each) == 1 else " and ".join(f"({one})" for one in each)


MEMO = {"int", "str", "bytes"}


def is_a(name: str, *kinds: str) -> str:
    """The condition that a value is of one of some types, and of no subclass."""
    return " or ".join(f"type({name}) is {kind}" for kind in kinds)


def is_method(subject: Subject, attribute: str) -> bool:
    """Whether reading an attribute may run a function of the file."""
    names = {attribute, "__getattr__", "__getattribute__"}
    return any(
        isinstance(each, ast.FunctionDef) and each.name in names for each in ast.walk(subject.definition.file.tree)
    )


def looked_up(subject: Subject, node: ast.expr) -> str:
    """A chain of attributes and items read in such a way that nothing else can happen; else what it is."""
    match node:
        case ast.Attribute(value=value, attr=attr):
            return f"_field({looked_up(subject, value)}, {attr!r})"
        case ast.Subscript(value=value, slice=at):
            return f"_at({looked_up(subject, value)}, {ast.unparse(at)})"
        case ast.Tuple(elts=[_, _, *_] as elts):
            return f"({', '.join(looked_up(subject, each) for each in elts)})"
    return subject.code(node)
