"""Comprehensions that only copy become `list`, a slice, or `chain`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.kinds import base, element
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.ListComp(
                elt=ast.Name(id=item), generators=[ast.comprehension(target=ast.Name(id=x), ifs=[]) as one]
            ):
                if item == x and not one.is_async and subject.builtin("list"):
                    yield from replaced(subject, node, f"list({_argument(subject, one.iter)})")
            case ast.SetComp(
                elt=ast.Name(id=item), generators=[ast.comprehension(target=ast.Name(id=x), ifs=[]) as one]
            ):
                if item == x and not one.is_async and subject.builtin("set"):
                    yield from replaced(subject, node, f"set({_argument(subject, one.iter)})")
            case ast.DictComp(key=ast.Name(id=k), value=ast.Name(id=v), generators=[ast.comprehension(target=ast.Tuple(
                elts=[ast.Name(id=first), ast.Name(id=second)]), ifs=[]) as one]):  # fmt: skip
                items = isinstance(one.iter, ast.Call) and ast.unparse(one.iter.func).endswith(".items")
                usual = (k, v) == (first, second) and k != v and not one.is_async and subject.builtin("dict")
                if items and usual:
                    yield from replaced(subject, node, f"dict({subject.code(one.iter)})")
            case ast.ListComp(elt=ast.Name(id=item), generators=[
                ast.comprehension(target=ast.Name(id=xs), ifs=[]) as outer,
                ast.comprehension(target=ast.Name(id=x), iter=ast.Name(id=again), ifs=[]) as inner,
            ]):  # fmt: skip
                if (
                    item == x
                    and again == xs
                    and x != xs
                    and not (outer.is_async or inner.is_async)
                    and subject.builtin("list")
                ):
                    line, chain = subject.imported("itertools", "chain")
                    for each in replaced(
                        subject, node, f"list({chain}.from_iterable({_argument(subject, outer.iter)}))"
                    ):
                        yield Rewrite(each.replacements, (line,))
            case ast.Call(func=ast.Name(id="sum"), args=[lists, ast.List(elts=[])], keywords=[]):
                if base(element(subject.kind(lists))) in ("list", None) and subject.builtin("sum", "list"):
                    line, chain = subject.imported("itertools", "chain")
                    for each in replaced(subject, node, f"list({chain}.from_iterable({_argument(subject, lists)}))"):
                        yield Rewrite(each.replacements, (line,))
            case ast.ListComp(elt=ast.Subscript(value=ast.Name(id=xs), slice=index), generators=[
                ast.comprehension(target=ast.Name(id=i), iter=source, ifs=[], is_async=0)]):  # fmt: skip
                reverse = (
                    ast.unparse(index) in (f"len({xs}) - 1 - {i}", f"len({xs}) - {i} - 1", f"-{i} - 1", f"-1 - {i}")
                    and ast.unparse(source) == f"range(len({xs}))"
                ) or (ast.unparse(index) == i and ast.unparse(source) == f"range(len({xs}) - 1, -1, -1)")
                if (
                    reverse
                    and base(subject.kind(ast.Name(xs, ast.Load()))) in ("list", "str", "tuple", None)
                    and xs in subject.local
                ):
                    yield from replaced(subject, node, f"list({xs}[::-1])")


def _argument(subject: Subject, node: ast.expr) -> str:
    text = subject.code(node)
    return f"({text})" if isinstance(node, ast.Tuple) and not text.startswith("(") else text


RULE = Rule("copy", "Copying runs in C, and knows its length before.", find)
