"""Characters that are dropped or exchanged one by one go through `str.translate`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(""), attr="join"),
                args=[ast.ListComp() | ast.GeneratorExp() as inner],
            ):
                text = _translated(subject, inner)
                if text:
                    yield from replaced(subject, node, text)


def _translated(subject: Subject, inner: ast.ListComp | ast.GeneratorExp) -> str | None:
    match inner.generators:
        case [ast.comprehension(target=ast.Name(id=c), iter=text, ifs=ifs, is_async=0)]:
            if subject.kind(text) != "str" or not subject.builtin("str"):
                return None
            match inner.elt, ifs:
                case ast.Name(id=same), [
                    ast.Compare(ast.Name(id=tested), [ast.NotIn()], [ast.Constant(str()) as gone])
                ]:
                    if same == tested == c:
                        return f"{subject.part(text)}.translate(str.maketrans('', '', {subject.code(gone)}))"
                case ast.Call(ast.Attribute(value=table, attr="get"), [ast.Name(id=one), ast.Name(id=two)]), []:
                    if one == two == c and _single(table):
                        return f"{subject.part(text)}.translate(str.maketrans({subject.code(table)}))"
    return None


def _single(table: ast.expr) -> bool:
    """Whether a table is written out, from single characters to texts."""
    return isinstance(table, ast.Dict) and all(
        isinstance(key, ast.Constant) and isinstance(key.value, str) and len(key.value) == 1
        and isinstance(value, ast.Constant) and isinstance(value.value, str)
        for key, value in zip(table.keys, table.values, strict=True)
    )  # fmt: skip


RULE = Rule("translate", "A table is applied to all characters in C, without an object for each of them.", find)
