"""The confined reader: whatever goes wrong in it is an error of the one who asked."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace

import anyio
import anyio.from_thread
import pytest

from bakeoff.confine import landlock
from bakeoff.process.command import SpawnError
from bakeoff.process.sweep import end_adopted
from bakeoff.reader import reading, worker
from bakeoff.reader.reading import UnreadError, read, read_here
from reader import wild

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_is_read() -> None:
    assert await read(wild.size, b"x" * (3 << 20), "more", 2) == [3 << 20, "more", 2]
    assert await read(wild.echo, "\n{é\udc80".encode("utf-8", "replace")) == "\n{é?"
    assert read_here(wild.size, b"") == [0]


async def test_a_file_is_read_from_its_start_bit_by_bit(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"\n" * (3 << 20))
    with place.open("rb") as file:
        file.seek(7)
        assert await read(wild.size, file, 1) == [3 << 20, 1]
        assert read_here(wild.size, file, 2) == [3 << 20, 2]


async def test_a_file_that_shrinks_meanwhile_ends_its_reader(tmp_path: Path) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(b"x" * 9)
    small.write_bytes(b"x")
    with large.open("rb") as first, small.open("rb") as then:
        descriptors = chain([first.fileno()], repeat(then.fileno()))
        with pytest.raises(UnreadError) as failure:
            await read(wild.size, SimpleNamespace(fileno=lambda: next(descriptors)))
    assert failure.value.kind == "died"


@pytest.mark.parametrize(
    ("function", "data", "kind", "why"),
    [
        (wild.forever, b"", "timeout", "0.01 s"),
        (wild.sleep, b"", "timeout", "0.01 s"),
        (wild.raised, b"", "ValueError", "é" * 2000),
        (wild.silent, b"", "KeyError", "KeyError"),
        (wild.deep, b"[" * 200_000, "RecursionError", "too deeply"),
        (wild.deep, b"1" * 5000, "ValueError", "4300 digits"),
        (wild.hungry, b"", "MemoryError", "1024 MiB"),
        (wild.crash, b"", "died", "ended its reader"),
        (wild.much, b"", "OverflowError", "32 MiB"),
    ],
)
async def test_what_goes_wrong_is_an_error_of_the_one_who_asked(function, data, kind, why) -> None:
    for _ in range(2):
        with pytest.raises(UnreadError, match=why) as failure:
            await read(function, data, seconds=0.01 if kind == "timeout" else 60)
        assert failure.value.kind == kind
    with pytest.raises(UnreadError, match=why):
        read_here(function, data, seconds=0.01 if kind == "timeout" else 60)
    assert read_here(wild.size, b"x") == [1], "the next who asks gets an answer"


async def test_a_cancelled_reading_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reading._take()
    asked = anyio.Event()
    ask = reader.ask

    def asking(*args: object) -> bytes:
        anyio.from_thread.run_sync(asked.set)
        return ask(*args)

    monkeypatch.setattr(reader, "ask", asking)
    reading._idle.append(reader)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, wild.sleep, b"")
        await asked.wait()
        tasks.cancel_scope.cancel()
    assert reader.process.returncode == -signal.SIGKILL


async def test_readers_are_used_again_unless_dead_or_anothers() -> None:
    first = await read(wild.number, b"")
    assert read_here(wild.number, b"") == first
    reader = reading._idle[-1]
    reader.process.kill()
    reader.process.wait()
    assert await read(wild.number, b"") != first
    assert reader not in reading._idle
    fresh = reading._idle[-1]
    fresh.owner = -1  # as after a fork
    assert await read(wild.number, b"") != fresh.process.pid
    assert fresh not in reading._idle
    fresh.close()
    dead = reading._take()
    dead.process.kill()
    dead.process.wait()
    assert dead.ask({}, b"x" * (1 << 20)) == b""
    dead.close()


async def test_what_a_dead_supervisor_left_is_ended_without_the_readers() -> None:
    number = await read(wild.number, b"")
    assert (os.getsid(number), os.getpgid(number)) == (os.getsid(0), number)
    await end_adopted(())
    assert await read(wild.number, b"") == number


async def test_where_no_process_can_be_had_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    reading.end_idle()
    for number, transient in ((errno.EAGAIN, True), (errno.ENOENT, False)):

        def refuse(*_: object, number: int = number, **more: object) -> None:
            raise OSError(number, "no")

        with monkeypatch.context() as patched:
            patched.setattr(reading.subprocess, "Popen", refuse)
            with pytest.raises(SpawnError, match="no reader process: no") as failure:
                await read(wild.size, b"")
        assert failure.value.transient is transient
    assert await read(wild.size, b"") == [0]


def test_an_answer_that_is_cut_off_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(reading._Reader, "ask", lambda *_: b'{"answer": [')
        with pytest.raises(UnreadError) as failure:
            read_here(wild.size, b"")
    assert failure.value.kind == "died"


async def test_few_read_at_once_and_few_are_kept() -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(4 * reading.READERS):
            tasks.start_soon(read, wild.size, b"x" * 100_000)
    assert len(reading._idle) <= reading.READERS


def test_a_reader_that_hangs_is_killed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ENDING", 0.01)
    reader = reading._take()
    os.kill(reader.process.pid, signal.SIGSTOP)
    assert reader.close() == -signal.SIGKILL


def test_interrupted_the_reader_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> bytes:
        raise KeyboardInterrupt

    reader = reading._take()
    reading._idle.append(reader)
    monkeypatch.setattr(reading._Reader, "ask", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read_here(wild.size, b"")
    assert reader.process.returncode is not None


def test_a_reader_writes_no_file(tmp_path: Path) -> None:
    place = tmp_path / "wrote"
    with pytest.raises(UnreadError, match=r"Permission denied|too large"):
        read_here(wild.write, str(place).encode())
    assert not place.exists() or place.read_bytes() == b""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs landlock and seccomp")
@pytest.mark.parametrize(("function", "why"), [(wild.look, "PermissionError"), (wild.connect, "OSError")])
def test_a_reader_has_no_files_and_no_network(function, why, tmp_path: Path) -> None:
    if function is wild.look and landlock.version() == 0:
        pytest.skip("this kernel has no landlock")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with pytest.raises(UnreadError) as failure:
        read_here(function, str(secret).encode())
    assert failure.value.kind == why


def test_readers_end_with_the_process() -> None:
    read_here(wild.size, b"")
    kept = list(reading._idle)
    assert kept
    reading.end_idle()
    assert all(reader.process.returncode is not None for reader in kept)


def test_the_program_answers_each_job_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [("size", b"ab\ncd"), ("silent", b""), ("echo", b"{}")]
    asked = [json.dumps([p for p in worker.sys.path if p])]
    given = "\n".join(asked).encode() + b"\n"
    for name, data in jobs:
        job = {"call": f"reader.wild:{name}", "args": [], "seconds": 60, "memory": 1 << 40, "size": len(data)}
        given += json.dumps(job).encode() + b"\n" + data
    written = io.BytesIO()
    monkeypatch.setattr(worker.sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    monkeypatch.setattr(worker.sys, "stdout", io.TextIOWrapper(written))
    handler = signal.getsignal(signal.SIGINT)
    confined: list[list[str]] = []
    monkeypatch.setattr(worker, "confine", confined.append)
    worker.main()
    signal.signal(signal.SIGINT, handler)
    assert len(confined) == 1
    answers = [json.loads(line) for line in written.getvalue().splitlines()]
    assert answers == [{"answer": [5]}, {"raised": "KeyError", "said": ""}, {"answer": "{}"}]
