"""Which tests reach the function is found out beside a run that notes their calls, where there is a place for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from bakeoff.optimize.behaviour import baseline_recording, discovery
from bakeoff.optimize.behaviour.evaluation import run_tests
from bakeoff.optimize.errors import BehaviourError

from .conftest import judging

pytestmark = pytest.mark.anyio

MODULE = "def double(x):\n    return x + x\n"
REACH = "from mod import double\n\ndef test_two():\n    assert double(2) == 4\n\ndef test_no():\n    assert double('') == ''\n"
STRAY = "def test_other():\n    pass\n\n" + REACH
BACK = "def test_back():\n    seen = []\n    assert double(type('T', (), {'__add__': lambda s, o: seen.append(1) or 3})()) == 3\n    assert seen\n"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The mode of each run of tests, and whether all were to be run, in order of start."""
    told: list[tuple[str, bool]] = []

    async def noted(server: Any, place: Any, job: dict[str, Any], **more: Any) -> Any:
        told.append((job["mode"], job["wanted"] is None))
        return await run_tests(server, place, job, **more)

    monkeypatch.setattr(discovery, "run_tests", noted)
    monkeypatch.setattr(baseline_recording, "run_tests", noted)
    return told


def beside(monkeypatch: pytest.MonkeyPatch, then: Callable[[str], Any]) -> None:
    """Have `then(mode)` awaited in each of the two first runs before it goes on."""
    before = discovery.run_tests

    async def waiting(server: Any, place: Any, job: dict[str, Any], **more: Any) -> Any:
        await then(job["mode"])
        return await before(server, place, job, **more)

    monkeypatch.setattr(discovery, "run_tests", waiting)


async def test_where_all_tests_reach_it_two_runs_side_by_side_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[tuple[str, bool]]
) -> None:
    begun = {"count": anyio.Event(), "record": anyio.Event()}

    async def both(mode: str) -> None:
        begun[mode].set()
        for event in begun.values():
            await event.wait()

    beside(monkeypatch, both)
    files = {"mod.py": MODULE, "test_mod.py": REACH}
    with anyio.fail_after(120):
        async with judging(tmp_path / "p", files, "mod.py:double", python=sys.executable) as judge:
            assert sorted(judge.baseline.tests) == ["test_mod.py::test_no", "test_mod.py::test_two"]
            assert (await judge("def double(x):\n    return 2 * x\n")).same
    assert runs[:4] == [*sorted(runs[:2]), ("proxy", False), ("proxy", False)]
    assert sorted(runs[:2]) == [("count", True), ("record", True)]
    assert "record" not in [mode for mode, _ in runs[2:]]


async def test_the_first_test_that_does_not_reach_it_ends_the_second_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[tuple[str, bool]]
) -> None:
    ended = anyio.Event()

    async def never(mode: str) -> None:
        if mode == "record":
            try:
                await anyio.sleep_forever()
            finally:
                ended.set()

    beside(monkeypatch, never)
    files = {"mod.py": MODULE, "test_mod.py": STRAY}
    with anyio.fail_after(120):
        async with judging(tmp_path / "p", files, "mod.py:double", python=sys.executable) as judge:
            assert sorted(judge.baseline.tests) == ["test_mod.py::test_no", "test_mod.py::test_two"]
    assert ended.is_set()
    assert runs == [("count", True), ("record", False), ("proxy", False), ("proxy", False)]


async def test_calls_that_are_compared_in_the_tests_process_are_noted_once_more(
    tmp_path: Path, runs: list[tuple[str, bool]]
) -> None:
    files = {"mod.py": MODULE, "test_mod.py": REACH + "\n" + BACK}
    options = {"python": sys.executable, "trust": True}
    async with judging(tmp_path / "p", files, "mod.py:double", **options) as judge:
        assert list(judge.baseline.in_process) == ["test_mod.py::test_back"]
        assert len(judge.baseline.here["test_mod.py::test_back"]) == 1
        assert (await judge("def double(x):\n    return x.__add__(x)\n")).reason != "test-failed"
    assert sorted(runs[:2]) == [("count", True), ("record", True)]
    assert ("record", False) in runs


async def test_in_one_slot_they_follow_one_another(tmp_path: Path, runs: list[tuple[str, bool]]) -> None:
    files = {"mod.py": MODULE, "test_mod.py": REACH}
    async with judging(tmp_path / "p", files, "mod.py:double", python=sys.executable, slots=1):
        pass
    assert runs == [("count", True), ("record", False), ("proxy", False), ("proxy", False)]


async def test_a_function_that_pytest_itself_uses_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def as_of_its_own(server: Any, place: Any, job: dict[str, Any], **more: Any) -> Any:
        run = await run_tests(server, place, job, **more)
        assert run.end is not None
        assert run.end["taken"] is False
        run.end["taken"] = True
        run.calls.clear()
        return run

    monkeypatch.setattr(discovery, "run_tests", as_of_its_own)
    files = {"mod.py": MODULE, "test_it.py": REACH}
    with pytest.raises(BehaviourError, match="pytest itself uses the module of this project"):
        async with judging(tmp_path / "p", files, "mod.py:double", python=sys.executable, slots=1):
            pass


async def test_files_that_cannot_be_collected_are_named_where_no_test_reaches(tmp_path: Path) -> None:
    """A generated module that is missing is no missing test."""
    files = {
        "mod.py": MODULE,
        "test_mod.py": f"import generated\n{REACH}",
        "test_other.py": "def test_other():\n    pass\n",
    }
    with pytest.raises(BehaviourError) as raised:
        async with judging(tmp_path / "p", files, "mod.py:double", python=sys.executable):
            pass
    assert "those of test_mod.py could not be collected: " in str(raised.value)
    assert "No module named 'generated'" in str(raised.value)


async def test_a_conftest_that_cannot_be_imported_is_why_there_are_no_tests(tmp_path: Path) -> None:
    files = {"mod.py": "def f():\n    return 1\n", "tests/conftest.py": "import no_such_thing\n"}
    files["tests/test_mod.py"] = "from mod import f\n\n\ndef test_f():\n    assert f() == 1\n"
    with pytest.raises(
        BehaviourError, match=r"^no test can be run: ModuleNotFoundError: No module named 'no_such_thing'$"
    ):
        async with judging(tmp_path / "p", files, "mod.py:f"):
            pass
