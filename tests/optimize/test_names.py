"""Which names statements bind, and moving text to another depth."""

from __future__ import annotations

import ast

import pytest

from bakeoff.optimize.source_code.indentation import dedented
from bakeoff.optimize.source_code.names import bound_by, module_names, table_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import a.b, c as d", {"a", "d"}),
        ("from a import b as c, d", {"c", "d"}),
        ("x, (y, *z) = 1, w", {"x", "y", "z"}),
        ("for i in [j for j in k if (n := j)]: pass", {"i", "n"}),
        ("def f(a=(p := 1), *, b=(q := 2)): x = 1", {"f", "p", "q"}),
        ("class A(b := B, metaclass=(m := M)): x = 1", {"A", "b", "m"}),
        ("try: pass\nexcept E as e: pass", {"e"}),
        ("match v:\n case {'a': x, **r}: pass\n case [*s]: pass\n case B() as t: pass", {"x", "r", "s", "t"}),
        ("f = lambda x: (y := x)", {"f"}),
        ("del x", {"x"}),
    ],
)
def test_bound_by(text: str, names: set[str]) -> None:
    assert bound_by(*ast.parse(text).body) == names


def test_module_names_know_globals() -> None:
    bound, read = module_names("def f():\n    global g\n    g = len(h)\n")
    assert bound == {"f", "g"}
    assert {"len", "h"} <= read


def test_no_table() -> None:
    with pytest.raises(SyntaxError):
        table_of("x = 1\0")


def test_comments_left_of_everything() -> None:
    assert dedented("    # a\n  # b\n    x = 1\n").endswith("x = 1\n")
    with pytest.raises(SyntaxError):
        dedented("  x = 1\n y = 2\n")
