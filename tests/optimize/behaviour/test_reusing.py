"""Answers that are kept by the identity of what a call is given."""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge import codec
from bakeoff.optimize.behaviour.inside.reusing import Reused

from .conftest import judging

ORIGINAL = """
class Shelf:
    def __init__(self, items):
        self.items = items

    def unique(self):
        found = []
        for item in self.items:
            if item not in found:
                found.append(item)
        return found


def common(a, b):
    found = []
    for x in a:
        if x in b:
            found.append(x)
    return found
"""

TESTS = """
import pytest
from pkg.mod import Shelf, common


@pytest.mark.parametrize("items", [[1, 2, 2], [3, 3, 3], [4, 5, 6]])
def test_unique(items):
    assert set(Shelf(items).unique()) == set(items)


@pytest.mark.parametrize("count", [5, 40])
def test_common(count):
    assert common(list(range(count)), list(range(0, count, 2))) == list(range(0, count, 2))
"""

FILES = {"pkg/__init__.py": "", "pkg/mod.py": ORIGINAL, "tests/test_mod.py": TESTS}

BY_ID = """
    key = id(a), id(b), len(a)
    if key not in _KEPT:
        # Holding the arguments keeps their numbers from being given to others.
        _KEPT[key] = a, b, [x for x in a if x in set(b)]
    return list(_KEPT[key][2])
"""
BY_SELF = """
        if self not in _KEPT:
            _KEPT[self] = list(dict.fromkeys(self.items))
        return list(_KEPT[self])
"""


BY_WHAT_IT_HOLDS = """
        key = id(self.items), len(self.items)
        if key not in _KEPT:
            _KEPT[key] = list(dict.fromkeys(self.items))
        return list(_KEPT[key])
"""


def changed(head: str, body: str, top: str) -> str:
    """The module with another body for one function."""
    start = ORIGINAL.index(head) + len(head)
    end = ORIGINAL.find("\n\n\n", start)
    return f"{top}\n{ORIGINAL[:start]}{body}{ORIGINAL[end:] if end > 0 else ''}"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("target", "head", "body", "top"),
    [
        ("common", "def common(a, b):", BY_ID, "_KEPT = {}"),
        ("Shelf.unique", "def unique(self):", BY_WHAT_IT_HOLDS, "_KEPT = {}"),
        ("Shelf.unique", "def unique(self):", BY_SELF, "import weakref\n_KEPT = weakref.WeakKeyDictionary()"),
    ],
)
async def test_answers_kept_by_identity_are_old_ones(
    tmp_path: Path, target: str, head: str, body: str, top: str
) -> None:
    async with judging(tmp_path / "p", FILES, f"pkg/mod.py:{target}", inputs="derived") as judge:
        found = await judge(changed(head, body, top))
        assert found.reason == "cross-call-state", found.detail
        assert "earlier call" in found.detail
        assert found.receipt["arguments_reused"] is True
        assert (await judge(ORIGINAL + "\n# the same\n")).same


@pytest.mark.anyio
async def test_what_the_original_keeps_itself_is_nobodys_fault(tmp_path: Path) -> None:
    own = changed("def common(a, b):", BY_ID, "_KEPT = {}")
    async with judging(tmp_path / "p", {**FILES, "pkg/mod.py": own}, "pkg/mod.py:common", inputs="derived") as judge:
        found = await judge(own.replace("x in set(b)", "x in frozenset(b)"))
        assert found.same, found.detail
        assert found.receipt["arguments_reused"] is False


class Basket:
    def __init__(self, items: list[int]) -> None:
        self.items = items


@dataclass(frozen=True)
class Fixed:
    items: tuple[int, ...]


def reused() -> Reused:
    return Reused(codec, functools.partial(codec.encode, consume=False), {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [3, 4, 5]),
        ({"a": 1}, {"b": 2}),
        ({1}, {2, 3}),
        (bytearray(b"a"), bytearray(b"bc")),
        (deque([1]), deque([2, 3])),
        (Basket([1]), Basket([2])),
    ],
)
def test_an_object_is_given_the_next_calls_content(one: Any, other: Any) -> None:
    calls = reused()
    (first,), _ = calls.filled((one,), {})
    wanted = codec.encode(other)
    (second,), named = calls.filled((other,), {"more": other})
    assert first is one
    assert named["more"] is other
    # An argument that is there twice would be two: the call stays as it is.
    assert second is other
    (third,), _ = calls.filled((other,), {})
    assert third is one
    assert codec.encode(third) == wanted


def test_what_an_instance_holds_is_the_same_object_too() -> None:
    calls, one = reused(), Basket([1])
    calls.filled((one,), {})
    held, other = one.items, Basket([2, 3])
    (found,), _ = calls.filled((other,), {})
    assert found is one
    assert found.items is held
    assert (held, other.items) == ([2, 3], [2, 3])
    knot: Any = Basket([4])
    knot.items.append(knot)
    (found,), _ = calls.filled((knot,), {})
    assert found is knot  # it holds itself: another object would hold another


@pytest.mark.parametrize(
    ("one", "other"), [(1, 2), ("a", "b"), ((1,), (2,)), (Fixed((1,)), Fixed((2,))), (len, max), (int, str)]
)
def test_what_callers_cannot_change_stays_as_it_is(one: Any, other: Any) -> None:
    calls = reused()
    calls.filled((one,), {})
    (found,), _ = calls.filled((other,), {})
    assert found is other


def test_what_has_no_bytes_stays_as_it_is() -> None:
    calls = reused()
    held: list[Any] = [open]
    lock = [lambda: held]
    calls.filled(([1],), {})
    assert calls.filled((lock,), {}) == ((lock,), {})


def test_tables_of_pandas_are_given_the_next_calls_content() -> None:
    pandas = pytest.importorskip("pandas")
    pairs = [
        (pandas.DataFrame({"a": [1]}), pandas.DataFrame({"b": [2.5, 3]}, index=["x", "y"])),
        (pandas.Series([1], name="a"), pandas.Series(["b"], name="c")),
        (pandas.array([1, None]), pandas.array([None, 2])),
    ]
    for one, other in pairs:
        calls = reused()
        assert calls.filled((one,), {})[0][0] is one
        wanted = codec.encode(other)
        (second,), _ = calls.filled((other,), {})
        assert second is one
        assert codec.encode(second) == wanted
    calls = reused()
    calls.filled((pandas.array([1, None]),), {})
    longer = pandas.array([1, 2, 3])
    assert calls.filled((longer,), {})[0][0] is longer
