"""What sources are told of a target: types and examples out of recorded calls, helpers, callers; and work at once."""

from __future__ import annotations

from collections import deque
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from bakeoff.judge.codec import encode, parse
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded
from bakeoff.optimize.behaviour.runs import Call
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.context.observed import MOST_TESTS, Observed, observed, type_of
from bakeoff.optimize.context.surroundings import surroundings
from bakeoff.optimize.sources import prompts
from bakeoff.optimize.sources.as_completed import as_completed
from bakeoff.optimize.sources.source import Context
from bakeoff.optimize.target import Target, parse_target

SHARED = [1]


@dataclass
class Point:
    x: int


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "int"),
        (True, "bool"),
        (None, "None"),
        ("a", "str"),
        ([], "list"),
        ([1, 2], "list[int]"),
        ([1, "a"], "list[int | str]"),
        ([[1], []], "list[list[int]]"),
        ({"a": [1.5]}, "dict[str, list[float]]"),
        ((1, "a"), "tuple[int, str]"),
        ((1,) * 9, "tuple[int, ...]"),
        ((1, 2, "a", 4, 5), "tuple[?]"),
        ({1}, "set[int]"),
        ([1, "a", 2.0, None, b""], "list[?]"),
        ([[[[1]]]], "list[list[list[list[?]]]]"),
        ([Point(1)], "list[optimize.test_around.Point]"),
        (Colour.RED, "optimize.test_around.Colour"),
        (deque([1]), "collections.deque"),
        (iter([1]), "iterator"),
        (range(3), "range"),
        (len, "function"),
        ([SHARED, SHARED], "list[? | list[int]]"),
    ],
)
def test_types_of_values_that_nobody_executes(value: Any, said: str) -> None:
    assert type_of(parse(encode(value))) == said


SOURCE = b"def work(xs, key=None, *more, flag=False):\n    return xs\n"


def call(*args: Any, derived: bool = False, kind: str = "return", result: Any = 1, **kwargs: Any) -> Recorded:
    return Recorded(encode((args, kwargs)), Call("t", 0, kind, result=encode(result), type="ValueError"), derived)


def baseline(*recorded: Recorded, tests: int = 2, source: bytes = SOURCE) -> Baseline:
    names = {f"test_a.py::test_{number}": 0.1 for number in range(tests)}
    target = Target(PurePosixPath("mod.py"), "work")
    empty: dict[str, Any] = {}
    return Baseline(target, source, "mod", [], names, {}, {}, {}, empty, empty, {}, set(), list(recorded), set(), set(),
                    set(), False, 0, "tree", {}, {})  # fmt: skip


def test_types_of_arguments_by_name_from_what_tests_did_alone() -> None:
    seen = observed(
        baseline(
            call([1], "a"),
            call([], key="b"),
            call([2], None, 5, flag=True),
            call({1}, derived=True),
            call([3], other=1),
        )
    )
    assert seen.types == {"xs": ("list[int]",), "key": ("None", "str"), "flag": ("bool",)}
    assert Observed.from_json(seen.to_json()) == seen


def test_what_is_not_known_of_a_type_is_not_made_up() -> None:
    mixed = [1, "a", 2.0, None, b""]
    assert observed(baseline(call([1]), call(mixed))).types == {"xs": ("list",)}
    assert observed(baseline(call(SHARED, SHARED))).types == {"xs": ("list[int]",)}
    assert observed(baseline(call(1), call("a"), call(2.0), call(b""), call([1]))).types == {}
    assert observed(baseline(Recorded(b"garbage", Call("t", 0, "return")))).types == {}


def test_examples_of_calls_and_names_of_tests() -> None:
    said = observed(baseline(call([1, 2], key="a", result=[2]), call(1, kind="raise"), tests=MOST_TESTS + 3)).tests
    assert "- test_a.py::test_0" in said
    assert "- and 3 more" in said
    assert "- work(list(1, 2), key=str 'a') returns list(2)" in said
    assert "- work(int 1) raises ValueError" in said
    broken = Recorded(encode(((1,), {})), Call("t", 0, "return", result=b"", type="iterator"))
    assert "work(int 1) returns iterator" in observed(baseline(broken)).tests


MODULE = b"""\
import math
from itertools import chain

LIMIT = 10


def low(x):
    return min(x, LIMIT)


def helper(x):
    return low(x) + math.pi


def unused(x):
    return x


class Box:
    size = 3

    def work(self, xs):
        return [helper(x) for x in chain(xs) if self.fits(x)]

    def fits(self, x):
        return x < self.size

    def all(self, xs):
        return self.work(xs)


def outer(box):
    return box.work([1])
"""


def test_helpers_are_what_it_uses_and_what_that_uses() -> None:
    found = surroundings(parse_target("mod.py:Box.work"), MODULE, (), lambda _: None)
    assert list(found.helpers) == ["helper", "Box.fits", "low", "LIMIT"]
    assert found.helpers["LIMIT"] == "LIMIT = 10"
    assert found.callers == (
        "# mod.py\ndef all(self, xs):\n        return self.work(xs)",
        "# mod.py\ndef outer(box):\n    return box.work([1])",
    )


def test_callers_of_other_files_but_no_tests() -> None:
    files: dict[str, bytes | None] = {
        "tests/test_a.py": b"def test():\n    work(1)\n",
        "b.py": b"def b():\n    return mod.work(1)\n",
        "a.py": b"def a():\n    return work\n",
        "gone.py": None,
        "broken.py": b"def (",
        "big.py": b"def big():\n    work(1)\n" + b"#" * 600_000,
    }
    found = surroundings(parse_target("mod.py:work"), b"def work(x):\n    return work(x)\n", files, files.__getitem__)
    assert (found.helpers, found.callers) == ({}, ("# b.py\ndef b():\n    return mod.work(1)",))
    many = {f"m{number}.py": b"def one():\n    work(1)\n\ndef two():\n    work(2)\n" for number in range(9)}
    assert len(surroundings(parse_target("mod.py:work"), SOURCE, many, many.__getitem__).callers) == 5


def test_a_version_is_shown_with_what_is_new_beside_it() -> None:
    context = Context(parse_target("mod.py:work"), b"import re\n\n\ndef work(x):\n    return x\n")
    content = b"import re\nimport math\n\nN = {1: '```'}\n\n\ndef work(x):\n    return N\n"
    shown = prompts.code_of(context, Candidate("c", {"mod.py": content}))
    assert shown == "import math\n\nN = {1: '```'}\n\ndef work(x):\n    return N\n".rstrip("\n")
    assert prompts.code_of(context, Candidate("c", {"mod.py": b"def other(: pass"})) == "def other(: pass"
    text = prompts.adaptation(context, [Candidate("c", {"mod.py": content})], None).messages[0].content
    assert "````python\nimport math" in text


def virtual(main: Any) -> Any:
    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def after(seconds: float, value: str = "") -> str:
    await anyio.sleep(seconds)
    if value.startswith("!"):
        raise ValueError(value)
    return value


def test_results_come_first_come_first_given_and_a_failure_last() -> None:
    found: list[str] = []

    async def main() -> None:
        since = anyio.current_time()
        works = [partial(after, 3, "c"), partial(after, 1, "!a"), partial(after, 2, "b")]
        async with aclosing(as_completed(works)) as results:
            async for each in results:
                found.append(f"{each} at {anyio.current_time() - since:g}")  # noqa: PERF401

    with pytest.raises(ValueError, match="!a"):
        virtual(main)
    assert found == ["b at 2", "c at 3"]


@pytest.mark.anyio
async def test_whoever_stops_listening_or_is_cancelled_ends_the_rest() -> None:
    ended = []

    async def work(name: str) -> str:
        try:
            if name == "quick":
                return name
            await anyio.sleep_forever()
        finally:
            ended.append(name)
        return name

    works = [partial(work, name) for name in ("quick", "slow", "slower")]
    async with aclosing(as_completed(works)) as results:
        async for _ in results:
            break
    assert sorted(ended) == ["quick", "slow", "slower"]
    with anyio.move_on_after(0.05) as scope:
        async with aclosing(as_completed(works[1:])) as results:
            async for _ in results:
                pass
    assert scope.cancelled_caught
    assert len(ended) == 5


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)
