"""Hostile inputs: what breaks an assumption of a rule, and what annotations leave of it."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge.codec import decode, encode, odd
from bakeoff.judge.codec.tree import Writer, parse
from bakeoff.judge.codec.wire import DEFAULT
from bakeoff.optimize.behaviour.annotations import Annotations
from bakeoff.optimize.behaviour.hostile_inputs import MOST, hostile_calls
from bakeoff.optimize.candidate import Candidate

from .conftest import Judge, judging

BARE = "a, b=None, c=None, *, size=None"


def made_of(*calls: tuple[Any, ...], parameters: str = BARE, **names: Any) -> list[tuple[Any, ...]]:
    """The arguments of hostile calls made of calls with these; each call gives something else."""
    seen = {encode((call, names)): str(place).encode() for place, call in enumerate(calls)}
    function = ast.parse(f"def work({parameters}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    found = []
    for message in hostile_calls(seen, Annotations(function)):
        args, keywords = decode(message)
        found.append((*args, *keywords.values()))
    return found


def has(found: Iterable[tuple[Any, ...]], fits: Callable[..., bool]) -> bool:
    for args in found:
        try:
            if fits(*args):
                return True
        except Exception:  # an odd object among them
            continue
    return False


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        ((3,), lambda n: type(n) is float and n != int(n)),
        ((3,), lambda n: n is True),
        ((3,), lambda n: n == 0),
        ((3,), lambda n: n < 0),
        ((3,), math.isinf),
        (([1, 2],), lambda items: items == []),
        (([1, 2],), lambda items: type(items) is dict and set(items) == {0, 1} and items != {0: 0, 1: 1}),
        (([1, 2],), lambda items: items[:2] == [1, 2] and items[2] == 0),
        (([1, 2],), lambda items: items[:2] == [1, 2] and items[2] is None),
        (([1, 2],), lambda items: items[-1] == "a"),
        (([1, 2],), lambda items: items[-1] == []),
        (([1, 2],), lambda items: 1e16 in items and 1.0 in items),
        (([1, 2],), lambda items: any(type(each) is bool for each in items)),
        (([1, 2],), lambda items: iter(items) is items),
        (([1, 2],), lambda items: items[0] == b"x" and type(items[0]) is bytearray and items[1] == b"x"),
        (([1, 2],), lambda items: type(items[0]) is set and items[1] == items[0] and type(items[1]) is frozenset),
        (([1, 2],), lambda items: type(items[1]) is defaultdict),
        (([{"a": 1}],), lambda rows: type(rows[0]) is defaultdict),
        (([1, 2],), lambda items: list(map(type, items)) == [int, bool, float, odd.Level] and items[3] == 1),
        (([1, 2],), lambda items: type(items[0]) is odd.Alike),
        (([1, 2],), lambda items: type(items[1]) is odd.Once),
        (([1, 2],), lambda items: type(items[1]) is odd.Raising),
        (({"a": 1, "b": 2},), lambda held: type(held["b"]) is odd.Stopping),
        (("a",), lambda text: type(text) is odd.Text and text == "A"),
        ((3,), lambda n: type(n) is odd.Level),
        ((["a", "b"],), lambda items: items == "ab"),
        (([[1], [-2]],), lambda rows: rows[1][0] == -2 and len(rows[1]) > 1),
        (({"a": 1, "b": 2},), lambda held: set(held) == {"b"}),
        (({"a": 1, "b": 2},), lambda held: held["no such key"] == 0),
        (({"a": {"low": 1}},), lambda held: held == {"a": {}}),
        ((0, [2, 1]), lambda n, limits: n == 0 and limits is None),
        ((3, [2, 1]), lambda n, limits: n == 0 and None in limits),
        (([{"low": 1}], [2]), lambda rows, marks: rows == [{}] and marks == []),
        (("Ab",), lambda text: text == ""),
        (("Ab",), lambda text: text == ["A", "b"]),
    ],
)
def test_what_a_rule_may_assume_is_broken(call: tuple[Any, ...], fits: Callable[..., bool]) -> None:
    assert has(made_of(call), fits)


def test_one_nan_is_sought_among_others_that_are_the_same_object() -> None:
    found = made_of(([1, 2], 2))
    assert has(found, lambda items, wanted: wanted != wanted and wanted in items)


def test_calls_of_which_different_things_came_are_taken_and_made_short() -> None:
    found = made_of((list(range(10_000)),), ([5, 6],), ([],))
    assert has(found, lambda items: items == [0, 1, 2, 9998, 9999])
    assert has(found, lambda items: items[:2] == [5, 6])
    assert all(len(items) < 20 for (items,) in found if isinstance(items, list | tuple | dict | set))


def test_they_are_the_same_each_time_and_no_more_than_are_allowed() -> None:
    calls = {encode(((list(range(n)), n, {"a": n}, [[n]]), {})): str(n).encode() for n in range(2, 9)}
    function = ast.parse("def work(a, b, c, d): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    one, other = (hostile_calls(dict(calls), Annotations(function)) for _ in range(2))
    assert one == other
    assert len(one) == len(set(one)) == MOST


@pytest.mark.parametrize(
    ("parameters", "allowed"),
    [
        ("a: int", lambda a: isinstance(a, int)),
        ("a: 'int | None'", lambda a: a is None or isinstance(a, int)),
        ("a: Optional[int]", lambda a: a is None or isinstance(a, int)),
        ("a: Union[int, str]", lambda a: isinstance(a, int | str)),
        ("a: float", lambda a: isinstance(a, float | int)),
        ("a: object", lambda a: True),
        ("a: Any", lambda a: True),
        ("*a: int", lambda a: isinstance(a, int)),
        ("a: Unknown", lambda a: type(a) is int),
        ("a: Unknown[int]", lambda a: type(a) is int),
        ("a: 'no type at all('", lambda a: type(a) is int),
    ],
)
def test_annotations_say_what_a_number_may_be(parameters: str, allowed: Callable[[Any], bool]) -> None:
    found = made_of((3,), parameters=parameters)
    assert found
    assert all(allowed(a) for (a,) in found)


@pytest.mark.parametrize(
    ("annotation", "allowed"),
    [
        ("list[int]", lambda a: type(a) is list and all(isinstance(each, int) for each in a)),
        ("List[int]", lambda a: type(a) is list and all(isinstance(each, int) for each in a)),
        ("list", lambda a: type(a) is list),
        ("typing.Sequence[int]", lambda a: isinstance(a, list | tuple | range | bytes)),
        ("Iterable[int]", lambda a: hasattr(a, "__iter__") and a != "ab"),
        ("tuple[int, int]", lambda a: False),
        ("list[T]", lambda a: type(a) is list and all(isinstance(each, int) for each in a)),
        ("dict[int, int]", lambda a: type(a) is dict),
    ],
)
def test_annotations_say_what_a_container_may_hold(annotation: str, allowed: Callable[[Any], bool]) -> None:
    assert all(allowed(a) for (a,) in made_of(([3, 4, 5],), parameters=f"a: {annotation}") if repr(a) != "[3, 4, 5]")


def test_a_parameter_by_name_has_its_own_annotation() -> None:
    found = made_of(([1],), parameters="a, *, size: int", size=2)
    assert {type(size) for _, size in found} == {int, bool}
    assert has(found, lambda a, size: a is None)


def test_a_message_gives_one_nan_and_keeps_its_bits() -> None:
    found = decode(encode([math.nan, [math.nan], *[math.nan] * 20, 1.5]))
    assert len({id(each) for each in [found[0], found[1][0], *found[2:22]]}) == 1
    odd = b"\x01f\x01\x00\x00\x00\x00\x00\xf8\xff"
    assert Writer().message(parse(odd, DEFAULT)) == odd


# Judged

COUNT = "def work(limit):\n    out = []\n    i = 0\n    while i < limit:\n        out.append(i)\n        i += 1\n    return out\n"
RANGE = "def work(limit):\n    out = []\n    for i in range(limit):\n        out.append(i)\n    return out\n"
TESTS = "from mod import work\n\n\ndef test_it():\n    assert work(3) == [0, 1, 2]\n    assert work(0) == []\n"


async def judged(judge: Judge, source: str, origin: str) -> Any:
    async with judge.workspace.lease() as slot:
        slot.disposable = True
        return await judge.behaviour.judge(slot, judge.baseline, Candidate(origin, {"mod.py": source.encode()}))


@pytest.mark.anyio
async def test_a_rule_has_to_be_right_for_what_no_test_shows(tmp_path: Path) -> None:
    files = {"mod.py": COUNT, "test_it.py": TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", inputs="derived", derived=5) as judge:
        by_rule = await judged(judge, RANGE, "rules/count-range")
        assert by_rule.reason == "differs-on-derived-input"
        assert by_rule.detail.startswith("hostile input: (3.5): behaviour/exception: raised TypeError")
        by_somebody = await judged(judge, RANGE, "files/fast.py")
        assert by_somebody.same
        assert by_somebody.receipt["hostile_compared"] == 0
        same = COUNT.replace("out.append(i)", "out += [i]")
        exact = await judged(judge, same, "rules/other")
        assert exact.same
        assert exact.receipt["hostile_compared"] > 5


@pytest.mark.anyio
async def test_annotations_are_a_rules_word_for_it(tmp_path: Path) -> None:
    files = {"mod.py": COUNT.replace("limit)", "limit: int)", 1), "test_it.py": TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", inputs="derived", derived=5) as judge:
        assert (await judged(judge, RANGE.replace("limit)", "limit: int)", 1), "rules/count-range")).same


@pytest.mark.anyio
async def test_recorded_inputs_alone_leave_them_out(tmp_path: Path) -> None:
    files = {"mod.py": COUNT, "test_it.py": TESTS}
    async with judging(tmp_path / "p", files, "mod.py:work", inputs="recorded") as judge:
        assert (await judged(judge, RANGE, "rules/count-range")).same
