from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from bakeoff.judge.timing.bench_lock import AGAIN, PATIENCE, BenchLock

pytestmark = pytest.mark.anyio

OTHER = """
import anyio, sys
from pathlib import Path
from bakeoff.judge.timing.bench_lock import BenchLock

async def main():
    async with getattr(BenchLock(Path(sys.argv[1])), sys.argv[2])():
        print("has it", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def other(folder: Path, what: str) -> subprocess.Popen[str]:
    source = str(Path(__file__).parents[3] / "src")
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, str(folder), what], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip


async def test_everybody_in_order_of_arrival_and_alone(tmp_path: Path) -> None:
    lock, order, inside = BenchLock(tmp_path, look=0.001), [], 0

    async def measure(number: int) -> None:
        nonlocal inside
        async with lock.measuring():
            inside += 1
            assert inside == 1
            order.append(number)
            await anyio.lowlevel.checkpoint()
            inside -= 1

    async with anyio.create_task_group() as tasks:
        async with lock.measuring():
            for number in range(5):
                tasks.start_soon(measure, number)
                while len(list(tmp_path.glob("*.ticket"))) < number + 2:
                    await anyio.lowlevel.checkpoint()
    assert order == [0, 1, 2, 3, 4]
    assert not list(tmp_path.glob("*.ticket"))


async def test_work_goes_on_side_by_side_and_not_beside_measuring(tmp_path: Path) -> None:
    lock, log = BenchLock(tmp_path, look=0.001), []
    ending = anyio.Event()
    both = anyio.Event()

    async def work(name: str) -> None:
        async with lock.working():
            log.append(name)
            if len(log) == 2:
                both.set()
            await ending.wait()
            log.append(f"{name} ends")

    async def measure() -> None:
        async with lock.measuring():
            log.append("measures")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work, "one")
        tasks.start_soon(work, "two")
        await both.wait()
        tasks.start_soon(measure)
        while not list(tmp_path.glob("*.ticket")):
            await anyio.lowlevel.checkpoint()
        tasks.start_soon(work, "three")
        while len(list(tmp_path.glob("*.ticket"))) < 2:
            await anyio.lowlevel.checkpoint()
        assert "measures" not in log
        ending.set()
    assert log.index("measures") > max(log.index("one ends"), log.index("two ends"))
    assert log.index("three") > log.index("measures")


async def test_the_dead_block_nobody(tmp_path: Path) -> None:
    lock = BenchLock(tmp_path, look=0.001)
    for what in ("measuring", "working"):
        process = other(tmp_path, what)
        assert process.stdout is not None
        assert await anyio.to_thread.run_sync(process.stdout.readline) == "has it\n"
        waiting, got = anyio.Event(), anyio.Event()

        async def measure(waiting: anyio.Event = waiting, got: anyio.Event = got) -> None:
            waiting.set()
            async with lock.measuring():
                got.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(measure)
            await waiting.wait()
            while not list(tmp_path.glob("*.ticket")):
                await anyio.lowlevel.checkpoint()
            assert not got.is_set()
            process.kill()
            with anyio.fail_after(60):
                await got.wait()
        process.wait()
        process.stdout.close()


async def test_cancelled_one_leaves_the_queue(tmp_path: Path) -> None:
    lock = BenchLock(tmp_path, look=0.001)
    async with lock.measuring():
        for what in (lock.measuring, lock.working):
            with anyio.move_on_after(0.05) as scope:
                async with what():
                    raise AssertionError
            assert scope.cancelled_caught
        assert len(list(tmp_path.glob("*.ticket"))) == 1
    async with lock.working():
        with anyio.move_on_after(0.05) as scope:
            async with lock.measuring():
                raise AssertionError
    assert not list(tmp_path.glob("*.ticket"))


async def test_it_stands_in_the_users_cache() -> None:
    assert BenchLock().folder.name == "bench"


@pytest.mark.parametrize(("what", "does"), [("measuring", "measures"), ("working", "runs tests")])
async def test_who_is_waited_for_long_is_named_and_now_and_then_again(tmp_path: Path, what: str, does: str) -> None:
    process = other(tmp_path, what)
    assert process.stdout is not None
    assert await anyio.to_thread.run_sync(process.stdout.readline) == "has it\n"
    said: list[str] = []
    heard = anyio.Event()

    def told(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            heard.set()

    moment = iter(range(10_000_000))
    lock = BenchLock(tmp_path, look=0.0, told=told, clock=lambda: float(next(moment)))

    async def measure() -> None:
        async with lock.measuring():
            pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(measure)
        with anyio.fail_after(60):
            await heard.wait()
        process.kill()
    process.wait()
    process.stdout.close()
    start = f"measuring waits for another bakeoff on this machine: process {process.pid} in {os.getcwd()} {does} since "
    assert all(text.startswith(start) for text in said)
    assert next(moment) > PATIENCE + AGAIN


async def test_own_work_is_no_news_and_what_the_dead_left_is_swept(tmp_path: Path) -> None:
    process = other(tmp_path, "working")
    assert process.stdout is not None
    assert await anyio.to_thread.run_sync(process.stdout.readline) == "has it\n"
    process.kill()
    process.wait()
    process.stdout.close()
    said: list[str] = []
    moment = iter(range(0, 100_000_000, 1000))
    lock = BenchLock(tmp_path, look=0.0, told=said.append, clock=lambda: float(next(moment)))
    async with lock.working():
        assert len(list(tmp_path.glob("*.worker"))) == 1
        with anyio.move_on_after(0.05):
            async with lock.measuring():
                raise AssertionError("it must wait for the work")
    assert said == []
    assert not list(tmp_path.glob("*.worker"))
