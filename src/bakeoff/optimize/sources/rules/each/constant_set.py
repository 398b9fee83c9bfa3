"""A list of constants of the module that is only searched gets a set beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.looking import is_constant
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


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


RULE = Rule("constant-set", "A set finds a constant in constant time; a list compares one after the other.", find)
