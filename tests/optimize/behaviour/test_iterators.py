"""Iterators as arguments and as results: what is given, what is read of it, and what is left."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge import codec
from bakeoff.judge.codec.instances import COPIED
from bakeoff.optimize.behaviour.inside.writeback import Restored, nodes

from .conftest import judges

pytestmark = pytest.mark.anyio

MODULE = """
def unique(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
            yield item


def take(items, count):
    found = []
    while len(found) < count:
        found.append(next(items))
    return found


def merged(parts):
    out = []
    for part in parts:
        for item in part:
            out.append(item)
    return out, (item for item in out)


def checked(items):
    for place, item in enumerate(items):
        if item < 0:
            raise ValueError(f"below zero at {place}")
        yield item


def header(lines):
    return next(lines), lines
"""
TESTS = """
import itertools
import pytest
from mod import checked, header, merged, take, unique


def test_unique():
    assert list(unique(iter([1, 1, 2, 1]))) == [1, 2]
    assert list(unique(n % 3 for n in range(9))) == [0, 1, 2]
    assert list(unique({4: 5}.values())) == [5]


@pytest.mark.parametrize("make", [iter, lambda items: iter(tuple(items)), lambda items: iter(dict.fromkeys(items))])
def test_take(make):
    items = make([1, 2, 3, 4])
    assert take(items, 2) == [1, 2]
    assert list(items) == [3, 4]


def test_take_of_a_counter():
    numbers = itertools.count(5)
    assert take(numbers, 2) == [5, 6]
    assert next(numbers) == 7


def test_merged():
    out, again = merged([iter([1, 2]), (n for n in [3])])
    assert out == list(again) == [1, 2, 3]


def test_checked():
    with pytest.raises(ValueError, match="below zero at 1"):
        list(checked(iter([3, -1, 4])))


def test_header():
    first, rest = header(iter(["a", "b"]))
    assert first == "a" and list(rest) == ["b"]
    first, rest = header(line for line in ["a", "b", "c"])
    assert first == "a" and list(rest) == ["b", "c"]
"""
BODIES = {
    "unique": (
        "seen = {}\n    for item in items:\n        if item not in seen:\n            seen[item] = 1\n            yield item",
        "yield from dict.fromkeys(items)",
    ),
    "take": (
        "from itertools import islice\n    return list(islice(items, count))",
        "found = []\n    for item in items:\n        if len(found) == count:\n            break\n        found.append(item)\n    return found",
    ),
    "merged": (
        "from itertools import chain\n    out = list(chain.from_iterable(parts))\n    return out, (item for item in out)",
        "out = [item for part in parts[:1] for item in part]\n    return out, (item for item in out)",
    ),
    "checked": (
        "for item in items:\n        if item < 0:\n            raise ValueError('below zero at 1')\n        yield item",
        "for item in items:\n        if item < 0:\n            raise KeyError('below zero at 1')\n        yield item",
    ),
    "header": ("first = next(lines)\n    return first, lines", "return next(lines), iter(list(lines)[:1])"),
}  # right ones, and wrong ones
REASONS = {
    "unique": "behaviour/return", "take": "behaviour/mutation", "merged": "behaviour/return",
    "checked": "behaviour/return", "header": "behaviour/type",
}  # fmt: skip


def with_body(name: str, body: str) -> str:
    """The module with another body of that function."""
    before, _, rest = MODULE.partition(f"def {name}(")
    head, _, after = rest.partition(":\n")
    later = after.find("\n\n\ndef ")
    return f"{before}def {name}({head}:\n    {body}{after[later:] if later >= 0 else chr(10)}"


async def test_what_a_function_reads_of_an_iterator_and_leaves_in_it_is_compared(tmp_path: Path) -> None:
    found = {}
    files = {"mod.py": MODULE, "test_mod.py": TESTS}
    async with judges(tmp_path / "p", files, python=sys.executable, repeats=1, derived=10) as judge_of:
        for name, bodies in BODIES.items():
            judge = await judge_of(f"mod.py:{name}")
            assert judge.baseline.in_process == {}, name
            right, wrong = [await judge(with_body(name, body)) for body in bodies]
            found[name] = right.detail if right.reason else None, wrong.reason
    assert found == {name: (None, reason) for name, reason in REASONS.items()}


def sent_and_left(sent: Any, read: Any) -> list[Any]:
    """What is left in iterators after `read` has had copies of them that went over as bytes."""
    came = codec.decode(codec.encode((sent, {})))[0]
    theirs = nodes((came, {}))
    read(*came)
    Restored(nodes((sent, {})), theirs, COPIED).write()
    return [list(itertools.islice(each, 9)) for each in sent]


def test_iterators_are_read_as_far_as_the_call_read_them() -> None:
    sent = (iter([1, 2, 3]), iter({1: 2, 3: 4}.items()), itertools.count(2, 3), iter("ab"), iter([]))

    def read(a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
        next(a), next(b), next(c), list(d), next(e, None)

    assert sent_and_left(sent, read) == [[2, 3], [(3, 4)], list(range(5, 32, 3)), [], []]


def test_an_iterator_that_told_its_end_stays_at_its_end() -> None:
    items = [1]
    over = iter(items)
    sent_and_left((over,), list)
    items.append(2)
    assert list(over) == []


def test_iterators_over_containers_are_written_without_being_used_up() -> None:
    for made in (iter([1]), iter((1,)), iter("a"), iter({1}), iter({1: 1}.values()), reversed([1]), iter(range(1))):
        assert codec.encode(made, consume=False) == codec.encode(made)
        assert len(list(made)) == 1
    with pytest.raises(codec.Incomparable, match="may not be used up"):
        codec.encode((_ for _ in [1]), consume=False)


def test_what_was_read_once_is_written_as_often_as_it_is_asked_for() -> None:
    read: dict[int, Any] = {}
    lazy = (n for n in [1, 2])
    first = codec.encode(lazy, read=read)
    assert codec.encode(lazy, read=read) == first
    assert codec.encode(lazy) != first


def test_exceptions_that_end_iterators_are_compared_by_type_unless_their_messages_are() -> None:
    def failing(failure: Exception) -> Any:
        yield 1
        raise failure

    one, other, third = ValueError("a"), ValueError("b"), KeyError("a")
    assert codec.encode(failing(one)) != codec.encode(failing(other))
    plain = [codec.encode(failing(each), messages=False) for each in (one, other, third)]
    assert plain[0] == plain[1] != plain[2]
    with pytest.raises(ValueError):  # noqa: PT011 - of the type alone it is known
        list(codec.decode(plain[0]))
