"""Sessions of a run and its control channel, with jobs written in Python."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from bakeoff.engine import control, session
from bakeoff.engine.clock import SystemClock
from bakeoff.engine.control import control_server, send
from bakeoff.engine.events import Events, RunChanged, Warned
from bakeoff.engine.journal import create
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.record import Outcome, RunStatus, Status
from bakeoff.engine.run import Run
from bakeoff.engine.session import SAME_SIGNAL, Ending, SessionConfig, run_session
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError, BudgetSpentError, JournalError, RunBusyError
from bakeoff.report.outline import outline

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunStore(tmp_path).create("r")


class Kills:
    """Stands for the processes; counts how often it is told to kill."""

    count = 0

    def kill_now(self) -> None:
        self.count += 1


def config(**more: Any) -> SessionConfig:
    return SessionConfig(Lanes({"leaves": 4}), **{"catch_signals": False, **more})


META = {"run_id": "r", "job": "test", "created_at": 1.0}


async def done(run: Run) -> Ending:
    async def work(_: int) -> Outcome:
        return Outcome(output={"x": 1})

    await run.leaf("a", "t", work)
    return Ending(RunStatus.COMPLETED, facts={"more": 2})


async def test_a_session_from_its_lock_to_its_ending(folder: RunFolder) -> None:
    heard: list[Any] = []
    events = Events()
    events.subscribe(heard.append)

    async def job(run: Run) -> Ending:
        assert folder.alive()
        assert folder.history().status is RunStatus.RUNNING
        assert (folder.root / "control").exists()
        return await done(run)

    ending = await run_session(folder, job, config(events=events), meta=META)
    assert ending.status is RunStatus.COMPLETED
    assert not folder.alive()
    assert not (folder.root / "control").exists()
    history = folder.history()
    assert (history.status, history.ending["more"]) == (RunStatus.COMPLETED, 2)
    assert [event.status for event in heard if isinstance(event, RunChanged)] == ["running", "completed"]


class SetClock(SystemClock):
    """A clock whose wall time is set; each look at one of its times takes a second."""

    def __init__(self, wall: float, monotonic: float = 0.0) -> None:
        self.times = {"wall": wall, "monotonic": monotonic}

    def wall(self) -> float:
        return self._passed("wall")

    def monotonic(self) -> float:
        return self._passed("monotonic")

    def _passed(self, which: str) -> float:
        for name in self.times:
            self.times[name] += 1.0
        return self.times[which]


async def test_a_run_goes_on_in_time_also_where_the_clock_is_set_back(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        async def work(_: int) -> Outcome:
            return Outcome()

        for path in ("c", "b", "a"):
            if run.find(path) is None:
                await run.leaf(path, "t", work)
                if path == "b":
                    clock.times["wall"] -= 900  # in the midst of a session, too
                if path == "c":
                    return Ending(RunStatus.PAUSED)
        return Ending(RunStatus.COMPLETED)

    clock = SetClock(10_000.0)
    await run_session(folder, job, config(clock=clock), meta={**META, "created_at": 10_000.0})
    clock = SetClock(500.0, 70_000.0)
    await run_session(folder, job, config(clock=clock))
    history = folder.history()
    records = [history.records[path] for path in ("c", "b", "a")]
    assert [node.path for node in outline(history, history.status)] == ["c", "b", "a"]
    for before, after in pairwise(records):
        assert after.started_at >= before.ended_at > before.started_at
    assert 10_000 < history.updated_at < 10_100
    assert 0 < history.active_seconds < 100


async def test_a_second_session_is_refused(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        with pytest.raises(RunBusyError, match=str(os.getpid())):
            await run_session(folder, done, config())
        return await done(run)

    assert (await run_session(folder, job, config(), meta=META)).status is RunStatus.COMPLETED


async def test_a_spent_budget_is_an_ending(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        raise BudgetSpentError("the budget is spent: all of it")

    ending = await run_session(folder, job, config(ceilings={"usd": 1.0}), meta=META)
    assert (ending.status, ending.error) == (RunStatus.BUDGET_SPENT, "the budget is spent: all of it")
    assert folder.history().status is RunStatus.BUDGET_SPENT


async def test_the_budget_of_time_counts_every_session(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        await anyio.sleep(60)
        raise AssertionError

    with anyio.fail_after(60):
        for meta in (META, None):
            ending = await run_session(folder, job, config(seconds=0.1), meta=meta)
            assert ending.status is RunStatus.BUDGET_SPENT


async def test_a_bug_in_the_job_is_raised_and_the_run_can_go_on(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        await done(run)
        raise KeyError("bug")

    with pytest.raises((KeyError, BaseExceptionGroup)):
        await run_session(folder, job, config(), meta=META)
    assert folder.status_and_error(folder.history())[0] is not RunStatus.COMPLETED
    assert (await run_session(folder, done, config())).status is RunStatus.COMPLETED


async def test_prepare_writes_before_the_job(folder: RunFolder) -> None:
    async def prepare(run: Run) -> None:
        await run.note("inputs", {"x": 5}).committed()

    async def job(run: Run) -> Ending:
        assert folder.history().inputs == {"x": 5}
        return await done(run)

    await run_session(folder, job, config(), meta=META, prepare=prepare)


async def test_cancelled_from_elsewhere(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        assert await anyio.to_thread.run_sync(send, folder.root, {"do": "cancel"}) == {"ok": True}
        await anyio.sleep(60)
        raise AssertionError

    with anyio.fail_after(60):
        ending = await run_session(folder, job, config(), meta=META)
    assert ending.status is RunStatus.CANCELLED
    assert "bakeoff cancel" in str(ending.error)


async def test_a_job_that_ends_well_in_spite_of_a_cancellation_has_ended_well(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        await anyio.to_thread.run_sync(send, folder.root, {"do": "cancel"})
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.05)
        return Ending(RunStatus.COMPLETED)

    assert (await run_session(folder, job, config(), meta=META)).status is RunStatus.COMPLETED


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_pauses(folder: RunFolder, number: signal.Signals) -> None:
    async def job(run: Run) -> Ending:
        os.kill(os.getpid(), number)
        await anyio.sleep(60)
        raise AssertionError

    with anyio.fail_after(60):
        ending = await run_session(folder, job, config(catch_signals=True), meta=META)
    assert (ending.status, ending.signal) == (RunStatus.PAUSED, number)
    assert number.name in str(ending.error)
    assert folder.history().status is RunStatus.PAUSED


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_signal_kills_at_once(folder: RunFolder, number: signal.Signals) -> None:
    kills = Kills()

    async def job(run: Run) -> Ending:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await anyio.sleep(60)
        finally:
            with anyio.CancelScope(shield=True):  # a process in its grace time
                assert kills.count == 0
                await anyio.sleep(SAME_SIGNAL)
                os.kill(os.getpid(), number)
                while not kills.count:  # noqa: ASYNC110 - the signal's handler makes it so
                    await anyio.sleep(0.005)
        raise AssertionError

    with anyio.fail_after(60):
        ending = await run_session(folder, job, config(catch_signals=True, processes=kills), meta=META)
    assert ending.status is RunStatus.PAUSED
    assert kills.count == 1


async def test_a_signal_that_comes_twice_at_once_keeps_the_grace_time(folder: RunFolder, monkeypatch) -> None:
    """As `timeout` sends it: to its command, then to that one's group."""
    kills = Kills()
    monkeypatch.setattr(session, "SAME_SIGNAL", 60.0)

    async def job(run: Run) -> Ending:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.02)
        await anyio.sleep(60)
        raise AssertionError

    with anyio.fail_after(20):
        ending = await run_session(folder, job, config(catch_signals=True, processes=kills), meta=META)
    assert (ending.status, kills.count) == (RunStatus.PAUSED, 0)


async def test_answers_through_the_channel(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        run.gates["g"] = ("Yes", "no")

        def ask(message: dict[str, Any]) -> Any:
            return send(folder.root, message)

        for message, words in (
            ({"do": "answer", "path": "h", "choice": "no"}, "open gates: g"),
            ({"do": "answer", "path": "g", "choice": "maybe"}, "the choices are Yes, no"),
            ({"do": "dance"}, "does not understand 'dance'"),
            ({"do": "answer"}, "not understood"),
            ({}, "not understood"),
        ):
            with pytest.raises(BakeoffError, match=words):
                await anyio.to_thread.run_sync(ask, message)
        assert await anyio.to_thread.run_sync(ask, {"do": "answer", "path": "g", "choice": " yes "}) == {"ok": True}
        await run.answer_event("g").wait()
        assert folder.history().answers == {"g": run.answers["g"]}
        await run.forget_answer("g")
        await run.forget_answer("g")
        assert not run.answer_event("g").is_set()
        return await done(run)

    with anyio.fail_after(60):
        await run_session(folder, job, config(), meta=META)
    assert folder.history().answers == {}


async def test_a_damaged_journal_is_mended_and_said(folder: RunFolder) -> None:
    await run_session(folder, done, config(), meta=META)
    data = bytearray(folder.journal.read_bytes())
    at = data.find(b'"x":1')
    data[at + 4] = ord("2")
    folder.journal.write_bytes(data)
    heard: list[Any] = []
    events = Events()
    events.subscribe(heard.append)
    assert (await run_session(folder, done, config(events=events))).status is RunStatus.COMPLETED
    assert any("cannot be read" in event.text for event in heard if isinstance(event, Warned))
    assert folder.history().records["a"].output == {"x": 1}


async def test_a_destroyed_page_is_rebuilt_and_said(folder: RunFolder) -> None:
    async def much(run: Run) -> Ending:
        for number in range(40):
            await run.note("inputs", {"n": number, "text": "x" * 200}).committed()
        return await done(run)

    await run_session(folder, much, config(), meta=META)
    data = bytearray(folder.journal.read_bytes())
    data[5 * 1024 : 6 * 1024] = b"\xff" * 1024
    folder.journal.write_bytes(data)
    heard: list[Any] = []
    events = Events()
    events.subscribe(heard.append)
    await run_session(folder, done, config(events=events))
    assert any("was rebuilt" in event.text for event in heard if isinstance(event, Warned))
    assert (folder.root / "journal.db.damaged").exists()


async def test_a_journal_that_fails_ends_the_session_with_its_message(folder: RunFolder) -> None:
    async def job(run: Run) -> Ending:
        run.journal._db.close()  # type: ignore[attr-defined]
        return await done(run)

    with pytest.raises((JournalError, BaseExceptionGroup)) as caught:
        await run_session(folder, job, config(), meta=META)
    assert isinstance(caught.value, JournalError) or caught.group_contains(JournalError)
    assert not folder.alive()


async def test_nobody_listens(folder: RunFolder) -> None:
    assert await anyio.to_thread.run_sync(send, folder.root, {"do": "cancel"}) is None
    assert send(folder.root / "nowhere", {"do": "cancel"}) is None


async def test_a_folder_with_a_very_long_name(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 90) / ("y" * 90)
    deep.mkdir(parents=True)
    before = Path.cwd()

    async def echo(message: Any) -> Any:
        return {"heard": message}

    async with control_server(deep, echo):
        assert await anyio.to_thread.run_sync(send, deep, {"do": "x"}) == {"heard": {"do": "x"}}
    assert Path.cwd() == before


async def test_a_caller_that_leaves_or_talks_nonsense_harms_nobody(tmp_path: Path) -> None:
    async def echo(message: Any) -> Any:
        return {"heard": message}

    def talk(data: bytes, listen: bool = True) -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(tmp_path / "control"))
            client.sendall(data)
            return client.makefile("rb").readline() if listen else b""

    async with control_server(tmp_path, echo):
        assert b"not understood" in await anyio.to_thread.run_sync(talk, b"{\n")
        assert b"not understood" in await anyio.to_thread.run_sync(talk, b"[" * 50_000 + b"\n")
        await anyio.to_thread.run_sync(talk, b"half", False)
        await anyio.to_thread.run_sync(talk, b'{"do": 1}\n', False)
        assert json.loads(await anyio.to_thread.run_sync(talk, b'{"do": 2}\n')) == {"heard": {"do": 2}}


def test_a_run_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "control"))
        server.listen(1)
        with pytest.raises(BakeoffError, match="does not answer"):
            send(tmp_path, {"do": "x"}, timeout=0.1)


async def test_more_callers_at_once_than_there_is_room_for_are_all_answered(tmp_path: Path) -> None:
    """As where a run was stopped for a while: the system refuses whom it has no room for."""
    answers: list[Any] = []
    begun: list[int] = []

    async def ask(number: int) -> None:
        begun.append(number)
        answers.append(await anyio.to_thread.run_sync(send, tmp_path, {"do": number}, limiter=many))

    def refused() -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)
            try:
                client.connect(str(tmp_path / "control"))
            except BlockingIOError:
                return True
        return False

    many = anyio.CapacityLimiter(20)
    with socket.socket(socket.AF_UNIX) as server, anyio.fail_after(60):
        server.bind(str(tmp_path / "control"))
        server.listen(1)
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(ask, number)
            while len(begun) < 20 or not refused():  # noqa: ASYNC110 - the others' connections fill it
                await anyio.sleep(0.005)
            server.settimeout(60)
            served = 0
            while served < 20:
                connection, _ = await anyio.to_thread.run_sync(server.accept)
                with connection:
                    if line := await anyio.to_thread.run_sync(connection.makefile("rb").readline):
                        connection.sendall(line)
                        served += 1
    assert sorted(answer["do"] for answer in answers) == list(range(20))


async def test_a_connection_that_ends_without_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(_: Any) -> str:
        raise anyio.EndOfStream

    monkeypatch.setattr(control, "_line", silent)
    async with control_server(tmp_path, lambda message: message):
        assert await anyio.to_thread.run_sync(send, tmp_path, {"do": "x"}) is None


async def test_leaves_that_fail_in_every_way_keep_their_names() -> None:
    run = Run()

    async def bug(_: int) -> Outcome:
        raise KeyError("mine")

    async def mend(_: int) -> Outcome:
        raise BakeoffError("for people")

    async def slow(_: int) -> Outcome:
        await anyio.sleep(60)
        raise AssertionError

    record = await run.leaf("a", "t", bug)
    assert (record.status, record.kind, record.error) == (Status.FAILED, "error", "KeyError: 'mine'")
    assert "Traceback" in (record.facts or {})["traceback"]
    record = await run.leaf("b", "t", slow, timeout=0.01)
    assert (record.kind, record.output, record.error) == ("timeout", {"timed_out": True}, "timed out after 0.01 s")
    with pytest.raises(BakeoffError, match="for people"):
        await run.leaf("c", "t", mend)
    assert run.lanes.in_use["leaves"] == 0
    record = await run.leaf("d", "t", bug, continue_on_error=True)
    assert record.final


@pytest.mark.parametrize("how", ["gone", "emptied", "replaced"])
async def test_a_run_whose_folder_is_taken_from_under_it_stops(folder: RunFolder, how: str) -> None:
    store = RunStore(folder.root.parents[2])
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    async def job(run: Run) -> Ending:
        if how == "emptied":
            for part in folder.root.iterdir():
                part.unlink()
            return Ending(RunStatus.COMPLETED)
        shutil.rmtree(folder.root)
        if how == "replaced":
            lock = store.create("r").lock()
            create(folder.journal)
            other.bind(str(folder.root / "control"))
            other.listen(1)
            lock.release()
        await done(run)
        raise AssertionError

    with pytest.raises(JournalError, match="removed, moved or replaced"):
        await run_session(folder, job, config(), meta=META)
    if how == "replaced":
        assert folder.alive(), "the other's channel was removed"
        assert folder.history().records == {}
    other.close()


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (OSError(28, "No space left on device"), "no space left on device"),
        (PermissionError(13, "Permission denied", "/some/file"), "/some/file: permission denied"),
        (OSError("odd"), "OSError: odd"),
    ],
)
async def test_what_the_system_refuses_is_said_without_its_name_in_python(
    folder: RunFolder, failure: OSError, said: str
) -> None:
    async def job(run: Run) -> Ending:
        raise failure

    with pytest.raises(BaseException):  # noqa: B017, PT011 - alone or in a group, as the watchers have it
        await run_session(folder, job, config(), meta=META)
    assert folder.history().error == said
