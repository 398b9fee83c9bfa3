from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from bakeoff.engine.process import Command
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.commands import race_commands
from bakeoff.judge.timing.parent import TimingError
from bakeoff.judge.timing.race import Options, Raced
from bakeoff.judge.timing.speed import Interval, Speed
from ending import wait_until_ended

pytestmark = pytest.mark.anyio

SLOW, FAST = "sum(x * x for x in range(600_000))", "sum(x * x for x in range(100_000))"


def python(text: str) -> Command:
    return Command([sys.executable, "-I", "-S", "-c", text], "/")


async def raced(
    tmp_path: Path, contenders: Mapping[str, Command], original: Command | None = None, **more: Any
) -> Raced:
    given = {name: more.pop(name) for name in ("kept", "told") if name in more}
    options = Options(**{"seconds": 20.0, "fork_seconds": 20.0, **more})
    return await race_commands(
        original or python(SLOW), contenders, options, lock=BenchLock(tmp_path / "lock"), **given
    )


async def test_a_faster_command_is_faster(tmp_path: Path) -> None:
    found = await raced(tmp_path, {"fast": python(FAST)}, memory=True)
    speed = found.speeds["fast"]
    assert (speed.verdict, found.winner) == ("faster", "fast"), speed
    assert speed.speedup is not None
    assert speed.speedup.low > 1.05
    assert speed.cpu is not None
    assert speed.cpu > 1
    assert speed.memory is not None


async def test_commands_race(tmp_path: Path) -> None:
    told: list[str] = []

    async def tell(name: str, speed: Speed) -> None:
        told.append(name)

    contenders = {
        "fast": python(FAST),
        "fails": python("raise SystemExit(3)"),
        "slow": python(SLOW + ";" + SLOW),
        "kept": python(""),
    }
    kept = {"kept": Speed("faster", speedup=Interval(1.1, 1.06, 1.2), remeasured=True)}
    found = await raced(tmp_path, contenders, kept=kept, told=tell)
    assert found.speeds["fails"].verdict == "crash"
    assert "status 3" in found.speeds["fails"].detail
    assert found.speeds["slow"].verdict in ("not-faster", "undecided")
    assert found.winner == "fast"
    assert sorted(told) == ["fails", "fast", "slow"]


async def test_only_the_best_is_measured_again(tmp_path: Path) -> None:
    middle = python(FAST.replace("100_000", "250_000"))
    found = await raced(tmp_path, {"middle": middle, "fast": python(FAST)}, seconds=8.0)
    assert found.winner == "fast"
    assert not found.speeds["middle"].remeasured


async def test_time_that_is_over(tmp_path: Path) -> None:
    found = await raced(tmp_path, {"same": python(SLOW)}, seconds=0.01)
    assert found.speeds["same"].verdict == "undecided"
    found = await raced(tmp_path, {"one": python(SLOW), "two": python(SLOW)}, seconds=0.01)
    assert found.winner is None


async def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {mark}; wait"
    found = await raced(tmp_path, {"hangs": Command(["sh", "-c", script], "/")}, python("pass"), fork_seconds=1.0)
    assert found.speeds["hangs"].verdict == "timeout"
    wait_until_ended(int(mark.read_text()))


async def test_an_original_that_fails_cannot_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(TimingError, match="ends with status 4 where nothing was changed"):
        await raced(tmp_path, {"a": python("")}, python("raise SystemExit(4)"))
    with pytest.raises(TimingError, match="takes too long"):
        await raced(tmp_path, {"a": python("")}, Command(["sleep", "60"], "/"), fork_seconds=0.2)
    with pytest.raises(TimingError, match="cannot start '/no/such/program'"):
        await raced(tmp_path, {"a": python("")}, Command(["/no/such/program"], "/"))
    marks = tmp_path / "marks"
    later = Command(["sh", "-c", f"echo x >> {marks}; test $(wc -l < {marks}) -lt 9"], "/")
    with pytest.raises(TimingError, match="ended with status 1 where nothing was changed"):
        await raced(tmp_path, {"a": python("pass")}, later)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_cancelled_it_leaves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    command = Command(["sh", "-c", f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 600"], "/")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: raced(tmp_path, {"a": command}, command))
        with anyio.fail_after(20):
            while not mark.exists():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    wait_until_ended(int(mark.read_text()))
    assert not os.listdir(tmp_path / "lock") or os.listdir(tmp_path / "lock") == ["work"]
