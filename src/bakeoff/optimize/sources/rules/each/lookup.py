"""A loop over pairs that looks for one key, and stops at it, becomes a look-up in a dict."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.joining import sides
from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.looking import calm, is_constant, names_in, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]),
                body=[ast.If(test=test, orelse=[], body=body)],
            ):
                found = sides(test, {key})
                if found is None or not isinstance(found[0], ast.Name):
                    continue
                sought = found[1]
                if value in names_in(sought) or not calm(sought) or key in names_in(*body):
                    continue
                if not isinstance(body[-1], ast.Break | ast.Return) or stored(*body) & {key, value}:
                    continue
                if subject.read_outside([key, value], [node]) or subject.caught(node, value):
                    continue
                yield from _rewrite(subject, node, sought, value, body)


def _rewrite(subject: Subject, loop: ast.For, sought: ast.expr, value: str, body: list[ast.stmt]) -> Iterator[Rewrite]:
    helpers: list[str] = []
    match loop.iter:
        case ast.Call(func=ast.Attribute(value=ast.Name() as owner, attr="items"), args=[], keywords=[]):
            if base(subject.kind(owner)) not in ("dict", None):
                return
            known = owner.id
        case ast.Name(id=name) if name not in subject.local and subject.builtin("reversed", "dict"):
            if not is_constant(subject.definition.file.tree, name, ast.Tuple):
                return
            known = subject.fresh(f"_{name.lower().lstrip('_')}_by_key")
            helpers = [f"{known} = dict(reversed({name}))"]
        case _:
            return
    rest = body[:-1] if isinstance(body[-1], ast.Break) else body
    lines = [f"if {subject.code(sought)} in {known}:"]
    if value in names_in(*body):
        lines.append(f"    {value} = {known}[{subject.code(sought)}]")
    if rest:
        lines.append(subject.indented(subject.statements(rest)))
    if len(lines) == 1:
        lines.append("    pass")
    if loop.orelse:
        lines += ["else:", subject.indented(subject.statements(loop.orelse))]
    yield Rewrite([([loop], "\n".join(lines))], helpers=helpers, assumes=["hashable"])


RULE = Rule("lookup", "A dict finds a key at once; a loop makes every pair and compares every key.", find)
