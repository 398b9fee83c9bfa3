"""Every rule: what it makes of its cases, what it leaves alone, and that both versions answer alike."""

from __future__ import annotations

import copy
import re
import sys
from types import FrameType
from typing import Any

import pytest
from tests.optimize.rules.cases import FOLDER, Case, every
from tests.optimize.rules.examples import ARGUMENTS, SIZE, example, function
from tests.optimize.rules.hostile import MORE_LINES, outcome, variants

from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.source import Version, apply_rule

CASES = every()
BY_NAME = {rule.name: rule for rule in RULES}


def test_every_rule_has_cases_and_says_why() -> None:
    assert {path.stem for path in FOLDER.glob("*.cases")} == set(BY_NAME) == set(ARGUMENTS)
    assert len(RULES) >= 12
    for name, rule in BY_NAME.items():
        mine = [case for case in CASES if case.rule == name]
        assert any(case.after and case.calls for case in mine), name
        assert any(case.after is None for case in mine), name
        assert rule.why.endswith(".")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    version = apply_rule(BY_NAME[case.rule], Version(case.before.encode()), case.qualname, case.types)
    if case.after is None:
        assert version is None, version.source.decode()
        return
    assert version is not None
    assert version.source.decode() == case.after
    before, after = function(case, case.before), function(case, case.after)
    for call in case.calls:
        given = eval(f"[{call}]")
        assert outcome(before, given) == outcome(after, given)


HOSTILE = [case for case in CASES if case.after and case.calls]


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_inputs_give_the_same(case: Case) -> None:
    """Nobody said what is given: the seen types least of all."""
    assert case.after is not None
    before, after = function(case, case.before), function(case, case.after)
    for call in case.calls:
        for given in variants(eval(f"[{call}]")):
            expected = outcome(before, given)
            assert expected is None or outcome(after, given, MORE_LINES) == expected, given


class Counted(int):
    """A number whose comparisons are Python, so that those made inside C are counted, too."""

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    def __lt__(self, other: int) -> bool:
        return int(self) < other

    def __gt__(self, other: int) -> bool:
        return int(self) > other

    def __add__(self, other: int) -> int:
        return int(self) + other

    def __radd__(self, other: int) -> int:
        return other + int(self)

    __hash__ = int.__hash__


def counted(value: Any) -> Any:
    """The same with numbers that count."""
    if type(value) is int:
        return Counted(value)
    if isinstance(value, list | tuple):
        return type(value)(map(counted, value))
    return {counted(key): counted(each) for key, each in value.items()} if isinstance(value, dict) else value


def steps(case: Case, text: str, arguments: Any) -> int:
    """How many instructions of Python a call takes, those of its numbers included."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    work = function(case, text)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work(*arguments)
    finally:
        sys.settrace(before)
    return count


GONE = {
    "counts": r"xs\.count\(",
    "membership-set": r"x in ys:",
    "seen-set": r"x not in seen:",
    "list-concat": r"out \+ \[",
    "remember": r"slow\(x\) \+",
    "modular-power": r"return (\(.*\*\*|a \*\*)",
    "any-loop": r"any\(",
    "joined-lists": r"return sum\(rows, \[\]\)\n$",
    "pattern": r"re\.sub\(",
    "join-list": r"\(str\(x\) for",
}
"""What is slow here is one instruction whose work is in C: the evidence is that it is not there any more."""
PLAIN_ONLY = ("index-join", "by-place", "count-range", "trailing-zeros")
"""These leave numbers with comparisons of their own to the original."""


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_less_is_done(name: str) -> None:
    case = example(name)
    assert case.after is not None
    if name in GONE:
        assert re.search(GONE[name], case.before)
        assert not re.search(GONE[name], case.after)
        return
    arguments = ARGUMENTS[name](SIZE // 4)
    if name not in PLAIN_ONLY:
        arguments = counted(arguments)
    before = steps(case, case.before, copy.deepcopy(arguments))
    after = steps(case, case.after, copy.deepcopy(arguments))
    assert after < 0.97 * before, (before, after)


def test_the_page_tells_of_every_rule_in_its_order() -> None:
    page = (FOLDER.parents[3] / "docs" / "rules.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.M) == [rule.name for rule in RULES]
