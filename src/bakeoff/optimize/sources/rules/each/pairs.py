"""Two loops over the places of all pairs become one over `combinations`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text
from bakeoff.optimize.sources.rules.looking import changed_in, has, plain_for
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for outer in ast.walk(subject.node):
        if not isinstance(outer, ast.For) or not plain_for(outer):
            continue
        match outer:
            case ast.For(target=ast.Name(id=i), body=[ast.For(target=ast.Name(id=j), orelse=[]) as inner]) if i != j:
                yield from _rewrite(subject, outer, inner, i, j)


def _rewrite(subject: Subject, outer: ast.For, inner: ast.For, i: str, j: str) -> Iterator[Rewrite]:
    reads, bare = [], 0
    xs = None
    for node in (each for top in inner.body for each in ast.walk(top)):
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Name(id=at), ctx=ast.Load()) if at in (i, j):
                reads.append((node, at))
                bare -= 1
                if xs not in (None, owner):
                    return
                xs = owner
            case ast.Name(id=name) if name in (i, j):
                bare += 1
    # A break ends the inner loop alone, and would end all.
    if not reads or bare or xs is None or xs not in subject.local or has(inner.body, ast.Break):
        return
    length = _length(subject, xs, outer)
    from_i = ast.unparse(inner.iter) in {f"range({i} + 1, {each})" for each in length}
    whole = ast.unparse(outer.iter) in {f"range({each})" for each in length} | {f"range({each} - 1)" for each in length}
    if not from_i or not whole or changed_in(xs, outer) or {xs, i, j} & subject.shared:
        return
    if subject.read_outside([i, j], [outer]) or any(in_text(subject, node) for node, _ in reads):
        return
    line, combinations = subject.imported("itertools", "combinations")
    one, two = subject.fresh("first"), subject.fresh("second")
    body = subject.statements(inner.body, {id(node): one if at == i else two for node, at in reads})
    text = f"for {one}, {two} in {combinations}({xs}, 2):\n{subject.indented(body)}"
    yield rewrite(([outer], text), imports=[line])


def _length(subject: Subject, xs: str, outer: ast.For) -> set[str]:
    """The ways in which the function writes the length of `xs`."""
    found = {f"len({xs})"}
    for node in ast.walk(subject.node):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=n)], value=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=of)])
            ) if of == xs:
                stores = [
                    each
                    for each in ast.walk(subject.node)
                    if isinstance(each, ast.Name) and each.id == n and isinstance(each.ctx, ast.Store)
                ]
                if len(stores) == 1 and not changed_in(xs, *subject.node.body) and n not in subject.parameters:
                    found.add(n)
    return found


RULE = Rule("pairs", "The pairs are made in C, without counting, indexing and a loop within a loop.", find)
