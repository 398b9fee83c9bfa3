"""A private list of constants of the module that is only searched gets a set beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.each.membership_set import searched
from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import is_constant
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if not subject.builtin("frozenset"):
        return
    for node in ast.walk(subject.node):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
                statement = statement_of(subject, node)
                if statement is None or in_text(subject, node) or name in subject.local:
                    continue
                if is_constant(subject.definition.file.tree, name) and is_fixed(subject.definition.file.tree, name):
                    known = subject.fresh(f"_{name.lower().lstrip('_')}_set")
                    changed = searched(subject, [node], known, name)
                    text = subject.statements([statement], changed)
                    yield Rewrite([([statement], text)], helpers=[f"{known} = frozenset({name})"])


def is_fixed(tree: ast.Module, name: str) -> bool:
    """Whether nobody else is meant to change it, and the file only searches it, goes through it or asks its length."""
    if not name.startswith("_") or name.startswith("__"):
        return False
    allowed: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() as found]):
                allowed.add(id(found))
            case ast.For(iter=ast.Name() as found) | ast.comprehension(iter=ast.Name() as found):
                allowed.add(id(found))
            case ast.Call(func=ast.Name(id="len" | "frozenset"), args=[ast.Name() as found]):
                allowed.add(id(found))
            case ast.Call(func=ast.Name(id="_has"), args=[_, _, ast.Name() as found]):
                allowed.add(id(found))
    names = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == name]
    return all(id(each) in allowed for each in names if isinstance(each.ctx, ast.Load))


RULE = Rule("constant-set", "A set finds a constant in constant time; a list compares one after the other.", find)
