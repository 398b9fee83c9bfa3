from __future__ import annotations

import itertools
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.command_run import Ran, Runner
from bakeoff.judge.timing.commands import CommandRaceOptions, race_commands, try_command
from bakeoff.judge.timing.parent import Place, TimingError
from bakeoff.judge.timing.race import Options, Raced, RaceRecord
from bakeoff.judge.timing.speed import Interval, Speed
from bakeoff.process.command import Command
from ending import wait_until_ended

pytestmark = pytest.mark.anyio

SLOW, FAST = "sum(x * x for x in range(600_000))", "sum(x * x for x in range(100_000))"


def python(text: str) -> Command:
    return Command([sys.executable, "-I", "-S", "-c", text], "/")


async def raced(
    tmp_path: Path, contenders: Mapping[str, Command], original: Command | None = None, **more: Any
) -> Raced:
    given = {"demands": more.pop("demands")} if "demands" in more else {}
    given["record"] = RaceRecord(**{name: more.pop(name) for name in ("kept", "told") if name in more})
    options = Options(**{"seconds": 60.0, "fork_seconds": 20.0, **more})
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
    found = await raced(tmp_path, {"middle": middle, "fast": python(FAST)})
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
    later = Command(["sh", "-c", f"echo x >> {marks}; test $(wc -l < {marks}) -lt 4"], "/")
    with pytest.raises(TimingError, match="ended with status 1 where nothing was changed"):
        await raced(tmp_path, {"a": python("pass")}, later)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_cancelled_it_leaves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    command = Command(["sh", "-c", f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 600"], "/")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: raced(tmp_path, {"a": command}, command))
        with anyio.fail_after(60):
            while not mark.exists():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    wait_until_ended(int(mark.read_text()))
    assert not os.listdir(tmp_path / "lock") or os.listdir(tmp_path / "lock") == ["work"]


def sh(text: str, *words: str) -> Command:
    return Command(["sh", "-c", text, "sh", *words], "/")


async def test_who_prints_something_else_falls_however_fast(tmp_path: Path) -> None:
    same = CommandRaceOptions(same_output=True)
    contenders = {"wrong": sh("echo 2"), "silent": sh(":"), "fails": sh("exit 1")}
    found = await raced(tmp_path, contenders, sh("sleep 0.05; echo 1"), demands=same)
    assert found.winner is None
    assert {name: speed.verdict for name, speed in found.speeds.items()} == {
        "wrong": "output-differs",
        "silent": "output-differs",
        "fails": "crash",
    }
    assert "'2' instead of '1'" in found.speeds["wrong"].detail


async def test_what_a_first_run_prints_does_not_count(tmp_path: Path) -> None:
    builds = "test -f $1 || echo building; touch $1; sleep $2; echo 1"
    original, quick = sh(builds, str(tmp_path / "a"), "0.1"), sh(builds, str(tmp_path / "b"), "0")
    found = await raced(tmp_path, {"quick": quick}, original, demands=CommandRaceOptions(same_output=True))
    assert found.speeds["quick"].verdict == "faster", found.speeds
    ran = await try_command(
        original, Options(), CommandRaceOptions(same_output=True), lock=BenchLock(tmp_path / "lock")
    )
    assert ran.head == b"1\n"


async def test_an_original_that_prints_another_thing_each_time_is_refused(tmp_path: Path) -> None:
    changes = sh("echo x >> $1; wc -l < $1", str(tmp_path / "count"))
    with pytest.raises(TimingError, match=r"not print the same each time.*--bench-output any"):
        await raced(tmp_path, {"a": changes}, changes, demands=CommandRaceOptions(same_output=True))
    lock = BenchLock(tmp_path / "lock")
    with pytest.raises(TimingError, match="not print the same"):
        await try_command(changes, Options(), CommandRaceOptions(same_output=True), lock=lock)
    assert (await try_command(changes, Options(), lock=lock)).status == 0


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has commands take what is said here, by their last word, and no time: a number of seconds or what gives one."""

    def simulate(**seconds: float | Callable[[], float]) -> None:
        chance = random.Random(1)

        def run(self: Runner, where: Place, tidy: Callable[[], int] | None = None) -> Ran:
            took = seconds[where.argv[-1]]
            wall = (took() if callable(took) else took) * math.exp(chance.gauss(0, 0.01))
            return Ran(wall, wall, 1000, 0, left=0 if tidy is None else tidy())

        monkeypatch.setattr(Runner, "run", run)

    return simulate


def named(name: str) -> Command:
    return Command([name], "/")


async def test_what_starting_takes_does_not_count(tmp_path: Path, simulated: Callable[..., None]) -> None:
    simulated(nothing=0.1, slow=0.3, quick=0.2)
    demands = CommandRaceOptions(empty=named("nothing"))
    found = await raced(tmp_path, {"quick": named("quick")}, named("slow"), demands=demands)
    speed = found.speeds["quick"]
    assert speed.verdict == "faster"
    assert speed.speedup is not None
    assert speed.speedup.estimate == pytest.approx(2.0, rel=0.05)  # 1.5 with the start
    assert speed.receipt["start"] == pytest.approx(0.1, rel=0.05)


async def test_what_is_fast_by_files_of_earlier_runs_is_found(tmp_path: Path, simulated: Callable[..., None]) -> None:
    left: set[str] = set()

    def run_with_file(anew: float, usual: float) -> float:
        took = usual if "file" in left else anew
        left.add("file")
        return took

    def forget() -> list[str]:
        found = sorted(left)
        left.clear()
        return found

    simulated(slow=1.0, cheat=lambda: run_with_file(1.0, 0.1), builds=lambda: run_with_file(0.3, 0.1), honest=0.1)
    for name, verdict in (("cheat", "cross-call-state"), ("builds", "faster"), ("honest", "faster")):
        left.clear()
        found = await raced(
            tmp_path, {name: named(name)}, named("slow"), demands=CommandRaceOptions(forget={name: forget})
        )
        assert found.speeds[name].verdict == verdict, name
        assert ("file" in found.speeds[name].detail) == (verdict != "faster")

    times = itertools.cycle([0.3, 1.0])  # on a machine with noise: neither is seen
    simulated(slow=1.0, unclear=lambda: 0.1 if "file" in left else run_with_file(next(times), 0.1))
    found = await raced(
        tmp_path, {"unclear": named("unclear")}, named("slow"), demands=CommandRaceOptions(forget={"unclear": forget})
    )
    assert found.speeds["unclear"].verdict == "undecided"
    assert "did not show within the time" in found.speeds["unclear"].detail


async def test_processes_that_are_left_are_counted_by_who_clears_away(
    tmp_path: Path, simulated: Callable[..., None]
) -> None:
    demands = CommandRaceOptions(tidy={"leaves": lambda: 1})
    simulated(leaves=0.1, slow=1.0)
    found = await raced(tmp_path, {"leaves": named("leaves")}, named("slow"), demands=demands)
    assert found.speeds["leaves"].verdict == "process-leak"


def test_what_runs_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    mark, told = tmp_path / "pid", tmp_path / "told"
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from bakeoff.judge.timing.command_run import Runner\n"
        "from bakeoff.judge.timing.parent import Place\n"
        "tell = Runner._tell\n"
        "Runner._tell = lambda self, group: (tell(self, group), Path(sys.argv[2]).touch())\n"
        "words = ('sh', '-c', 'echo $$ > $0.new; mv $0.new $0; sleep 600', sys.argv[1])\n"
        "Runner(600).run(Place(words, '/', {'PATH': '/usr/bin:/bin'}))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(mark), str(told)]) as owner:
        until(lambda: mark.exists() and told.exists())
        owner.kill()
    wait_until_ended(int(mark.read_text()))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


async def test_an_original_that_fails_later_leaves_what_is_not_settled_undecided(tmp_path: Path) -> None:
    """It may do so after the race has begun to select, when candidates have been paid for."""
    selecting = tmp_path / "selecting"
    text = f"import os; {SLOW}; os.path.exists({str(selecting)!r}) and exit(1)"
    two = tmp_path / "two"
    contender = (
        f"import os; open({str(two)!r}, 'a').write('.'); "
        f"os.path.getsize({str(two)!r}) > 2 and open({str(selecting)!r}, 'w')"
    )
    found = await raced(tmp_path, {"one": python(FAST), "two": python(contender)}, python(text))
    assert {speed.verdict for speed in found.speeds.values()} == {"undecided"}
    assert "the command ended with status 1 where nothing was changed" in found.speeds["one"].detail
