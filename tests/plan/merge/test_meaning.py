"""Merges that have a tree, but would mean something else: conflicts, or choices."""

from __future__ import annotations

import pytest

from bakeoff.plan.merge.rules.structured import merged


def merge(base, ours, theirs, form="python"):
    """The merged file and what was chosen; None for a conflict."""
    parts = [text.encode() for text in (base, ours, theirs)]
    found = merged(b"".join(parts), [len(part) for part in parts], form)
    return None if found is None else (found[0], found[1])


TOP = "import a\n\n\n"
CLASS = "class C:\n    def __init__(self):\n        self.x = 1\n\n    def go(self):\n        return self.x\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        # Both added it: nothing tells whether the one added what the other lacks, or took it out.
        (TOP, TOP + "def f():\n    a.go()\n", TOP + "def f():\n    a.go()\n    a.stop()\n"),
        (TOP, TOP + "def f():\n    a.go(1)\n", TOP + "def f():\n    a.go(2)\n"),
        (TOP, TOP + "def f():\n    pass\n", TOP + "@a.only\ndef f():\n    pass\n"),
        (TOP, TOP + "if a:\n    b = 1\n", TOP + "if a:\n    b = 1\nelse:\n    b = 2\n"),
        ("", TOP + "class C:\n    def f(self):\n        pass\n",
         TOP + "class C:\n    @a.only\n    def f(self):\n        pass\n"),
        # A member that is a property for the one and an attribute for the other.
        (CLASS, CLASS + "\n    @property\n    def y(self):\n        return 2\n",
         CLASS.replace("x = 1\n", "x = 1\n        self.y = 2\n")),
        (CLASS, CLASS.replace("C:\n", "C:\n    y = None\n\n"), CLASS + "\n    def y(self):\n        return 2\n"),
        # Parameters that are others in all of its definitions, and one call more.
        ("class A:\n    def f(self, x, y):\n        pass\n\n\nclass B:\n    def f(self, x, y=1):\n        pass\n",
         "class A:\n    def f(self, y):\n        pass\n\n\nclass B:\n    def f(self, y=1):\n        pass\n",
         "class A:\n    def f(self, x, y):\n        pass\n\n\nclass B:\n    def f(self, x, y=1):\n        pass\n"
         "\n\nclass C(A):\n    def g(self):\n        return self.f(1, 2)\n"),
        # Numbers of one value.
        ("version_info = (3, 0, 0, 'beta', 0)\n", "version_info = (4, 0, 0, 'beta', 0)\n",
         "version_info = (3, 0, 0, 'beta', 2)\n"),
        # Types in comments.
        ("x = f({})\n", "x: dict = f({})\n", "x = f({})  # type: dict\n"),
        ("def f(x):\n    return x\n", "def f(x):\n    # type: (int) -> int\n    return x\n",
         "def f(x):\n    import a\n    return x\n"),
    ],
)  # fmt: skip
def test_what_would_mean_something_else_is_a_conflict(base, ours, theirs):
    assert merge(base, ours, theirs) is None
    assert merge(base, theirs, ours) is None


def test_imports_that_both_added_under_one_condition_are_all_there():
    under = "if a.TYPE_CHECKING:\n    from b import {}\n"
    assert merge(TOP, TOP + under.format("x"), TOP + under.format("x, y")) == (TOP + under.format("x, y"), [])


def test_in_a_file_that_both_added_each_thing_is_a_choice_and_no_empty_line_is_invented():
    test = "def test_{0}():\n    assert {0}\n"
    ours, theirs = (f"import a\n\n\n{test.format('a')}\n\n{test.format(more)}" for more in ("b", "c"))
    content, chosen = merge("", ours, theirs)
    assert content == ours + "\n\n" + test.format("c")
    assert chosen
    content, chosen = merge("", ours, f"import a\n\n\n{test.format('a')}")
    assert content == ours
    assert chosen


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        # What one side does in another way everywhere, the other does in the old way once more.
        ("import a\n\na.open(1)\nx = 1\n", "import a\n\na.start(1)\nx = 1\n",
         "import a\n\na.open(1)\nx = 1\ny = a.open(2)\n"),
        ("import a\n\na.go(1, old=2)\nx = 1\n", "import a\n\na.go(1, new=2)\nx = 1\n",
         "import a\n\na.go(1, old=2)\nx = 1\ny = a.go(3, old=4)\n"),
        ("print 'a'\n\nx = 1\n\ny = 2\n", "print 'b'\n\nx = 1\n\ny = 2\n", "print 'a'\n\nx = 1\n\ny = 3\n"),
    ],
)  # fmt: skip
def test_what_nothing_in_the_file_vouches_for_is_no_proof(base, ours, theirs):
    for one, other in ((ours, theirs), (theirs, ours)):
        found = merge(base, one, other)
        assert found is not None
        assert found[1]
    assert merge("x = 1\n\ny = 1\n", "x = 2\n\ny = 1\n", "x = 1\n\ny = 2\n") == ("x = 2\n\ny = 2\n", [])


def test_rows_of_a_table_keep_their_cells():
    names = ("config.check", "builders.html.links", "the second argument of signature()")
    rows = [f"   * - {name}\n     - 1.8\n     - 3.0\n\n" for name in names]
    base = ".. list-table::\n\n" + rows[0]
    content, chosen = merge(base, base + rows[1], base + rows[2], "prose")
    assert content == base + rows[1] + rows[2]
    assert chosen


def test_what_belongs_to_the_text_above_is_not_put_under_what_the_other_added():
    base = ".. data:: one\n\n   The first.\n\n"
    inner, new = "   .. note:: also\n\n", ".. data:: two\n\n"
    assert merge(base, base + new, base + inner, "prose") is None
    content, chosen = merge(base, base + inner, base + new, "prose")
    assert content == base + inner + new
    assert chosen
