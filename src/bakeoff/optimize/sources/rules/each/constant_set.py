"""A list of constants of the module that is only searched gets a set beside it."""

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
                if is_constant(subject.definition.file.tree, name):
                    known = subject.fresh(f"_{name.lower().lstrip('_')}_set")
                    changed, helpers = searched(subject, [node], known, name)
                    text = subject.statements([statement], changed)
                    yield Rewrite([([statement], text)], helpers=[f"{known} = frozenset({name})", *helpers])


RULE = Rule("constant-set", "A set finds a constant in constant time; a list compares one after the other.", find)
