"""Isolated calls: whatever functions and their children do, results are true, and nothing outlives its worker."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from isolated_calls import (
    Bad,
    Mute,
    fail,
    ids,
    large,
    leave,
    leave_and_compute,
    leave_and_die,
    leave_and_end,
    leave_and_lose_the_keeper,
    leave_and_wait,
    misuse,
    open_in_a_child,
    with_forging_child,
    with_fork,
    with_noisy_child,
    with_raw_output,
    with_reading_child,
    write_later,
)

import bakeoff
from bakeoff.api import isolated as isolated_module
from bakeoff.api.isolated import Workers
from bakeoff.errors import BakeoffError
from bakeoff.process.proctable import children_in, process_table
from bakeoff.process.sweep import sweep, token_of
from process.family import SOURCE, Fifo

BY_WORKERS = pytest.mark.parametrize(
    "anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.soak(only=True))]
)
"""For what happens in workers and their keepers, which know no event loop: trio is left to `make soak`."""
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a subreaper and /proc"),
]


def children() -> set[int]:
    return set(children_in(process_table()).get(os.getpid(), ()))


def descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))


# What a function and its children write and read.


@pytest.mark.parametrize(
    "function", [with_noisy_child, with_raw_output, with_forging_child, with_reading_child, with_fork]
)
async def test_what_is_written_and_read_beside_the_socket_is_no_answer(
    function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert await bakeoff.fan_out(function, range(6), max_concurrency=2, isolate=True) == list(range(6))
    assert not (tmp_path / "forged").exists()


async def test_no_child_inherits_the_socket() -> None:
    assert await bakeoff.fan_out(open_in_a_child, [1], isolate=True) == ["['0', '1', '2']\n"]


@BY_WORKERS
@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("early", "something that is no answer, and was killed"),
        ("number", "something that is no answer, and was killed"),
        ("closed", "ended before it had a result, with exit status 0"),
        ("held", "closed its socket to the coordinator"),
    ],
)
async def test_a_worker_that_answers_nonsense_is_killed_and_its_item_fails(how: str, text: str) -> None:
    ends = await bakeoff.fan_out(misuse, ["a", how, "b"], max_concurrency=1, isolate=True, min_success=0)
    assert [ends[0], ends[2]] == ["a", "b"]
    assert text in str(ends[1])
    assert ends[1].kind == "error"


async def test_an_idle_worker_that_speaks_is_replaced() -> None:
    workers = Workers()
    try:
        first = await workers.call(os.getpid)
        writer = await workers.call(write_later, 0)
        while Path(f"/proc/{writer}").exists() and Path(f"/proc/{writer}/stat").read_text().split()[2] != "Z":  # noqa: ASYNC110
            await anyio.sleep(0.005)
        assert await workers.call(os.getpid) != first
    finally:
        await workers.close()


async def test_an_idle_worker_that_died_is_replaced() -> None:
    workers = Workers()
    try:
        first = await workers.call(os.getpid)
        os.kill(first, signal.SIGKILL)
        (idle,) = workers._idle
        await anyio.wait_readable(idle._link)
        assert await workers.call(os.getpid) != first
    finally:
        await workers.close()
    with pytest.raises(BakeoffError, match="are ended"):
        await workers.call(os.getpid)


# What is raised.


@pytest.mark.parametrize(
    ("how", "kind", "text"),
    [
        ("cause", LookupError, "LookupError: outer"),
        ("exception", RuntimeError, r"Told: 3 times \(this exception cannot be pickled: TypeError: "),
        ("local", RuntimeError, r"Local: here \(this exception cannot be pickled: "),
        ("mute", Mute, "Mute: (it has no text: its __str__ raised RuntimeError)"),
        ("memory", MemoryError, "MemoryError: all of it"),
        ("result", TypeError, "the result cannot be pickled: "),
        ("unreadable", TypeError, "the worker's result cannot be unpickled here: ValueError"),
        ("killed", RuntimeError, "ended before it had a result: killed by SIGKILL (out of memory, or by somebody)"),
        ("crashed", RuntimeError, "ended before it had a result: killed by SIGSEGV"),
        ("exited", RuntimeError, "ended before it had a result, with exit status 3"),
    ],
)
async def test_failures_say_what_they_are(how: str, kind: type[Exception], text: str) -> None:
    with pytest.raises(bakeoff.FanOutError) as raised:
        await bakeoff.fan_out(fail, ["good", how], max_concurrency=1, isolate=True)
    text = text.replace("\\", "")
    assert text in str(raised.value)
    assert type(raised.value.__cause__) is kind
    assert raised.value.results[0] == "good"
    if how == "cause":
        assert isinstance(raised.value.__cause__.__cause__, KeyError)
        trace = raised.value.results[1].record.facts["traceback"]
        assert "in the worker process:" in trace
        assert 'raise LookupError("outer")' in trace


@pytest.mark.parametrize("item", [lambda: 0, Bad()])
async def test_an_item_that_cannot_be_sent_is_a_failed_item(item: Any) -> None:
    with pytest.raises(bakeoff.FanOutError, match=r"cannot (be pickled|unpickle what it is to call)"):
        await bakeoff.fan_out(fail, [item], isolate=True)


async def test_a_worker_that_cannot_be_started_is_a_failed_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = descriptors()
    with pytest.raises(bakeoff.FanOutError, match="no worker process could be started: No such file"):
        await bakeoff.fan_out(fail, ["good"], isolate=True)
    assert descriptors() == before


# Reuse, and what is left.


async def test_workers_are_reused_and_leave_no_process_and_no_descriptor() -> None:
    await bakeoff.fan_out(ids, [0], isolate=True)
    before = descriptors(), children()

    async def main(run: bakeoff.DurableRun) -> set[int]:
        found = await run.fan_out(ids, range(20), max_concurrency=2, isolate=True)
        found += await run.fan_out(ids, range(20), max_concurrency=2, isolate=True)
        return {pid for pair in found for pid in pair}

    pids = await bakeoff.durable(main)
    assert 2 <= len(pids) <= 4
    assert not pids & set(process_table())
    assert (descriptors(), children()) == before


async def test_large_items_and_results() -> None:
    assert await bakeoff.fan_out(len, [bytes(5_000_000)], isolate=True) == [5_000_000]
    assert await bakeoff.fan_out(large, [5_000_000], isolate=True) == [bytes(5_000_000)]


async def test_what_a_call_leaves_ends_with_the_fan_out(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    await bakeoff.fan_out(leave, [fifo.path] * 4, max_concurrency=2, isolate=True)
    fifo.wait_for(8)
    fifo.wait_until_gone(0.0)


@pytest.mark.parametrize("function", [leave_and_wait, leave_and_compute])
async def test_what_a_cancelled_call_leaves_is_gone_when_it_ends(tmp_path: Path, function: Any) -> None:
    fifo = Fifo(tmp_path)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: bakeoff.fan_out(function, [fifo.path], isolate=True))
        await anyio.to_thread.run_sync(fifo.wait_for, 2)
        group.cancel_scope.cancel()
    fifo.wait_until_gone(0.0)


@pytest.mark.parametrize("function", [leave_and_end, leave_and_die])
async def test_what_a_worker_leaves_that_dies_is_gone_with_its_item(tmp_path: Path, function: Any) -> None:
    fifo = Fifo(tmp_path)

    async def main(run: bakeoff.DurableRun) -> None:
        (end,) = await run.fan_out(function, [fifo.path], isolate=True, min_success=0)
        assert "ended before it had a result" in str(end)
        fifo.wait_for(2)
        fifo.wait_until_gone(0.0)

    await bakeoff.durable(main)


async def test_what_a_call_leaves_is_there_for_later_items(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)

    async def main(run: bakeoff.DurableRun) -> None:
        await run.call(leave, fifo.path, isolate=True)
        await run.call(ids, 0, isolate=True)
        fifo.wait_for(2)
        with pytest.raises(AssertionError, match="still alive"):
            fifo.wait_until_gone(0.05)

    await bakeoff.durable(main)
    fifo.wait_until_gone(0.0)


@BY_WORKERS
async def test_a_worker_whose_keeper_is_killed_ends_with_what_its_marks_name(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    with pytest.raises(bakeoff.FanOutError, match="killed by SIGKILL"):
        await bakeoff.fan_out(leave_and_lose_the_keeper, [fifo.path], isolate=True)
    fifo.wait_for(2)
    fifo.wait_until_gone(0.0)


@BY_WORKERS
async def test_a_keeper_that_does_not_work_is_killed_with_all_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_module, "PATIENCE", 0.1)
    fifo = Fifo(tmp_path)
    workers = Workers()
    os.kill(await workers.call(leave, fifo.path), signal.SIGSTOP)
    fifo.wait_for(2)
    await workers.close()
    fifo.wait_until_gone(0.0)


async def test_of_two_who_end_a_worker_both_wait(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    workers = Workers()
    async with anyio.create_task_group() as group:
        group.start_soon(workers.call, leave_and_wait, fifo.path)
        await anyio.to_thread.run_sync(fifo.wait_for, 2)
        group.cancel_scope.cancel()
        await workers.close()
        fifo.wait_until_gone(0.0)


SCRIPT = """
import os, sys, dataclasses, bakeoff
sys.path.insert(0, {tests!r})
from isolated_calls import leave_and_compute, leave_and_wait

@dataclasses.dataclass
class Point:
    x: int

class Odd(Exception):
    pass

def point(x):
    print("point", x)
    print("no newline", end="")
    if x == 2:
        raise Odd(x)
    return Point(x)

if __name__ == "__main__":
    {body}
"""


def script(tmp_path: Path, body: str, *argv: str) -> subprocess.Popen[str]:
    (tmp_path / "script.py").write_text(SCRIPT.format(tests=str(Path(__file__).parent), body=body))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, str(Path(__file__).parents[1])])}
    return subprocess.Popen([sys.executable, "script.py", *argv], cwd=tmp_path, env=environ,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip


def test_what_the_main_module_defines_comes_back_and_prints_are_seen(tmp_path: Path) -> None:
    body = """ends = bakeoff.fan_out_sync(point, [1, 2], isolate=True, max_concurrency=1, min_success=1)
    print(ends[0] == Point(1), ends[1], flush=True)"""
    out, errors = script(tmp_path, body).communicate(timeout=60)
    assert errors == ""
    assert out == "point 1\nno newlinepoint 2\nno newlineTrue item 1: Odd: 2\n"


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_coordinator_without_a_standard_stream(tmp_path: Path, stream: int) -> None:
    body = f"""os.close({stream})
    ends = bakeoff.fan_out_sync(point, [1], isolate=True)
    os._exit(7 if ends == [Point(1)] else 1)"""
    process = script(tmp_path, body)
    process.communicate(timeout=60)
    assert process.returncode == 7


@pytest.mark.parametrize("function", ["leave_and_wait", "leave_and_compute"])
def test_nothing_outlives_a_killed_coordinator(tmp_path: Path, function: str) -> None:
    fifo = Fifo(tmp_path)
    body = f"bakeoff.fan_out_sync({function}, [{fifo.path!r}] * 2, isolate=True)"
    with script(tmp_path, body) as coordinator:
        fifo.wait_for(4)
        coordinator.kill()
        coordinator.communicate()
    fifo.wait_until_gone(2.0)


def test_a_main_module_that_fails_is_named(tmp_path: Path) -> None:
    process = script(tmp_path, "bakeoff.fan_out_sync(point, [1], isolate=True)\nelse:\n    raise LookupError('mine')")
    _, errors = process.communicate(timeout=60)
    assert "BakeoffError: no worker process could be made: it imports the main module, and that failed: " in errors
    assert "LookupError: mine" in errors


def test_what_is_left_when_keeper_and_coordinator_die_at_once_is_found_by_the_run(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    body = f"bakeoff.fan_out_sync(leave_and_wait, [{fifo.path!r}], isolate=True, run='r')"
    with script(tmp_path, body) as coordinator:
        fifo.wait_for(2)
        (keeper,) = children_in(process_table())[coordinator.pid]
        (worker,) = (pid for pid in children_in(process_table())[keeper] if token_of(pid) and _is_python(pid))
        os.kill(coordinator.pid, signal.SIGSTOP)  # at the same moment: neither can act on the other's death
        os.kill(keeper, signal.SIGSTOP)
        coordinator.kill()
        os.kill(keeper, signal.SIGKILL)
        coordinator.wait(60)  # its pipes stay open in what is left
    end = time.monotonic() + 60
    while _command(worker):  # a zombie has none
        assert time.monotonic() < end, "the worker lives on"
        time.sleep(0.005)
    token = str(tmp_path / ".bakeoff/runs/r")
    try:
        assert sweep(lambda candidate: candidate == token, Path.cwd())  # the shell that started it may be among them
    finally:
        left = [pid for pid in process_table() if _holds(pid, fifo.path)]
        names = [_command(pid) for pid in left]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert [b"sleep", b"601"] not in names
    assert [b"sleep", b"600"] in names, "what has no mark is not found"
    fifo.wait_until_gone(2.0)


def _command(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


def _is_python(pid: int) -> bool:
    return b"-c" in _command(pid) and b"bakeoff" in b"".join(_command(pid))


def _holds(pid: int, path: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/9") == path
    except OSError:
        return False


def test_without_pidfd_the_keeper_looks_for_its_parent(tmp_path: Path) -> None:
    fifo = Fifo(tmp_path)
    body = f"""del os.pidfd_open
    bakeoff.fan_out_sync(leave_and_wait, [{fifo.path!r}], isolate=True)"""
    with script(tmp_path, body) as coordinator:
        fifo.wait_for(2)
        coordinator.kill()
        coordinator.communicate()
    fifo.wait_until_gone(2.0)


class Spoken:
    """A worker spoken to without `Workers`, which kill it: so its exit, and what runs in it, is seen."""

    def __init__(self) -> None:
        (self.link, self.leash), self.process = isolated_module.start_attached(
            isolated_module.START, links=2, env=dict(os.environ), stdin=subprocess.DEVNULL
        )
        self.link.setblocking(True)
        self.leash.setblocking(True)

    def call(self, function: Any, *args: Any) -> Any:
        return self.ask(pickle.dumps((function, args)))

    def ask(self, body: bytes) -> Any:
        """The result, or the chain of exceptions."""
        header = isolated_module.HEADER
        self.link.sendall(header.pack(7, isolated_module.CALL, len(body)) + body)
        number, kind, length = header.unpack(self.link.recv(header.size, socket.MSG_WAITALL))
        assert number == 7
        answer = pickle.loads(self.link.recv(length, socket.MSG_WAITALL))
        return answer if kind == isolated_module.RESULT else answer[0]

    def end(self) -> None:
        with self.process, self.link, self.leash:
            self.link.shutdown(socket.SHUT_WR)
            assert self.leash.recv(64) == isolated_module.STATUS.pack(0)
        assert self.process.returncode == 0


def test_a_worker_that_nobody_calls_any_more_ends_in_order(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('imported')")
    worker = Spoken()
    assert worker.call(isolated_module.prepare, sys.path, ["x"], str(tmp_path / "main.py")) is None
    assert worker.call(fail, "good") == "good"
    assert worker.call(with_fork, 3) == 3
    assert [type(failure) for failure in worker.call(fail, "cause")] == [LookupError, KeyError]
    assert "cannot be pickled" in str(worker.call(fail, "exception")[0])
    assert "the result cannot be pickled" in str(worker.call(fail, "result")[0])
    assert "cannot unpickle" in str(worker.ask(b"junk")[0])
    worker.end()


def test_a_main_module_that_starts_a_fan_out_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import bakeoff.api.arguments as a; a.check_isolated(len)")
    worker = Spoken()
    (refusal,) = worker.call(isolated_module.prepare, sys.path, ["x"], str(tmp_path / "main.py"))
    assert type(refusal) is BakeoffError
    worker.end()


def test_both_ends_are_sockets_that_no_child_of_the_coordinator_inherits() -> None:
    (link, leash), process = isolated_module.start_attached(
        isolated_module.START, links=2, env=dict(os.environ), stdin=subprocess.DEVNULL
    )
    with process, link, leash:
        assert not link.get_inheritable()
        assert not leash.get_inheritable()
        leash.shutdown(socket.SHUT_WR)
        process.wait(60)
