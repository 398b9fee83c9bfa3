"""Origins of names (binding sites) in Python: each is to come from one thing, whichever side bound it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from bakeoff.plan.merge.rules.node import UndecidedError

Origin = tuple[str, str]
"""A name that is bound at the top of a module, or a member of a class there with a dot before it, and what it comes
from: an import, a definition, an assignment."""


def check_origins(ours: set[Origin], theirs: set[Origin], merged: set[Origin]) -> None:
    """Refuse a name of two origins that no side has both.

    `*` counts as one name, for what it binds is not to be seen.

    Raises:
        UndecidedError: there is one.
    """
    found: dict[str, set[Origin]] = defaultdict(set)
    for origin in merged:
        found[origin[0]].add(origin)
    if any(len(row) > 1 and not row <= ours and not row <= theirs for row in found.values()):
        raise UndecidedError


def origins_of(statements: Sequence[ast.stmt]) -> Iterator[Origin]:
    """The origins of all names that the statements bind, in branches too, but not in functions."""
    for statement in statements:
        match statement:
            case ast.Import(names=names):
                for each in names:
                    top = each.name.partition(".")[0]
                    yield each.asname or top, f"import {each.name if each.asname else top}"
            case ast.ImportFrom(names=names):
                module = "." * statement.level + (statement.module or "")
                yield from ((each.asname or each.name, f"from {module} import {each.name}") for each in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, "definition"
            case ast.ClassDef(name=name):
                yield name, "definition"
                yield from ((f"{name}.{member}", origin) for member, origin in _members(statement))
            case ast.Assign(targets=targets):
                yield from _assigned(targets)
            case ast.AnnAssign(target=target):
                yield from _assigned([target])
            case _:
                yield from origins_of([each for each in _inside(statement) if isinstance(each, ast.stmt)])


def _members(definition: ast.ClassDef) -> Iterator[Origin]:
    """Members that the body of a class binds, and those that its methods assign."""
    yield from origins_of(definition.body)
    for node in ast.walk(definition):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name, "assignment"


def _assigned(targets: Iterable[ast.AST]) -> Iterator[Origin]:
    for target in targets:
        names = (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        yield from ((name, "assignment") for name in names)


def _inside(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statements of its branches."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body
        else:
            yield child
