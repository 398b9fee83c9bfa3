"""The Python API when functions, arguments and callers misbehave."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import bakeoff
from bakeoff.engine.events import Event
from bakeoff.engine.store import RunStore
from bakeoff.errors import BakeoffError, BudgetSpentError, RunBusyError

pytestmark = pytest.mark.anyio
on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def same(item: Any) -> Any:
    await anyio.lowlevel.checkpoint()
    return item


async def stray(number: int) -> int:
    """Item 1 awaits a task that somebody cancelled."""
    await asyncio.sleep(0)
    if number == 1:
        task = asyncio.ensure_future(asyncio.sleep(60))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
    return number


@on_asyncio
@pytest.mark.parametrize("bound", [1, 2, 8])
@pytest.mark.parametrize("on_halt", ["finish", "cancel"])
@pytest.mark.parametrize("timeout", [None, 60])
async def test_a_cancellation_that_nobody_meant_is_a_failed_item(bound: int, on_halt: str, timeout: Any) -> None:
    options: dict[str, Any] = {"max_concurrency": bound, "on_halt": on_halt, "timeout": timeout}
    with pytest.raises(bakeoff.FanOutError, match="item 1: CancelledError") as raised:
        await bakeoff.fan_out(stray, range(4), **options)
    assert raised.value.results[0] == 0
    assert raised.value.results[1].kind == "error"
    ends = await bakeoff.fan_out(stray, range(4), min_success=3, **options)
    assert [end for end in ends if not isinstance(end, bakeoff.ItemError)] == [0, 2, 3]


@on_asyncio
async def test_a_stray_cancellation_ends_a_race_with_an_error() -> None:
    with pytest.raises(BakeoffError, match="was cancelled, though the work itself was not"):
        await bakeoff.race(3, stray, lambda _: False, bound=3)


@on_asyncio
@pytest.mark.parametrize("bound", [1, 4])
async def test_a_real_cancellation_stays_one(bound: int) -> None:
    task = asyncio.ensure_future(bakeoff.fan_out(asyncio.sleep, [60] * 4, max_concurrency=bound))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@on_asyncio
async def test_main_that_raises_a_stray_cancellation_failed(tmp_path: Path) -> None:
    with pytest.raises(asyncio.CancelledError):
        await bakeoff.durable(lambda run: stray(1), run="r", project=tmp_path)
    assert RunStore(tmp_path).open("r").history().status == "failed"


@pytest.mark.parametrize("what", ["returns", "raises"])
async def test_a_timeout_that_the_work_swallows_is_a_timeout(what: str) -> None:
    async def stubborn(_: int) -> str:
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            if what == "raises":
                raise ValueError("instead") from None
        return "done"

    with pytest.raises(bakeoff.FanOutError, match="timed out") as raised:
        await bakeoff.fan_out(stubborn, [1], timeout=0.02)
    assert raised.value.results[0].kind == "timeout"


@pytest.mark.parametrize("named", [True, False])
async def test_every_item_is_a_call_of_the_budget(tmp_path: Path, named: bool) -> None:
    done: list[int] = []

    async def note(number: int) -> None:
        done.append(number)

    where: dict[str, Any] = {"run": "r", "project": tmp_path} if named else {}
    with pytest.raises(BudgetSpentError):
        await bakeoff.durable(lambda run: run.fan_out(note, range(20)), budget={"calls": 7}, **where)
    assert sorted(done) == list(range(7))


async def test_reserved_amounts_count() -> None:
    done: list[int] = []

    async def main(run: bakeoff.DurableRun) -> None:
        with pytest.raises(ValueError, match="ceiling on usd"):
            await run.fan_out(same, [1])
        with pytest.raises(ValueError, match="no kind 'eur'"):
            await run.fan_out(same, [1], reserve={"usd": 1, "eur": 1})

        async def note(number: int) -> None:
            done.append(number)

        await run.fan_out(note, range(5), reserve={"usd": 0.5}, max_concurrency=1)

    with pytest.raises(BudgetSpentError):
        await bakeoff.durable(main, budget={"usd": 1.5})
    assert done == [0, 1, 2]


async def test_what_waits_for_a_lane_holds_no_money(tmp_path: Path) -> None:
    """Both under way cost more than was reserved for them: the third, queued since the beginning, never begins."""
    begun: list[str] = []
    ends = {name: anyio.Event() for name in "abc"}

    async def main(run: bakeoff.DurableRun) -> None:
        async def leaf(name: str) -> None:
            async def work(_: int) -> bakeoff.Outcome:
                begun.append(name)
                await ends[name].wait()
                return bakeoff.Outcome(usage={"usd": 0.7})

            with pytest.raises(BudgetSpentError, match="of 1 left") if name == "c" else nullcontext():
                await run.run.leaf(name, "call", work, lanes=("agents",), reserve={"usd": 1 / 6})

        async with anyio.create_task_group() as group:
            for name in ends:
                group.start_soon(leaf, name)
                await anyio.wait_all_tasks_blocked()
            ends["a"].set()
            while run.run.budget.spent["usd"] == 0:
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            assert begun == ["a", "b"]
            ends["b"].set()
            ends["c"].set()

    await bakeoff.durable(main, budget={"usd": 1}, lanes={"agents": 2}, project=tmp_path)
    assert begun == ["a", "b"]


@pytest.mark.parametrize("budget", [{"eur": 1}, {"calls": float("nan")}, {"usd": -1}, {"usd": float("inf")}])
async def test_a_budget_is_checked(tmp_path: Path, budget: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"eur|calls|usd"):
        await bakeoff.durable(same, run="r", project=tmp_path, budget=budget)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("outer", "places"), [(1, 1), (2, 2), (4, 4), (4, 2), (8, 3)])
async def test_nested_fan_outs_share_the_bound_and_never_wait_for_one_another(outer: int, places: int) -> None:
    now, most = 0, 0

    async def leaf(number: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.sleep(0.001)
        now -= 1
        return number

    async def main(run: bakeoff.DurableRun) -> list[list[int]]:
        async def part(first: int) -> list[int]:
            await leaf(0)
            found = await run.fan_out(leaf, range(first, first + 5))
            await leaf(0)
            return found

        return await run.fan_out(part, range(0, 50, 5), max_concurrency=outer)

    with anyio.fail_after(60):
        found = await bakeoff.durable(main, max_parallel=places, budget={"calls": 60})
    assert [number for part in found for number in part] == list(range(50))
    assert most == places


async def test_parents_that_hold_the_whole_budget_do_not_wait_for_one_another() -> None:
    async def main(run: bakeoff.DurableRun) -> None:
        async def parent(_: int) -> None:
            await run.call(same, 1)

        await run.fan_out(parent, range(4), max_concurrency=4)

    with anyio.fail_after(60), pytest.raises(BudgetSpentError):
        await bakeoff.durable(main, budget={"calls": 4})


async def test_cancelled_parents_give_back_what_they_hold() -> None:
    async def main(run: bakeoff.DurableRun) -> None:
        async def part(_: int) -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(run.fan_out, anyio.sleep, [60, 60])
                group.start_soon(run.fan_out, anyio.sleep, [60, 60])

        ends = await run.fan_out(part, range(3), timeout=0.05, min_success=0)
        assert [end.kind for end in ends] == ["timeout"] * 3
        assert run.run.lanes.in_use == {"leaves": 0}

    with anyio.fail_after(60):
        await bakeoff.durable(main, max_parallel=2)


async def test_a_run_that_is_over_says_so(tmp_path: Path) -> None:
    kept: list[bakeoff.DurableRun] = []

    async def main(run: bakeoff.DurableRun) -> None:
        kept.append(run)

    await bakeoff.durable(main, run="r", project=tmp_path)
    with pytest.raises(BakeoffError, match="this run is over"):
        await kept[0].call(same, 1)


async def test_a_call_that_is_open_when_the_run_ends_says_so(tmp_path: Path) -> None:
    told: list[str] = []

    async with anyio.create_task_group() as group:

        async def main(run: bakeoff.DurableRun) -> None:
            async def later() -> None:
                with pytest.raises(BakeoffError, match="this run is over"):
                    await run.call(anyio.sleep, 60)
                told.append("over")

            group.start_soon(later)
            await anyio.sleep(0.01)

        await bakeoff.durable(main, run="r", project=tmp_path)
    assert told == ["over"]


async def test_events_are_an_option_of_fan_out(tmp_path: Path) -> None:
    heard: list[Event] = []
    events = bakeoff.Events()
    events.subscribe(heard.append)
    await bakeoff.fan_out(same, [1], run="r", project=tmp_path, events=events)
    assert "NodeEnded" in {type(event).__name__ for event in heard}
    with pytest.raises(TypeError, match="an open run has its project"):
        await bakeoff.durable(lambda run: bakeoff.fan_out(same, [1], run=run, events=events))


class Odd(BaseException):
    pass


@pytest.mark.parametrize("bound", [1, 3])
@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, Odd])
@pytest.mark.parametrize("plain", [True, False])
async def test_what_is_no_failure_of_an_item_is_raised_as_it_is(
    tmp_path: Path, bound: int, kind: type[BaseException], plain: bool
) -> None:
    async def bad(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        if number == 1:
            raise kind()

    def bad_thread(number: int) -> None:
        if number == 1:
            raise kind()

    function: Any = bad_thread if plain else bad
    with pytest.raises(kind):
        await bakeoff.fan_out(function, range(5), max_concurrency=bound)
    with pytest.raises(kind):
        await bakeoff.fan_out(function, range(5), run="r", project=tmp_path, max_concurrency=bound)
    folder = RunStore(tmp_path).open("r")
    assert folder.history().status == ("paused" if kind is KeyboardInterrupt else "failed")


@pytest.mark.parametrize("bound", [1, 3])
async def test_what_the_items_raise_is_raised(bound: int) -> None:
    def items() -> Any:
        yield 1
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        await bakeoff.fan_out(same, items(), max_concurrency=bound)


async def test_what_main_raises_keeps_its_cause(tmp_path: Path) -> None:
    async def main(_: bakeoff.DurableRun) -> None:
        raise LookupError("outer") from KeyError("inner")

    with pytest.raises(LookupError) as raised:
        await bakeoff.durable(main, run="r", project=tmp_path)
    assert isinstance(raised.value.__cause__, KeyError)


async def test_results_that_are_no_json_are_failed_items(tmp_path: Path) -> None:
    async def huge(_: int) -> int:
        return 10**5000

    with pytest.raises(bakeoff.FanOutError, match="int is not JSON"):
        await bakeoff.fan_out(huge, [1], run="r", project=tmp_path)


async def test_several_failures_at_once_come_as_a_group() -> None:
    async def run(entrant: int) -> int:
        try:
            await anyio.sleep(60 if entrant else 0)
        finally:
            raise ValueError(entrant)

    with pytest.raises(ExceptionGroup) as raised:
        await bakeoff.race(2, run, bool, bound=2)
    assert raised.group_contains(ValueError)


async def one_failed(entrant: int) -> int:
    if entrant:
        raise ValueError("mine")
    await anyio.sleep(60)
    return 0


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def mute(_: Any) -> None:
    raise Mute


async def mute_async(_: Any) -> None:
    raise Mute


@pytest.mark.parametrize("function", [mute, mute_async])
async def test_an_exception_without_a_text_is_a_failed_item(tmp_path: Path, function: Any) -> None:
    text = r"item 0: Mute: \(it has no text: its __str__ raised RuntimeError\)"
    for named in ({}, {"run": "r", "project": tmp_path}):
        with pytest.raises(bakeoff.FanOutError, match=text) as raised:
            await bakeoff.fan_out(function, [1], **named)
        assert isinstance(raised.value.__cause__, Mute)
        assert isinstance(raised.value.results[0], bakeoff.ItemError)


async def test_a_main_whose_exception_has_no_text_failed(tmp_path: Path) -> None:
    for name, kind in (("a", Mute), ("b", type("MuteError", (Mute, BakeoffError), {})), ("c", MuteExit)):

        async def main(_: bakeoff.DurableRun, kind: type[BaseException] = kind) -> None:
            raise kind

        with pytest.raises(kind):
            await bakeoff.durable(main, run=name, project=tmp_path)
        folder = RunStore(tmp_path).open(name)
        status, error = folder.status_and_error(folder.history())
        assert status == "failed"
        assert "it has no text" in str(error)


class MuteExit(SystemExit):
    __str__ = Mute.__str__


async def test_a_consumer_whose_exception_has_no_text_is_dropped(tmp_path: Path) -> None:
    heard: list[Event] = []
    events = bakeoff.Events()
    events.subscribe(mute)
    events.subscribe(heard.append)
    await bakeoff.fan_out(same, [1], run="r", project=tmp_path, events=events)
    assert any("hears no more events: Mute: (it has no text" in getattr(event, "text", "") for event in heard)


async def test_plain_entrants_run_in_threads_and_losers_that_go_on_are_told() -> None:
    met, let_go = threading.Barrier(3, timeout=60), threading.Event()
    heard: list[Event] = []
    events = bakeoff.Events()
    events.subscribe(heard.append)

    def attempt(entrant: int) -> int:
        met.wait()
        if entrant:
            let_go.wait(60)
        return entrant + 10

    result = await bakeoff.race(5, attempt, lambda found: found == 10, bound=3, events=events)
    let_go.set()
    assert (result.winner, result.results, result.not_stopped) == (0, {0: 10}, {1, 2})
    texts = [getattr(event, "text", "") for event in heard]
    assert len(texts) == 2
    assert all(text.startswith("not stopped: ") for text in texts)


async def test_plain_entrants_may_return_something_to_await() -> None:
    result = await bakeoff.race(3, lambda entrant: same(entrant), lambda found: found == 1, bound=1)
    assert (result.winner, result.results, result.not_stopped) == (1, {0: 0, 1: 1}, set())


async def test_plain_entrants_that_raise_end_the_race() -> None:
    def attempt(_: int) -> int:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await bakeoff.race(3, attempt, bool, bound=1)
    for functions in ((3, bool), (attempt, 3)):
        with pytest.raises(TypeError, match="3 is none"):
            await bakeoff.race(3, *functions, bound=1)  # type: ignore[arg-type]


async def test_an_unknown_option_is_told_all_there_are() -> None:
    with pytest.raises(TypeError, match=r"there are max_concurrency, .*codec, reserve, run, project, events$"):
        await bakeoff.fan_out(same, [1], foo=1)


async def test_an_entrant_that_raises_ends_the_race_with_its_exception() -> None:
    with pytest.raises(ValueError, match="mine"):
        await bakeoff.race(2, one_failed, bool, bound=2)
    for entrants, bound in ((2, "2"), (2.0, 1), (True, 1)):
        with pytest.raises(TypeError, match="whole number"):
            await bakeoff.race(entrants, one_failed, bool, bound=bound)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="0 entrants or more"):
        await bakeoff.race(-1, one_failed, bool, bound=1)


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"retry": 3}, TypeError, "retry is a bakeoff.Retry"),
    ({"retry": bakeoff.Retry(attempts=0)}, ValueError, "attempts must be at least 1"),
    ({"retry": bakeoff.Retry(delay=float("nan"))}, ValueError, "delay is out of range"),
    ({"retry": bakeoff.Retry(jitter="much")}, TypeError, "jitter must be a number"),  # type: ignore[arg-type]
    ({"retry": bakeoff.Retry(on="timeout")}, TypeError, "tuple of kinds"),  # type: ignore[arg-type]
    ({"min_success": -1}, ValueError, "at least 0"),
    ({"min_success": 4}, ValueError, "there are 3 items"),
    ({"lanes": {"a": 0}}, TypeError, "list of names"),
    ({"lanes": "db"}, TypeError, "list of names"),
    ({"lanes": ["db"]}, BakeoffError, "no lane 'db'"),
    ({"timeout": float("nan")}, ValueError, "timeout"),
    ({"timeout": 0}, ValueError, "timeout"),
    ({"timeout": -1}, ValueError, "timeout"),
    ({"timeout": "1"}, TypeError, "timeout"),
    ({"max_concurrency": "3"}, TypeError, "whole number"),
    ({"max_concurrency": 1.5}, TypeError, "whole number"),
    ({"max_concurrency": 0}, ValueError, "at least 1"),
    ({"on_halt": "stop"}, ValueError, "finish or cancel"),
    ({"codec": 1}, TypeError, "encode"),
    ({"name": 1}, TypeError, "name is a text"),
    ({"reserve": [1]}, TypeError, "mapping of amounts"),
    ({"isolate": True}, ValueError, "plain functions"),
    ({"run": 3}, TypeError, "name of a run"),
    ({"run": "../up"}, BakeoffError, "run id"),
    ({"nonsense": 1}, TypeError, "no option 'nonsense'"),
]


@pytest.mark.parametrize(("options", "kind", "text"), BAD_OPTIONS)
async def test_options_are_checked_before_anything_is_made(
    tmp_path: Path, options: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        await bakeoff.fan_out(same, [1, 2, 3], **{"run": "r", "project": tmp_path, **options})
    assert not (tmp_path / ".bakeoff").exists()


async def test_what_is_called_with_what_is_checked(tmp_path: Path) -> None:
    for function, items in ((3, [1]), (same, 3)):
        with pytest.raises(TypeError):
            await bakeoff.fan_out(function, items, run="r", project=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"isolate: a worker"):
        await bakeoff.fan_out(lambda item: item, [1], isolate=True)
    with pytest.raises(BakeoffError, match="no such folder"):
        await bakeoff.fan_out(same, [1], run="r", project=tmp_path / "none")
    with pytest.raises(ValueError, match="lane 'a'"):
        await bakeoff.durable(same, run="r", project=tmp_path, lanes={"a": 0})
    with pytest.raises(TypeError, match="max_parallel"):
        await bakeoff.durable(same, run="r", project=tmp_path, max_parallel="2")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


async def test_a_function_without_a_name_needs_one(tmp_path: Path) -> None:
    for function in (lambda item: item, partial(same)):
        with pytest.raises(ValueError, match="give `name=`"):
            await bakeoff.fan_out(function, [1], run="r", project=tmp_path)
        assert await bakeoff.fan_out(function, [1]) == [1]
        assert await bakeoff.fan_out(function, [1], run="r", name="n", project=tmp_path) == [1]


def test_of_several_callers_one_has_the_run_and_the_others_hear_it(tmp_path: Path) -> None:
    start, over = threading.Barrier(4), threading.Event()
    ends: list[object] = []

    async def hold(_: int) -> str:
        while len(ends) < 3:  # noqa: ASYNC110
            await anyio.sleep(0.001)
        return "done"

    def call() -> None:
        start.wait()
        try:
            ends.append(bakeoff.fan_out_sync(hold, [1], run="t0", name="hold", project=tmp_path))
        except BaseException as failure:
            ends.append(type(failure))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    over.set()
    assert ends == [RunBusyError] * 3 + [["done"]]


async def test_a_run_killed_before_its_first_entry_is_new(tmp_path: Path) -> None:
    from bakeoff.engine.journal import SqliteJournal

    SqliteJournal(RunStore(tmp_path).create("r").journal).close()
    assert await bakeoff.fan_out(same, [1], run="r", project=tmp_path) == [1]


def _with_child(note: str) -> None:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(note + ".part").write_text(f"{os.getpid()} {child.pid}")
    os.rename(note + ".part", note)
    time.sleep(600)


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _wait_for(what: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


async def test_what_an_isolated_function_started_ends_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    async with anyio.create_task_group() as group:
        group.start_soon(partial(bakeoff.fan_out, _with_child, [str(note)], isolate=True))
        while not note.exists():  # noqa: ASYNC110
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert all(_gone(int(pid)) for pid in note.read_text().split())


def _die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def test_a_worker_that_dies_is_a_failed_item() -> None:
    with pytest.raises(bakeoff.FanOutError, match="the worker process ended before it had a result"):
        await bakeoff.fan_out(_die, [1], isolate=True)


SCRIPT = """
import os, sys, bakeoff
sys.path.insert(0, {tests!r})
from engine_faults_functions import function
{guard}
    print(bakeoff.fan_out_sync(function, [os.environ["NOTE"]], isolate=True, run="r"))
"""


def _script(tmp_path: Path, guard: str) -> subprocess.Popen[str]:
    module = "from test_durable_faults import _with_child as function\n"
    (tmp_path / "engine_faults_functions.py").write_text(module)
    (tmp_path / "script.py").write_text(SCRIPT.format(tests=str(Path(__file__).parent), guard=guard))
    environ = {**os.environ, "PYTHONPATH": str(Path(bakeoff.__file__).parents[1]), "NOTE": str(tmp_path / "pids")}
    return subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True)


def test_workers_and_what_they_started_end_with_the_coordinator(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    with _script(tmp_path, 'if __name__ == "__main__":') as coordinator:
        _wait_for(note.exists)
        coordinator.kill()
    _wait_for(lambda: all(_gone(int(pid)) for pid in note.read_text().split()), 5)


def test_a_main_module_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    with _script(tmp_path, "if True:") as coordinator:
        _, errors = coordinator.communicate(timeout=60)
    assert "BakeoffError: a worker process imports the main module" in errors
    assert 'put what it does under `if __name__ == "__main__":`' in errors
