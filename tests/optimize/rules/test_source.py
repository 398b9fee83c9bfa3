"""The rules as a source: alone, together, after a failure, on top of what won."""

from __future__ import annotations

from pathlib import PurePosixPath

import anyio
import pytest

from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.sources.rules import RulesSource
from bakeoff.optimize.sources.source import Context, Failure, Source
from bakeoff.optimize.target import Target

SLOW = b"""def f(xs, ys):
    out = []
    for x in xs:
        if x in ys:
            out.append(x)
    total = 0
    for y in out:
        total += int(y) % 10
    return out, total
"""
CONTEXT = Context(Target(PurePosixPath("m.py"), "f"), SLOW)


def propose(context: Context = CONTEXT, source: Source | None = None) -> list[Candidate]:
    async def gather() -> list[Candidate]:
        return [each async for each in (source or RulesSource()).propose(context)]

    return anyio.run(gather)


def test_all_together_first_then_each_alone() -> None:
    found = propose()
    names = [each.origin for each in found]
    assert names == [
        "rules/membership-set+comprehension",
        "rules/membership-set",
        "rules/comprehension",
    ]
    text = (found[0].files["m.py"] or b"").decode()
    assert "else _has(ys_set, x, ys))]\n    total = sum([int(y) % 10 for y in out])" in text
    assert found[0].assumes == ()
    assert "comprehension: A comprehension appends" in found[0].note
    assert len({each.id for each in found}) == 3


def test_what_hides_helpers_comes_last() -> None:
    source = b"""def low(xs):
    t = 0
    for x in xs:
        t += int(x) % 10
    return t


def middle(xs, k):
    return low(xs) + k


def f(xs, ks):
    return [middle(xs, k) for k in ks]
"""
    surrounding = {"low": "", "middle": ""}
    found = propose(Context(CONTEXT.target, source, helpers=surrounding))
    origins = [each.origin for each in found]
    assert "rules/comprehension" in origins
    assert "rules/remember-below" in origins
    both = next(each for each in found if each.origin == "rules/comprehension+remember-below")
    text = (both.files["m.py"] or b"").decode()
    assert "low_once_memo[key] = t" in text
    assert "t = sum([int(x) % 10 for x in xs])" in text.split("def f(")[1]


def test_proposals_are_bounded() -> None:
    assert len(propose(source=RulesSource(most=2))) == 2


def test_observed_types_are_heeded() -> None:
    seen = Context(CONTEXT.target, SLOW, argument_types={"xs": ("list[list[int]]",)})
    assert not any("membership-set" in each.origin for each in propose(seen))


def test_nothing_fits() -> None:
    assert propose(Context(CONTEXT.target, b"def f(x):\n    return x\n")) == []


def test_functions_that_are_too_long_are_left_alone() -> None:
    assert propose(Context(CONTEXT.target, SLOW + b"    x = 1\n" * 5000)) == []


def test_an_unknown_target_is_said() -> None:
    with pytest.raises(TargetError, match="no function 'f'"):
        propose(Context(CONTEXT.target, b"def g(x):\n    return x\n"))


def test_repair_leaves_one_rule_out() -> None:
    async def repaired(candidate: Candidate) -> list[Candidate]:
        return [each async for each in RulesSource().repair(CONTEXT, [Failure(candidate, ["differs"])])]

    together, alone = propose()[:2]
    found = anyio.run(repaired, together)
    assert [each.origin for each in found] == ["rules/comprehension", "rules/membership-set"]
    assert {each.parent for each in found} == {together.id}
    assert anyio.run(repaired, alone) == []


def test_refine_joins_winners_and_builds_on_them() -> None:
    async def refined(winners: list[Candidate]) -> list[Candidate]:
        return [each async for each in RulesSource().refine(CONTEXT, winners, [])]

    _, one, other = propose()
    found = anyio.run(refined, [one, other])
    assert found[0].origin == "rules/membership-set+comprehension"
    assert found[0].parent == one.id
    assert {each.origin for each in found[1:]} == {
        "rules/membership-set+comprehension", "rules/comprehension+membership-set",
    }  # fmt: skip
    gone = Candidate("model", {"m.py": None})
    assert anyio.run(refined, [gone]) == []


def test_adapt_gives_nothing() -> None:
    async def adapted() -> list[Candidate]:
        return [each async for each in RulesSource().adapt(CONTEXT, propose_now)]

    propose_now = propose()
    assert anyio.run(adapted) == []
