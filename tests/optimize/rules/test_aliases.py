"""Alias analysis: what a piece of a function may change by another name."""

from __future__ import annotations

import ast

import pytest

from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.sources.rules.facts.subject import Subject


def subject(body: str, parameters: str = "p, q, n: int") -> Subject:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return Subject(locate(f"def f({parameters}):\n{lines}    return None\n".encode(), "f"))


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("a = [p]\np.append(1)", False), ("a = p\np.append(1)", True), ("a = p\nq.append(1)", True),
        ("a = list(p)\np.append(1)", False), ("a = p[1:]\np.append(1)", False), ("a = p + q\np.append(1)", False),
        ("a = p if n else q\nq.clear()", True), ("a = p or []\np[0] = 1", True),
        ("a = []\nb = [a]\nb[0].append(1)", True),
        ("a = []\nb = {}\nb[1] = a\nfor x in b.values():\n    x.append(1)", True),
        ("a = []\nb = []\nb.append(a)\nfor i, x in enumerate(b):\n    x += [1]", True),
        ("a = []\nb, c = a, 1\nb.append(1)", True), ("a = []\nb = []\nb.append(1)", False),
        ("a = []\nwith a as b:\n    b.append(1)", True), ("a = []\nif (b := a):\n    del b[0]", True),
        ("a = []\ng(a)", True), ("a = []\nb = g(a)\nb.append(1)", True), ("a = []\nb = len(a)\nb += 1", False),
        ("a = []\nn += 1\nn -= p[0]", False), ("a = []\na = p.pop()\np[0].append(1)", True),
    ],
)  # fmt: skip
def test_what_changes_by_another_name(body: str, changed: bool) -> None:
    one = subject(body)
    last = one.node.body[-2]  # before the return
    assert one.changed("a", last) is changed


def test_what_lies_in_what_is_needed() -> None:
    one = subject("a = [0]\nxs = [[a]]\nother = [1]\nfor i in range(n):\n    a[0] += 1\n    other.append(i)")
    loop = one.node.body[-2]
    assert isinstance(loop, ast.For)
    assert not one.leaves(loop.body[0], {"xs"})
    assert one.leaves(loop.body[1], {"xs"})
    assert not one.changed("xs", loop)
