"""Candidates that change several public functions of a file: each is judged as a target of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import judging

pytestmark = pytest.mark.anyio

MODULE = """\
LIMIT = 3


def first(xs):
    return [x for x in xs if x]


def second(xs):
    found = []
    for x in first(xs):
        found.append(x + 1)
    return found


def third(xs):
    return len(xs)


class Box:
    def size(self, xs):
        return len(first(xs))
"""
TESTS = """\
from mod import Box, first, second


def test_first():
    assert first([0, 1]) == [1]


def test_second():
    assert second([0, 1, 4]) == [2, 5]


def test_size():
    assert Box().size([0, 1]) == 1
"""
FILES = {"mod.py": MODULE, "test_mod.py": TESTS}
FAST = MODULE.replace("[x for x in xs if x]", "list(filter(None, xs))")
BOTH = FAST.replace(
    "    found = []\n    for x in first(xs):\n        found.append(x + 1)\n    return found",
    "    return [x + 1 for x in first(xs)]",
)


async def test_each_function_that_changes_is_judged_by_its_own_calls(tmp_path: Path) -> None:
    async with judging(tmp_path / "p", FILES, "mod.py:first", python=sys.executable, repeats=1, derived=10) as judge:
        found = await judge(BOTH)
        assert found.same, found.detail
        assert list(found.receipt["beside"]) == ["second"]
        assert found.receipt["beside"]["second"]["calls_compared"] == 1
        wrong = await judge(BOTH.replace("x + 1 for", "x + 1.0 for"))
        assert wrong.reason in ("behaviour/return", "behaviour/type")
        assert wrong.detail.startswith("second, which it changes too: ")
        sly = await judge(BOTH.replace("return [x + 1", "return xs if xs == [0, 0] else [x + 1"))
        assert sly.reason in (None, "differs-on-derived-input")
        method = await judge(FAST.replace("len(first(xs))", "sum(1 for _ in first(xs))"))
        assert method.reason == "incomparable"
        unreached = await judge(BOTH.replace("return len(xs)", "return sum(1 for _ in xs)"))
        assert unreached.reason == "incomparable"
        assert "no test reaches mod.py:third" in unreached.detail
        value = await judge(BOTH.replace("LIMIT = 3", "LIMIT = 4"))
        assert value.reason == "incomparable"
        changed = await judge(BOTH.replace("def second(xs)", "def second(ys)").replace("first(xs)]", "first(ys)]"))
        assert changed.reason == "invalid"
