from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from bakeoff.optimize.behaviour.judgement import Judgement

from .attacks import BAD, GOOD, ORIGINAL, TESTS
from .conftest import Judge, judging

pytestmark = pytest.mark.anyio

FILES = {"pkg/__init__.py": "", "pkg/mod.py": ORIGINAL, "tests/test_mod.py": TESTS}
SENTINELS = ("/var/tmp/sentinel", "/tmp/sentinel", "/tmp/bomb", "/var/tmp/written")
COLD = ("wrong", "passing reports, then exit", "patches the clock", "leaves a daemon")


SOAK = pytest.mark.soak(only=True)


async def all_of(judge: Judge, sources: dict[str, str]) -> dict[str, Judgement]:
    """Judge them two at a time, in any order."""
    names = list(sources)
    random.Random(7).shuffle(names)
    found: dict[str, Judgement] = {}
    limiter = anyio.CapacityLimiter(2)

    async def one(name: str) -> None:
        async with limiter:
            found[name] = await judge(sources[name])

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(one, name)
    return found


@pytest.mark.parametrize(
    ("cold", "whole"),
    [(False, True), (True, False), pytest.param(True, True, marks=SOAK)],
    ids=["warm", "cold", "all cold"],
)
async def test_each_attack_gets_its_own_reason(
    tmp_path: Path, cold: bool, whole: bool, leftovers: Callable[[], list[str]]
) -> None:
    chosen = tuple(BAD) if whole else COLD
    bad = {name: BAD[name][0] for name in chosen}
    good = GOOD if whole else dict(list(GOOD.items())[:1])
    inputs = "derived" if whole else "recorded"
    root = tmp_path / "project"
    async with judging(root, FILES, "pkg/mod.py:squares", cold=cold, inputs=inputs, derived=20) as judge:
        before = {path.name: path.read_bytes() for path in root.rglob("*.py")}
        found = await all_of(judge, bad | good)
        again = await judge(next(iter(GOOD.values())))
    wrong = {
        name: (found[name].reason, list(map(str, found[name].differences)), found[name].receipt)
        for name in bad
        if found[name].reason not in BAD[name][1]
    }
    assert not wrong, "\n".join(f"{name}: {reason}: {said[:2]}" for name, (reason, said, _) in wrong.items())
    assert {name: found[name].detail for name in good if found[name].reason is not None} == {}
    assert again.same
    assert leftovers() == []
    assert {path.name: path.read_bytes() for path in root.rglob("*.py")} == before
    assert not any(Path(path).exists() for path in SENTINELS)


async def test_bytecode_of_another_candidate_is_never_run(tmp_path: Path) -> None:
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", slots=1) as judge:
        one = "def squares(xs):\n    return [x * x for x in xs]\n"
        other = "def squares(xs):\n    return [x + x for x in xs]\n"
        found = [(await judge(source)).reason for source in (one, other, one, other)]
        assert found == [None, "behaviour/return", None, "behaviour/return"]
        receipt = (await judge(one)).receipt
        assert receipt["derived"] == 0
        assert receipt["tests_passed"] == receipt["tests"] == 5
        assert receipt["judged"] == "out of process"
        assert receipt["protection"]["missing"] == []
        assert receipt["processes"] == 5


async def test_what_comes_after_a_call_that_hangs_is_judged_too(tmp_path: Path) -> None:
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares", floor=1.0) as judge:
        found = await judge("def squares(xs):\n    while len(xs) == 3: pass\n    return [x * x for x in xs]\n")
        assert found.reason == "timeout"
        assert "list(1, 2, 3)" in found.detail
        assert found.receipt["tests_passed"] == 4
        assert len(found.differences) == 1


async def test_a_candidate_cannot_change_its_tests(tmp_path: Path) -> None:
    async with judging(tmp_path / "p", FILES, "pkg/mod.py:squares") as judge:
        found = await judge(ORIGINAL, **{"tests/test_mod.py": b""})
        assert found.reason == "invalid"
        assert "tests/test_mod.py" in found.detail
        assert found.receipt["processes"] == 0
