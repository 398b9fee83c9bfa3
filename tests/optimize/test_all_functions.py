"""All functions below a path: their order, one building on another, and one run that goes on after anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bakeoff.cli.schema import output_schema
from bakeoff.engine.events import Event
from bakeoff.engine.record import Outcome, RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError, the_failure
from bakeoff.jobs.job import OpenRun
from bakeoff.jobs.outcome import exit_status
from bakeoff.jobs.session import RunOptions
from bakeoff.optimize import session
from bakeoff.optimize.all_functions import all_functions
from bakeoff.optimize.all_functions import ranking as profiler
from bakeoff.optimize.all_functions.ranked import ProfiledTests, Ranked
from bakeoff.optimize.all_functions.ranking import ranked, too_long
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.candidate_state import CandidateState
from bakeoff.optimize.job import JOB
from bakeoff.optimize.markdown import markdown
from bakeoff.optimize.optimisation import Optimisation
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.original import Original
from bakeoff.optimize.page import optimisation
from bakeoff.optimize.table import table_lines, winners_diff
from bakeoff.optimize.view import RunView, run_view
from bakeoff.workspace.slots.slot import Slot
from optimize.conftest import Shop

MATHS = '''\
"""Numbers."""


def power(a, b, m):
    """A power of a, modulo m."""
    return a**b % m


def plain(x):
    """Cannot be faster."""
    return x + 1


def unused(x):
    """Nobody calls it."""
    return x


def imported(x):
    """No test calls it, only the import."""
    return sum(range(x))


SUM = imported(300_000)
'''
TEST = """\
import pytest
from lib.maths import plain, power


@pytest.mark.parametrize("size", [1, 20, 90_000, 90_001])
def test_power(size):
    assert power(3, size, 7) in range(7)
    assert plain(1) == 2
"""


def test_ranked_shown_and_optimised(shop: Shop) -> None:
    shop.write("lib/__init__.py", "")
    shop.write("lib/maths.py", MATHS)
    shop.write("test_maths.py", TEST)
    shown = json.loads(shop("optimize", "--all", "lib", "--dry-run", "--json"))
    Draft202012Validator(output_schema("ranking")).validate(shown)
    assert [one["target"] for one in shown["functions"]] == ["lib/maths.py:power", "lib/maths.py:plain"]
    assert [one["calls"] for one in shown["functions"]] == [4, 4]
    assert shown["functions"][0]["own_seconds"] > 0
    assert not list(RunStore(shop.root).runs.glob("*"))

    words = ("--all", "lib", "--seconds", "60", "--inputs", "recorded", "--json", "--run-id", "r", "--apply")
    found = json.loads(shop("optimize", *words))
    Draft202012Validator(output_schema("optimize")).validate(found)
    assert found["winner"] == "lib/maths.py:power"
    assert [one["status"] for one in found["functions"]] == ["faster", "no winner"]
    assert found["functions"][0]["speedup"]["low"] > 1.05
    assert found["functions"][0]["candidates"][0]["origin"] == "rules/modular-power"
    assert "return pow(a, b, m)" in (shop.root / "lib" / "maths.py").read_text()
    assert "1 of 2 functions faster" in shop.said


def test_a_project_in_a_folder_of_its_repository(shop: Shop) -> None:
    shop.write("services/api/lib/acme/maths.py", MATHS)
    shop.write("services/api/check/check_maths.py", TEST.replace("lib.maths", "acme.maths"))
    shop.write("services/api/pytest.ini", "[pytest]\npythonpath = lib\npython_files = check_*.py\n")
    api = replace(shop, root=shop.root / "services" / "api")
    for more in ((), ("--tests", "check"), ("--tests", "check/check_maths.py::test_power")):
        shown = json.loads(api("optimize", "--all", "lib", "--dry-run", "--json", *more))
        found = [one["target"] for one in shown["functions"]]
        assert found == [f"services/api/lib/acme/maths.py:{name}" for name in ("power", "plain")]


def test_what_is_wrong_is_said_before_a_run_is_begun(shop: Shop) -> None:
    assert "no such folder" in shop("optimize", "--all", "nowhere", status=1) + shop.said
    shop("optimize", "--all", ".", "numbers_.py:common", status=2)
    shop("optimize", "numbers_.py:common", "--dry-run", status=2)
    shop("optimize", status=2)
    shop.write("test_numbers.py", "import nothing_of_that_name\n")
    shop("optimize", "--all", ".", "--dry-run", status=1)
    assert "no test can be profiled: test_numbers.py cannot be collected: ModuleNotFoundError: No module" in shop.said


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_ranking_of_this_project_alone(shop: Shop) -> None:
    options = OptimizeOptions(".", every=True)
    (found,) = await session.dry_run(RunStore(shop.root), options, RunOptions())
    assert (found.target, found.calls) == ("numbers_.py:common", 5)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - a group holds the failure
        await session.dry_run(RunStore(shop.root), replace(options, target="test_numbers.py"), RunOptions())
    assert "reach no function below it" in str(the_failure(raised.value))


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_test_that_runs_is_told_and_the_projects_own_selection_kept(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiler, "LOOK", 0.01)
    shop.write("pytest.ini", "[pytest]\naddopts = -m 'not slow'\nmarkers = slow: takes for ever\n")
    waits = """import pathlib, time, pytest
from numbers_ import common
@pytest.mark.slow
def test_never(): time.sleep(1e6)
def test_waits():
    common([1], [1])
    while not pathlib.Path("heard").exists(): time.sleep(0.01)
"""
    shop.write("test_waits.py", waits)
    run_options = RunOptions()
    told: list[str] = []
    slots: list[Path] = []

    def heard(event: Event) -> None:
        if isinstance(event, ProfiledTests) and event.test == "test_waits.py::test_waits":
            told.append(event.test)
            (slots[0] / "heard").touch()

    async def rank(checker: Any, processes: Any, slot: Slot, *more: Any) -> list[Ranked]:
        slots.append(slot.outside)
        return await profiler.rank(checker, processes, slot, *more)

    run_options.events.subscribe(heard)
    monkeypatch.setattr(all_functions, "rank", rank)
    options = OptimizeOptions(".", every=True, level="none", tests=("test_waits.py",))
    (found,) = await session.dry_run(RunStore(shop.root), options, run_options)
    assert (found.target, found.calls) == ("numbers_.py:common", 1)
    assert told


def test_the_test_that_takes_too_long_is_named(tmp_path: Path) -> None:
    progress = tmp_path / "progress"
    assert "what stands before the first test" in too_long(progress, 300)
    progress.write_text("12 tests/test_a.py::test_b[x y]\n")
    assert too_long(progress, 300).startswith(
        "they take more than 300 s under a profiler: 12 had ended, and it was in tests/test_a.py::test_b[x y]; --tests"
    )


SOURCE = b"""\
import functools


@functools.cache
def outer(x):
    def inner():
        return [y for y in x]

    return inner()


class Box:
    def one(self): return 1
    def two(self): return 2


def never(): ...
"""


def test_the_order_is_by_own_time_then_calls_then_name() -> None:
    rows = [
        ["a.py", 1, "<module>", 1, 9.0],
        ["a.py", 4, "outer", 2, 0.001],
        ["a.py", 6, "inner", 2, 0.5],
        ["a.py", 7, "<listcomp>", 2, 0.4],
        ["a.py", 13, "one", 3, 0.2],
        ["a.py", 14, "two", 3, 0.20004],
        ["b.py", 4, "outer", 5, 0.20001],
        ["b.py", 17, "<lambda>", 5, 0.1],
        ["broken.py", 1, "f", 1, 7.0],
        ["tests/test_a.py", 4, "outer", 1, 7.0],
    ]
    sources = {"a.py": SOURCE, "b.py": SOURCE, "tests/test_a.py": SOURCE, "broken.py": b"def f(:"}
    found = ranked(rows, ".", sources.get)
    assert [(one.target, one.own, one.calls) for one in found] == [
        ("a.py:outer", 0.901, 2),
        ("b.py:outer", 0.2, 5),
        ("a.py:Box.one", 0.2, 3),
        ("a.py:Box.two", 0.2, 3),
    ]
    assert [one.path for one in ranked(rows, "b.py", sources.get)] == ["b.py"]
    assert Ranked.from_json(found[0].to_json()) == found[0]


class Faked:
    """Optimisations that end as their function's name says; each winner adds a line to the file that all share."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        self.asked: list[str] = []
        self.spent: str | None = "the budget is spent"
        self.dies = True
        functions = [Ranked("a.py", name, 1.0 - number / 10, 1) for number, name in enumerate(names)]

        async def ranking(*args: Any) -> list[Ranked]:
            return functions

        monkeypatch.setattr(all_functions, "ranking", ranking)
        monkeypatch.setattr(session, "ranking", ranking)
        monkeypatch.setattr(Optimisation, "carry_out", lambda work, *given: self.carry_out(work, *given))

    async def carry_out(
        self, work: Optimisation, run: Any, workspace: Any, processes: Any
    ) -> tuple[dict[str, Any], str | None]:
        name = work.options.target.partition(":")[2]
        self.asked.append(name)
        if name == "fails":
            raise BakeoffError("no test reaches a.py:fails")
        if name == "dies" and self.dies:
            raise RuntimeError("the machine stops")
        if name == "none":
            return {"winner": None}, None
        content = Original(workspace).content("a.py") or b""
        candidate = Candidate("fake/one", {"a.py": content + f"# {name}\n".encode()})

        async def note(_: int) -> Outcome:
            return Outcome(output={"source": "fake", "candidate": candidate.to_json(), "twin": None})

        await run.leaf(f"{work.prefix}candidate:1", "candidate", note, lanes=None)
        facts = {"winner": 1, "result": await work._keep(run, workspace, CandidateState(1, "fake", candidate))}
        return facts, self.spent if name == "spends" else None


@pytest.fixture
def store(shop: Shop) -> RunStore:
    shop.write("a.py", "# first\n")
    return RunStore(shop.root)


async def started(store: RunStore, top: int = 10) -> tuple[RunFolder, Ending]:
    options = OptimizeOptions(".", every=True, top=top)
    return await session.start(store, options, RunOptions(catch_signals=False), "r")


def seen(folder: RunFolder) -> RunView:
    history = folder.history()
    return run_view(history, folder.status_and_error(history)[0])


pytestmark = pytest.mark.anyio


async def test_each_builds_on_the_winners_before_it(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Faked(monkeypatch, "one", "fails", "none", "two", "beyond")
    folder, ending = await started(store, top=4)
    assert fake.asked == ["one", "fails", "none", "two"]
    found = seen(folder)
    assert [one.status for one in found.functions] == ["faster", "failed", "no winner", "faster"]
    assert found.winner == 2
    assert exit_status(ending, JOB.completed(OpenRun(folder))) == 0
    diff = winners_diff(store.project, "r", found)
    assert diff is not None
    assert [line for line in diff.splitlines() if line[:1] == "+" and line[:3] != "+++"] == ["+# one", "+# two"]
    shown = json.loads(json.dumps({**JOB.shown(OpenRun(folder, ending)), "landed": None}))
    Draft202012Validator(output_schema("optimize")).validate(shown)
    assert "no test reaches" in "\n".join(table_lines(found))
    text = "".join(markdown("r", found, diff))
    assert "2 faster" in text
    assert "no test reaches" in text
    assert "<h2>Functions</h2>" in "".join(optimisation(found, diff))
    assert await session.dry_run(store, OptimizeOptions(".", every=True), RunOptions()) != []


async def test_nothing_is_faster(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    Faked(monkeypatch, "none", "fails")
    folder, ending = await started(store)
    found = seen(folder)
    assert (found.winner, exit_status(ending, JOB.completed(OpenRun(folder)))) == (None, 3)
    assert winners_diff(store.project, "r", found) is None


async def test_a_resumed_run_goes_on_where_it_was(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Faked(monkeypatch, "one", "dies", "two")
    with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever holds the failure
        await started(store)
    assert fake.asked == ["one", "dies"]
    Path(store.project, "a.py").write_text("# changed since\n")
    fake.dies = False
    folder, _ = await session.resume(store, "r", RunOptions(catch_signals=False))
    assert fake.asked == ["one", "dies", "dies", "two"]
    diff = winners_diff(store.project, "r", seen(folder)) or ""
    assert " # first\n+# one\n+# dies\n+# two\n" in diff


async def test_a_spent_budget_ends_it_and_what_was_found_counts(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Faked(monkeypatch, "one", "spends", "two")
    folder, ending = await started(store)
    assert fake.asked == ["one", "spends"]
    found = seen(folder)
    assert (ending.status, found.winner) == (RunStatus.BUDGET_SPENT, 2)
    assert [one.status for one in found.functions] == ["faster", "faster", "open"]
    assert "+# spends" in (winners_diff(store.project, "r", found) or "")
    fake.spent = None
    folder, _ = await session.resume(store, "r", RunOptions(catch_signals=False))
    assert fake.asked == ["one", "spends", "spends", "two"]
    assert seen(folder).winner == 3
