"""Rules on the functions that the target calls."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

from bakeoff.optimize.context.surroundings import surroundings
from bakeoff.optimize.source_code.changes import changed_besides
from bakeoff.optimize.sources.rules import RulesSource
from bakeoff.optimize.sources.rules.source import Version
from bakeoff.optimize.sources.source import Context
from bakeoff.optimize.target import Target


def versions(source: str, qualname: str = "f") -> list[Version]:
    target, data = Target(PurePosixPath("m.py"), qualname), source.encode()
    helpers = surroundings(target, data, [], lambda path: None).helpers
    return list(RulesSource().versions(Context(target, data, helpers=helpers)))


def run(source: str | bytes, call: str) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return eval(call, names)


BUSY = '''{first}def {name}(xs, ys):
    """Über."""
    found = []
    for x in xs:
        if x in ys:
            found.append(x)
    return found


def f(groups, ys):
    return [{name}(group, ys) for group in groups], len(ys)


def other(ys):
    return {name}(ys, ys)
'''


def test_a_public_helper_is_copied_and_stays_for_others() -> None:
    source = BUSY.format(first="import math\n\n\n", name="shared")
    found = [each for each in versions(source) if "membership-set" in each.applied and "remember" not in each.applied]
    assert found
    for version in found:
        text = version.source.decode()
        assert "def _shared(xs, ys):" in text
        assert "[_shared(group, ys) for group in groups]" in text
        assert "return shared(ys, ys)" in text
        assert changed_besides(source.encode(), version.source, "f") == []
        assert run(text, "f([[1, 2], [3]], [2, 3]), other([1])") == run(source, "f([[1, 2], [3]], [2, 3]), other([1])")


def test_a_name_that_is_taken_is_not_used() -> None:
    source = BUSY.format(first="_shared = 1\n\n\n", name="shared")
    assert any("def _shared_(xs" in each.source.decode() for each in versions(source))


def test_a_private_helper_is_changed_where_it_stands() -> None:
    source = BUSY.format(first="", name="_own")
    whole = next(each for each in versions(source) if each.applied == ("membership-set", "comprehension"))
    assert whole.source.decode().count("def _own") == 1
    assert "ys_set" in whole.source.decode()


def test_helpers_of_helpers_and_methods_are_reached() -> None:
    source = """class A:
    def f(self, xs):
        return self._g(xs)

    def _g(self, xs):
        return _h(xs) + self.open(xs)

    def open(self, xs):
        t = 0
        for x in xs:
            t += int(x) % 10
        return t


def _h(xs):
    t = 0
    for x in xs:
        t += int(x) % 10
    return t
"""
    first, *_ = versions(source, "A.f")
    text = first.source.decode()
    assert text.count("sum([int(x) % 10 for x in xs])") == 2
    assert "def _open(self, xs):" in text
    assert "return _h(xs) + self._open(xs)" in text
    assert first.assumes == ("not overridden",)
    assert changed_besides(source.encode(), first.source, "A.f") == ["A._g", "_h"]
    assert run(text, "A().f([1, 2]), A().open([3])") == (6, 3)


CHAIN = """def low(xs):
    t = 0
    for x in xs:
        t += int(x) % 10
    return t


def middle(xs):
    return f"{low(xs)} of low(xs)" + str(low(xs))


def f(xs):
    return middle(xs) * 2


def other(xs):
    return middle(xs)
"""


def test_what_is_between_is_copied_too() -> None:
    first = next(each for each in versions(CHAIN) if each.applied == ("comprehension",))
    text = first.source.decode()
    assert "def _low(xs):" in text
    assert 'return f"{_low(xs)} of low(xs)" + str(_low(xs))' in text
    assert changed_besides(CHAIN.encode(), first.source, "f") == []
    assert run(text, "f([1, 2]), other([4])") == run(CHAIN, "f([1, 2]), other([4])")


@pytest.mark.parametrize(
    "more", ["class B(A):\n    def g(self, xs):\n        return 1\n", "def hide(a):\n    a.g = None\n"]
)
def test_a_method_that_may_be_replaced_is_left_alone(more: str) -> None:
    source = (
        "class A:\n    def f(self, xs):\n        return self.g(xs)\n\n    def g(self, xs):\n        t = 0\n"
        "        for x in xs:\n            t += int(x) % 10\n        return t\n\n\n"
    )
    assert versions(source, "A.f") != []
    assert versions(source + more, "A.f") == []


def test_a_name_that_is_another_one_inside_is_left_alone() -> None:
    assert versions(CHAIN.replace("def middle(xs):", "def middle(xs, low=low):")) == []


@pytest.mark.parametrize(
    "helper",
    [
        "import functools\n@functools.cache\ndef g(xs):\n    t = 0\n    for x in xs:\n        t += 1\n    return t\n",
        "class g:\n    def __init__(self, xs): self.xs = xs\n",
        "g = len\n",
        "async def g(xs):\n    t = 0\n    for x in xs:\n        t += int(x) % 10\n    return t\n",
        "def g(xs):\n    return len(xs[len(xs) - 1])\n",
    ],
)
def test_what_is_no_plain_function_is_left_alone(helper: str) -> None:
    assert versions(f"{helper}def f(xs):\n    return g(xs)\n") == []


def test_a_helper_that_calls_itself_calls_its_copy() -> None:
    source = """def fib(n):
    if n < 2:
        return n
    total = 0
    for k in (1, 2):
        total += int(fib(n - k))
    return total


def f(n):
    return fib(n) + 1
"""
    found = [each.source.decode() for each in versions(source)]
    assert any("return _fib(n) + 1" in text for text in found)
    for text in found:
        assert run(text, "f(12)") == 145


def test_a_call_inside_a_formatted_text_is_found() -> None:
    helper = "def g(xs):\n    t = 0\n    for x in xs:\n        t += int(x) % 10\n    return t\n"
    first, *_ = versions(helper + "def f(xs):\n    return f'g(xs): {g(xs)}'\n")
    assert "return f'g(xs): {_g(xs)}'" in first.source.decode()
