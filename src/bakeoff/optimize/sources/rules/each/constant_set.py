"""A list of constants of the module that is only searched gets a set beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.looking import names_in
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject

LEAST = 4
"""Items from which a set is worth its while."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if not subject.builtin("frozenset"):
        return
    for node in ast.walk(subject.node):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name) as right]):
                statement = statement_of(subject, node)
                if statement is None or in_text(subject, node) or name in subject.local:
                    continue
                if not is_constant(subject.definition.file.tree, name, ast.Constant):
                    continue
                known = subject.fresh(f"_{name.lower().lstrip('_')}_set")
                helper = f"{known} = frozenset({name})"
                text = subject.statements([statement], {id(right): known})
                yield Rewrite([([statement], text)], helpers=[helper], assumes=["hashable"])


def is_constant(tree: ast.Module, name: str, *items: type[ast.expr]) -> bool:
    """Whether the module binds `name` once, to a list or tuple of such items, and nothing in it changes that."""
    bound = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    if len(bound) != 1:
        return False
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=found))) if found == name:
                return False
            case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()) if found == name:
                return False
            case ast.Global(names=names) if name in names:
                return False
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=found)], value=ast.List() | ast.Tuple() as value)
                | ast.AnnAssign(target=ast.Name(id=found), value=ast.List() | ast.Tuple() as value)
            ) if found == name:
                plain = all(isinstance(each, items) for each in value.elts) and not names_in(value)
                return plain and len(value.elts) >= LEAST
    return False


RULE = Rule("constant-set", "A set finds a constant in constant time; a list compares one after the other.", find)
