"""Derived inputs: what callers could have given, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge.codec import decode, encode
from bakeoff.optimize.behaviour.derived_inputs import derived

from .conftest import judging

MANY = 60


def made_of(*calls: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The arguments of the calls that are derived from calls with these."""
    return [decode(message)[0] for message in derived([encode((call, {})) for call in calls], MANY, keep_first=False)]


def test_what_was_seen_once_stays_but_for_numbers() -> None:
    """No test shows another flag, word or size: what is right there nobody knows. One number has some below it."""
    calls = [(2, 0.5, True, "mean", b"ab", [n, n + 1], {"size": n}) for n in range(0, 40, 4)]
    found = made_of(*calls)
    assert len(found) > 30
    assert {call[2:5] for call in found} == {(True, "mean", b"ab")}
    assert {call[0] for call in found} == {1, 2}
    assert all(0.25 <= call[1] <= 0.5 for call in found)
    assert {len(call[5]) for call in found} == {2}
    assert {tuple(call[6]) for call in found} == {("size",)}
    assert all(0 <= number <= 37 for call in found for number in (*call[5], *call[6].values()))


@pytest.mark.parametrize(
    ("seen", "least", "most"),
    [(0, 0, 0), (1, 1, 1), (-1, -1, -1), (2, 1, 2), (-7, -7, -4), (10**40, 10**40 // 2, 10**40)],
)
def test_a_number_that_is_the_same_in_all_calls_is_halved_at_most(seen: int, least: int, most: int) -> None:
    found = [call[0] for call in made_of(*[(seen, n) for n in range(0, 90, 3)])]
    assert found
    assert all(least <= number <= most for number in found)


@pytest.mark.parametrize("make", [list, tuple, set, frozenset, lambda items: dict.fromkeys(items, 1), "".join])
def test_none_is_empty_where_none_was(make: Any) -> None:
    pool = "abcdefghijkl"
    found = made_of(*[(make(pool[start : start + size]), size) for start in range(5) for size in (2, 3, 7)])
    assert found
    assert {len(value) for value, _ in found} <= set(range(2, 8))


def test_rows_stay_as_long_as_one_another() -> None:
    found = made_of(*(([[n] * size for _ in range(size)], n) for size in (2, 3) for n in range(5)))
    assert len(found) > 20
    for table, _ in found:
        assert {len(row) for row in table} == {len(table)}
        assert len(table) in (2, 3)


@dataclass
class Shelf:
    names: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def put(self, name: str) -> None:
        self.places[name] = len(self.names)
        self.names.append(name)


@dataclass(frozen=True)
class Span:
    low: int
    high: int


@dataclass(frozen=True)
class Reading:
    sensor: str
    value: float


def shelf(*names: str) -> Shelf:
    made = Shelf()
    for name in names:
        made.put(name)
    return made


def test_instances_stay_whole() -> None:
    """What an instance holds belongs together; other arguments are made anew beside it."""
    calls = [(shelf("a", "b"), ["a", "x"], Span(1, 5)), (shelf(), ["b"], Span(7, 9)), (shelf("b"), ["a"], Span(2, 3))]
    found = made_of(*calls)
    assert len(found) > 20
    assert all(any(call[0] == each[0] for each in calls) for call in found)
    assert {call[2] for call in found} <= {each[2] for each in calls}
    assert len({tuple(call[1]) for call in found}) > 3


def test_a_float_alone_in_a_value_is_made_anew() -> None:
    found = made_of(*[([Reading(name, value)],) for name in "ab" for value in (0.5, 1.25, 2.0)])
    values = {reading.value for (readings,) in found for reading in readings}
    assert len(values) > 9
    assert all(0.5 <= value <= 2.0 for value in values)
    assert {reading.sensor for (readings,) in found for reading in readings} == {"a", "b"}


def test_instances_of_different_calls_share_nothing() -> None:
    first, second = Shelf(), Shelf()
    first.names.append("first")
    second.names.append("second")
    for one, other in made_of((first, [first.names]), (second, [second.names])):
        assert one.names is other[0]


@pytest.mark.parametrize("size", [12, 200])
@pytest.mark.parametrize("shape", ["floats", "pairs", "iterator", "array"])
def test_another_order_of_a_sum_shows(size: int, shape: str) -> None:
    """All that is seen are eighths, whose sums are exact in any order."""
    seen = [[(n * step % 16) / 8 for n in range(size)] for step in (1, 3, 5)]
    make: Any = {"floats": list, "pairs": lambda items: [("a", item) for item in items], "iterator": iter}.get(shape)
    if shape == "array":
        make = pytest.importorskip("numpy").array
    found = [
        [item[1] if shape == "pairs" else float(item) for item in items]
        for (items,) in made_of(*[(make(each),) for each in seen])
    ]
    assert all(0.0 <= item <= 1.875 for items in found for item in items)
    differing = [items for items in found if sum(items) != sum(sorted(items))]
    assert len(differing) >= 5
    assert len(found) > 30


def test_floats_are_of_all_magnitudes_that_were_seen() -> None:
    found = made_of(*[([1e16, 1.0, 3.5, -2.0e8],), ([1.0, 1e-3],)] * 2)
    sizes = [abs(item) for (items,) in found for item in items]
    assert min(sizes) >= 0.0
    assert max(sizes) <= 1e16
    assert all(any(low <= size < 1e3 * low for size in sizes) for low in (1e-2, 1e3, 1e7, 1e12))


def test_where_all_is_always_the_same_the_letters_of_texts_are_turned_about() -> None:
    """Else answers that are written down would pass: there is no fresh input."""
    found = made_of(("the quick brown fox", {"key": "value"}, ("x", "abcdef"), b"bytes"))
    assert len(found) > 20
    assert all(sorted(text) == sorted("the quick brown fox") for text, *_ in found)
    assert all(list(names) == ["key"] for _, names, *_ in found)
    assert len({text for text, *_ in found}) > 20
    assert len({items[1] for *_, items, _ in found}) > 20


def test_nothing_is_turned_about_where_something_is_fresh() -> None:
    assert {call[0] for call in made_of(*[("mean", [n, n + 1]) for n in range(9)])} == {"mean"}


def test_a_flag_alone_gives_nothing_fresh() -> None:
    assert made_of((True, None)) == []


def test_texts_are_cut_where_a_parser_may_break() -> None:
    texts = ["a\u200db and more of it, so that chance alone would seldom end there", "cd\u200d\u200de", "x"]
    found = [call[0] for call in made_of(*[(text, n) for n, text in enumerate(texts * 5)])]
    assert any(text.endswith("\u200d") for text in found)
    assert any(text.startswith("\u200d") for text in found)
    assert all(1 <= len(text) <= len(texts[0]) for text in found)


def test_texts_beyond_ascii_get_signs_that_belong_to_others_at_their_ends() -> None:
    """A joiner, an accent, half of a pair: at the start, in the midst, at the end, and one of those that were seen."""
    texts = [
        text
        for (text,) in made_of(*((each,) for each in ("", "ab", "\u3042b", "\U0001f469\u200d\U0001f527", "abcdef")))
    ]
    for sign in "\u200d\u0301\ufe0f":
        assert any(text.endswith(sign) for text in texts)
        assert any(text.startswith(sign) for text in texts)
    assert max(map(len, texts)) <= 6
    assert all(text.isascii() for (text,) in made_of(("ab",), ("abc",), ("d",)))


def test_whole_numbers_of_a_large_range_are_tried_where_digits_and_logarithms_change() -> None:
    found = {call[0] for call in made_of((0,), (10**200 + 7,), (12,))}
    assert any(number + beside in {base**power for base in (2, 10) for power in range(1, 700)}
               for number in found if number > 4 for beside in (-1, 0, 1))  # fmt: skip


def test_blanks_and_letters_have_others_of_their_kind() -> None:
    found = "".join(call[0] for call in made_of(*[(f"{' ' * n} Word {n}",) for n in range(9)]))
    assert any(blank in found for blank in "\t\n\r\f\xa0")
    assert any(letter in found for letter in "wORD")
    short = "".join(call[0] for call in made_of(("up", 1), ("on", 2), ("in", 3)))
    assert set(short) <= set("uponi")


CHECKED = """def check(known, name):
    if name not in known:
        raise KeyError(name)


def work(known, names):
    for name in names:
        check(known, name)
    return [known[name] for name in names]
"""
CHECKED_TESTS = """import pytest
from mod import work


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_it(count):
    known = {f"n{i}": i for i in range(count)}
    assert work(known, list(known)) == list(range(count))
"""


@pytest.mark.anyio
async def test_an_exception_that_the_function_is_written_to_raise_counts_where_no_test_shows_it(tmp_path: Path) -> None:
    head = CHECKED.partition("def work")[0]
    files = {"mod.py": CHECKED, "test_mod.py": CHECKED_TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", inputs="derived", derived=30) as judge:
        same = await judge(f"{head}def work(known, names):\n    return [known[name] for name in names]\n")
        other = await judge(f"{head}def work(known, names):\n    return [known.get(name) for name in names]\n")
    assert (same.reason, other.reason) == (None, "differs-on-derived-input"), other.detail


LONG_TESTS = "import pytest\nimport mod\n\n\n@pytest.mark.parametrize('start', range(6))\ndef test(start):\n" + (
    "    items = [start * 7 + n * n % 31 for n in range(40)]\n    assert mod.work(items) == sum(x * x for x in items)\n"
)
MEMO = """_known = {{}}


def work(items):
    key = {key}
    if key not in _known:
        {forget}
        _known[key] = sum(x * x for x in items)
    return _known[key]
"""


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["(len(items), items[0], items[-1])", "(repr(items[:5]), len(items))"])
@pytest.mark.parametrize("forget", ["pass", "_known.clear()"], ids=["all", "last"])
async def test_a_memo_whose_key_leaves_out_the_middle_is_told(tmp_path: Path, key: str, forget: str) -> None:
    original = "def work(items):\n    return sum([x * x for x in items])\n"
    files = {"mod.py": original, "test_mod.py": LONG_TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", inputs="derived", derived=30) as judge:
        found = await judge(MEMO.format(key=key, forget=forget))
    assert found.reason == "differs-on-derived-input", found.detail


@pytest.mark.parametrize("make", [list, tuple, bytes, lambda items: "".join(map(chr, items))])
def test_the_longest_arguments_get_two_that_differ_by_one_item(make: Any) -> None:
    first = make(range(60, 100))
    found = [call[0] for call in made_of((first,), (make(range(50, 90)),)) if len(call[0]) == len(first)]
    near = [value for value in found if 0 < sum(a != b for a, b in zip(first, value, strict=True)) <= 2]
    assert len(near) >= 2
    assert all((value[0], value[-1]) == (first[0], first[-1]) for value in near)
