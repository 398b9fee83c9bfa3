"""The Python API: bound, order, halts, resume and cancel for plain and async functions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import bakeoff
from bakeoff.api.sync import run_sync
from bakeoff.engine.events import Event, Warned
from bakeoff.engine.record import Status
from bakeoff.engine.store import RunStore
from bakeoff.errors import BakeoffError, BudgetSpentError
from ending import ended

pytestmark = pytest.mark.anyio


async def double(number: int) -> int:
    return number * 2


class Trace:
    """An async function that remembers what it was called with, and fails where it is told to."""

    def __init__(self, bad: set[int] | None = None) -> None:
        self.calls: list[int] = []
        self.bad = bad or set()

    async def __call__(self, number: int) -> int:
        self.calls.append(number)
        if number in self.bad:
            raise ValueError(f"{number} is bad")
        return number * 2


async def test_results_come_in_item_order_whatever_ends_first() -> None:
    ended: list[int] = []

    async def later_first(number: int) -> int:
        await anyio.sleep((5 - number) * 0.005)
        ended.append(number)
        return number

    assert await bakeoff.fan_out(later_first, range(5), max_concurrency=5) == [0, 1, 2, 3, 4]
    assert ended != sorted(ended)


async def test_the_bound_holds_and_is_used() -> None:
    open_now, most = 0, 0
    full = anyio.Event()

    async def work(_: int) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        if open_now == 3:
            full.set()
        await full.wait()
        await anyio.lowlevel.checkpoint()
        open_now -= 1

    await bakeoff.fan_out(work, range(20), max_concurrency=3)
    assert most == 3


@pytest.mark.parametrize("bound", [0, -1])
async def test_a_bound_below_one_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        await bakeoff.fan_out(double, [1], max_concurrency=bound)


async def test_unknown_on_halt_is_refused() -> None:
    with pytest.raises(ValueError, match="finish or cancel"):
        await bakeoff.fan_out(double, [1], on_halt="stop")


async def test_calling_again_takes_finished_results_from_the_run(tmp_path: Path) -> None:
    first = Trace(bad={2})
    with pytest.raises(bakeoff.FanOutError, match="item 2: ValueError: 2 is bad") as raised:
        await bakeoff.fan_out(first, [0, 1, 2, 3], run="r", name="t", project=tmp_path, max_concurrency=1)
    assert first.calls == [0, 1, 2]
    assert raised.value.results[:2] == [0, 2]
    assert isinstance(raised.value.results[2], bakeoff.ItemError)
    assert isinstance(raised.value.__cause__, ValueError)

    # Reordered and extended: only what is missing runs.
    second = Trace()
    results = await bakeoff.fan_out(second, [3, 2, 1, 0, 7], run="r", name="t", project=tmp_path)
    assert results == [6, 4, 2, 0, 14]
    assert sorted(second.calls) == [2, 3, 7]

    third = Trace()
    assert await bakeoff.fan_out(third, [0, 7], run="r", name="t", version="2", project=tmp_path) == [0, 14]
    assert sorted(third.calls) == [0, 7]


async def test_equal_items_are_told_apart_by_ordinal(tmp_path: Path) -> None:
    first = Trace()
    assert await bakeoff.fan_out(first, [5, 5, 5], run="r", name="t", project=tmp_path) == [10, 10, 10]
    again = Trace()
    assert await bakeoff.fan_out(again, [5, 5, 5, 5], run="r", name="t", project=tmp_path) == [10, 10, 10, 10]
    assert (first.calls, again.calls) == ([5, 5, 5], [5])


async def test_fresh_and_resumed_results_are_the_same(tmp_path: Path) -> None:
    async def pair(number: int) -> tuple[int, dict[str, list[int]]]:
        return number, {"n": [number]}

    fresh = await bakeoff.fan_out(pair, [1, 2], run="r", project=tmp_path)
    resumed = await bakeoff.fan_out(pair, [1, 2], run="r", project=tmp_path)
    assert fresh == resumed == [[1, {"n": [1]}], [2, {"n": [2]}]]


async def test_a_codec_carries_what_is_no_json(tmp_path: Path) -> None:
    class Bytes:
        def encode(self, value: bytes) -> str:
            return value.hex()

        def decode(self, data: str) -> bytes:
            return bytes.fromhex(data)

    async def raw(number: int) -> bytes:
        return bytes([number])

    for _ in range(2):
        assert await bakeoff.fan_out(raw, [1, 255], run="r", project=tmp_path, codec=Bytes()) == [b"\1", b"\xff"]
    with pytest.raises(bakeoff.FanOutError, match="bytes is not JSON"):
        await bakeoff.fan_out(raw, [1], run="other", project=tmp_path)


async def test_an_item_that_is_no_json_is_refused_in_a_durable_run_only(tmp_path: Path) -> None:
    async def kind(item: Any) -> str:
        return type(item).__name__

    assert await bakeoff.fan_out(kind, [object()]) == ["object"]
    with pytest.raises(BakeoffError, match="kind, item 0: a durable run finds its items again by their JSON"):
        await bakeoff.fan_out(kind, [object()], run="r", name="kind", project=tmp_path)


async def test_min_success_keeps_going_and_says_what_failed() -> None:
    trace = Trace(bad={1, 3})
    results = await bakeoff.fan_out(trace, range(5), min_success=3)
    assert [result for result in results if not isinstance(result, bakeoff.ItemError)] == [0, 4, 8]
    assert [(result.index, result.kind) for result in results if isinstance(result, bakeoff.ItemError)] == [
        (1, "error"),
        (3, "error"),
    ]
    with pytest.raises(bakeoff.FanOutError, match="3 of 5 items succeeded, 4 were asked for"):
        await bakeoff.fan_out(Trace(bad={1, 3}), range(5), min_success=4)


async def test_on_halt_cancel_ends_later_items_and_lets_earlier_ones_finish() -> None:
    started = [anyio.Event() for _ in range(3)]
    ended: list[tuple[int, str]] = []

    async def work(number: int) -> int:
        started[number].set()
        try:
            if number == 1:
                await started[2].wait()
                raise ValueError("halt")
            await anyio.sleep(0.05 if number == 0 else 60)
        except anyio.get_cancelled_exc_class():
            ended.append((number, "cancelled"))
            raise
        ended.append((number, "finished"))
        return number

    with pytest.raises(bakeoff.FanOutError) as raised:
        await bakeoff.fan_out(work, range(3), max_concurrency=3, on_halt="cancel")
    assert ended == [(2, "cancelled"), (0, "finished")]
    assert len(raised.value.results) == 2


async def test_retry_and_timeout() -> None:
    tries = 0

    async def third_time(_: int) -> str:
        nonlocal tries
        tries += 1
        if tries < 3:
            await anyio.sleep(60)
        return "done"

    retry = bakeoff.Retry(attempts=3, delay=0.001, on=("timeout",))
    assert await bakeoff.fan_out(third_time, [0], timeout=0.02, retry=retry) == ["done"]
    with pytest.raises(bakeoff.FanOutError, match=r"timed out after 0\.01 s"):
        await bakeoff.fan_out(anyio.sleep, [60], timeout=0.01)


async def test_plain_functions_run_in_threads_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=60)

    def meet(_: int) -> int:
        barrier.wait()
        return threading.get_ident()

    threads = await bakeoff.fan_out(meet, range(3), max_concurrency=3)
    assert threading.get_ident() not in threads
    assert len(set(threads)) == 3


async def test_isolated_functions_run_in_processes() -> None:
    pids = await bakeoff.fan_out(_pid, range(4), max_concurrency=2, isolate=True)
    assert os.getpid() not in pids


def _pid(_: int) -> int:
    return os.getpid()


def _stall(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    signal.pause()


@pytest.mark.parametrize("anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.soak(only=True))])
async def test_an_isolated_function_is_killed_by_its_timeout(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(bakeoff.FanOutError, match="timed out"):
        await bakeoff.fan_out(_stall, [str(note)], isolate=True, timeout=3)
    assert ended(int(note.read_text()))


async def test_a_thread_that_cannot_be_stopped_is_reported() -> None:
    let_go, heard = threading.Event(), []
    events = bakeoff.Events()
    events.subscribe(heard.append)

    def wait(_: int) -> None:
        let_go.wait(60)

    with pytest.raises(bakeoff.FanOutError, match="timed out"):
        await bakeoff.durable(lambda run: run.fan_out(wait, [0], timeout=0.02), events=events)
    let_go.set()
    assert any(isinstance(event, Warned) and "not stopped" in event.text for event in heard)


async def test_one_open_run_shares_its_bound_and_journal(tmp_path: Path) -> None:
    most, now = 0, 0

    async def leaf(number: int) -> int:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await anyio.sleep(0.001)
        now -= 1
        return number

    async def main(run: bakeoff.DurableRun) -> list[int]:
        found: list[int] = []

        async def part(first: int) -> None:
            found.extend(await bakeoff.fan_out(leaf, range(first, first + 10), run=run, max_concurrency=8))

        async with anyio.create_task_group() as group:
            for first in (0, 100):
                group.start_soon(part, first)
        found.append(await run.call(double, 21))
        return found

    found = await bakeoff.durable(main, run="r", project=tmp_path, max_parallel=3)
    assert sorted(found) == sorted([*range(10), *range(100, 110), 42])
    assert most == 3
    history = RunStore(tmp_path).open("r").history()
    assert (history.status, len(history.records)) == ("completed", 21)


async def test_what_main_raises_is_raised_and_the_run_failed(tmp_path: Path) -> None:
    async def main(run: bakeoff.DurableRun) -> None:
        await run.call(double, 1)
        raise LookupError("not there")

    with pytest.raises(LookupError, match="not there"):
        await bakeoff.durable(main, run="r", project=tmp_path)
    folder = RunStore(tmp_path).open("r")
    assert folder.status_and_error(folder.history()) == ("failed", "LookupError: not there")


async def test_a_cancelled_call_leaves_a_paused_run_that_goes_on(tmp_path: Path) -> None:
    started = anyio.Event()
    first: list[int] = []

    async def work(number: int) -> int:
        first.append(number)
        if number == 2:
            started.set()
            await anyio.sleep(60)
        return number

    async with anyio.create_task_group() as group:

        async def call() -> None:
            await bakeoff.fan_out(work, range(4), run="r", name="w", project=tmp_path, max_concurrency=1)

        group.start_soon(call)
        await started.wait()
        group.cancel_scope.cancel()
    folder = RunStore(tmp_path).open("r")
    assert folder.status_and_error(folder.history())[0] == "paused"
    again = Trace()
    await bakeoff.fan_out(again, range(4), run="r", name="w", project=tmp_path)
    assert (first, sorted(again.calls)) == ([0, 1, 2], [2, 3])


async def test_a_budget_of_calls_stops_the_run(tmp_path: Path) -> None:
    async def main(run: bakeoff.DurableRun) -> None:
        await run.run.leaf("first", "call", _paid, reserve={"calls": 1})
        await run.run.leaf("last", "call", _paid, reserve={"calls": 2})

    with pytest.raises(BudgetSpentError, match="2 calls asked for, 1 of 2 left"):
        await bakeoff.durable(main, run="r", project=tmp_path, budget={"calls": 2})
    assert RunStore(tmp_path).open("r").history().status == "budget_spent"


async def _paid(_: int) -> bakeoff.Outcome:
    return bakeoff.Outcome()


async def test_a_budget_that_allows_no_further_try_names_the_failure_of_the_last(tmp_path: Path) -> None:
    async def fails(_: int) -> bakeoff.Outcome:
        return bakeoff.Outcome(status=Status.FAILED, error="the answer broke off", kind="cut", usage={"calls": 1})

    async def main(run: bakeoff.DurableRun) -> None:
        retry = bakeoff.Retry(attempts=5, delay=0.0, on=("cut",))
        await run.run.leaf("one", "call", fails, reserve={"calls": 1}, retry=retry)

    with pytest.raises(BudgetSpentError, match=r"0 of 2 left; the last call failed: the answer broke off"):
        await bakeoff.durable(main, run="r", project=tmp_path, budget={"calls": 2})


async def test_a_run_of_another_job_is_refused(tmp_path: Path) -> None:
    folder = RunStore(tmp_path).create("taken")
    from bakeoff.engine.journal import SqliteJournal

    journal = SqliteJournal(folder.journal)
    journal.append("meta", "", '{"job": "workflow"}')
    journal.close()
    with pytest.raises(BakeoffError, match="made by another job"):
        await bakeoff.fan_out(double, [1], run="taken", project=tmp_path)


async def test_a_run_whose_making_was_cut_short_is_made_again(tmp_path: Path) -> None:
    RunStore(tmp_path).create("r")
    assert await bakeoff.fan_out(double, [1], run="r", project=tmp_path) == [2]


async def test_the_plain_twin_works_inside_a_running_loop() -> None:
    assert bakeoff.fan_out_sync(double, range(3)) == [0, 2, 4]
    with pytest.raises(bakeoff.FanOutError, match="7 is bad"):
        bakeoff.fan_out_sync(Trace(bad={7}), [7])


def test_the_plain_twin_works_without_a_loop(tmp_path: Path) -> None:
    assert bakeoff.fan_out_sync(_pid, [1]) == [os.getpid()]
    heard: list[Event] = []
    assert bakeoff.fan_out_sync(double, [4], run="r", project=tmp_path) == [8]
    assert heard == []


INTERRUPTED = """
import os, signal, sys, threading, anyio, bakeoff
def press():
    os.kill(os.getpid(), signal.SIGINT)
async def work(n):
    if n == 1:
        threading.Timer(0.05, press).start()
        try:
            await anyio.sleep(60)
        finally:
            print("ended", n, flush=True)
    return n
def call():
    try:
        bakeoff.fan_out_sync(work, range(3), run="r", max_concurrency=1)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
async def inside():
    call()
if sys.argv[1] == "loop":
    anyio.run(inside)
else:
    call()
"""


@pytest.mark.parametrize("where", ["plain", "loop"])
def test_ctrl_c_cancels_the_work_and_is_raised(tmp_path: Path, where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, where],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(bakeoff.__file__).parents[1])},
    )
    assert done.stdout.split("\n")[:2] == ["ended 1", "interrupted"], done.stderr
    folder = RunStore(tmp_path).open("r")
    assert folder.status_and_error(folder.history())[0] == "paused"
    assert [record.output["value"] for record in folder.history().records.values()] == [0]


def test_public_names_are_there_and_nothing_else() -> None:
    for name in bakeoff.__all__:
        assert getattr(bakeoff, name) is not None
    assert set(bakeoff.__all__) <= set(dir(bakeoff))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bakeoff.nonsense  # type: ignore[attr-defined]


def test_importing_bakeoff_imports_nothing_heavy() -> None:
    heavy = {"anyio", "click", "pydantic", "yaml", "rich", "sqlite3", "typing", "asyncio"}
    home = str(Path(bakeoff.__file__).parents[1])
    script = f"import sys; sys.path.insert(0, {home!r}); import bakeoff; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True)
    assert heavy.isdisjoint(done.stdout.split()), done.stderr
    assert "bakeoff" in done.stdout.split()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_ctrl_c_before_the_work_begins_is_not_lost(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Thread.start

    def pressed_first(thread: threading.Thread) -> None:
        if thread.name == "bakeoff-sync":
            signal.raise_signal(signal.SIGINT)
        begin(thread)

    async def inside() -> None:
        with pytest.raises(KeyboardInterrupt):
            run_sync(anyio.sleep_forever)

    monkeypatch.setattr(threading.Thread, "start", pressed_first)
    anyio.run(inside, backend=backend)
