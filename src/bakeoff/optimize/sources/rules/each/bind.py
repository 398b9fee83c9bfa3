"""A function of a module that is called in a loop is looked up once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, loop_around
from bakeoff.optimize.sources.rules.looking import stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject

STEADY = {
    "math",
    "cmath",
    "operator",
    "bisect",
    "heapq",
    "itertools",
    "string",
    "re",
    "functools",
    "statistics",
    "struct",
    "binascii",
}
"""Modules of which nobody is expected to exchange a function while a loop runs."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    modules = _modules(subject)
    done: set[str] = set()
    for node in ast.walk(subject.node):
        match node:
            case ast.Attribute(value=ast.Name(id=root), attr=attr, ctx=ast.Load()) if modules.get(root) in STEADY:
                loop = loop_around(subject, node)
                name = f"{root}.{attr}"
                if loop is None or name in done or root in stored(subject.node) or in_text(subject, node):
                    continue
                done.add(name)
                local = subject.fresh(attr)
                uses = [
                    each for each in ast.walk(loop) if ast.dump(each) == ast.dump(node) and not in_text(subject, each)
                ]
                changed = {id(each): local for each in uses}
                yield rewrite(before(subject, loop, f"{local} = {name}", changed))


def _modules(subject: Subject) -> dict[str, str]:
    """The modules that the file imports, by the name that they have in it."""
    found: dict[str, str] = {}
    for statement in subject.definition.file.tree.body:
        if isinstance(statement, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in statement.names}
    return found


RULE = Rule("bind", "A local is loaded by one instruction; a function of a module by two look-ups in dicts.", find)
