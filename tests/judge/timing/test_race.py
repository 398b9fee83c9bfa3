from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from bakeoff.judge.codec import encode
from bakeoff.judge.timing import plan
from bakeoff.judge.timing.bench import Bench
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.functions import race
from bakeoff.judge.timing.parent import HASH_SEED, READS, Code, Parent, Place, TimingError, place
from bakeoff.judge.timing.plan import Input, Known
from bakeoff.judge.timing.race import Options
from bakeoff.judge.timing.speed import Interval, Speed
from bakeoff.process.command import Command

from .conftest import ORIGINAL, SIZES, here, inputs

pytestmark = pytest.mark.anyio

FAST = "def f(xs):\n    n = len(xs)\n    return (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n"
SAME = ORIGINAL.replace("total", "amount")


async def test_an_honest_constant_time_is_faster(raced: Callable[..., Any]) -> None:
    found = await raced({"fast": FAST}, memory=True)
    speed = found.speeds["fast"]
    assert (speed.verdict, found.winner, speed.remeasured) == ("faster", "fast", True), speed
    assert speed.speedup.low > 1.5
    assert speed.fresh.low > 1.5
    assert speed.memory is not None
    assert speed.receipt["parents"] >= 5
    assert found.calibration.inputs == len(SIZES)
    assert found.calibration.fresh * 2 >= found.calibration.inputs
    assert Speed.from_json(speed.to_json()) == speed


async def test_the_same_is_not_faster_and_the_best_wins(raced: Callable[..., Any]) -> None:
    told: list[str] = []

    async def tell(name: str, speed: Speed) -> None:
        told.append(name)

    better = "def f(xs):\n    return sum([x * x - x for x in xs])\n"
    found = await raced({"same": SAME, "better": better, "fast": FAST}, told=tell)
    assert found.winner == "fast"
    assert found.speeds["same"].verdict in ("not-faster", "undecided")
    assert not found.speeds["better"].remeasured
    assert sorted(told) == ["better", "fast", "same"]


async def test_kept_verdicts_are_not_measured_again(raced: Callable[..., Any]) -> None:
    kept = Speed("faster", speedup=Interval(9.0, 8.0, 10.0), remeasured=True)
    broken = "raise SystemExit\n"
    found = await raced({"kept": broken, "same": SAME}, kept={"kept": kept})
    assert found.speeds["kept"] is kept
    assert found.speeds["same"].verdict == "not-faster"
    assert found.winner == "kept"
    again = await raced({"kept": broken}, kept={"kept": kept})
    assert again.calibration is None


async def test_too_little_time_is_undecided(raced: Callable[..., Any]) -> None:
    found = await raced({"same": SAME}, seconds=0.01)
    assert found.speeds["same"].verdict == "undecided"
    assert re.match(r"the time is over: some [0-9.]+ s would decide it", found.speeds["same"].detail)
    found = await raced({"one": SAME, "two": SAME}, seconds=0.01)
    assert {speed.verdict for speed in found.speeds.values()} == {"undecided"}
    assert found.winner is None


async def test_methods_coroutines_and_named_arguments(raced: Callable[..., Any]) -> None:
    kept = "class Sums:\n    def __init__(self): self.n = 1\n    def f(self, xs, *, start=0):\n        for x in xs: start += x\n        return start\n"
    fast = kept.replace("for x in xs: start += x\n        return start", "return sum(xs, start)")
    import types

    module = types.ModuleType("mod")
    exec(kept, module.__dict__)
    module.Sums.__module__ = "mod"
    given = [Input(encode(((module.Sums(), list(range(n))), {"start": 2})), n % 2 == 1) for n in range(60, 70)]
    found = await raced({"fast": fast}, original=kept, qualname="Sums.f", given=given)
    # The class of the argument itself has other code: what the method is like is not a part of what it is called on.
    assert found.speeds["fast"].verdict == "differs-while-timed"
    assert "other code" in found.speeds["fast"].detail
    found = await raced({"fast": fast}, original=kept, qualname="Sums.f", given=given, unseen=("mod:Sums",))
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]
    slow = "async def f(xs):\n    total = 0\n    for x in xs: total += x\n    return total\n"
    found = await raced(
        {"fast": "async def f(xs):\n    return sum(xs)\n"}, original=slow, is_async=True, given=inputs(*range(900, 910))
    )
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]


@pytest.mark.parametrize(
    "descriptor",
    [
        "cached_property",
        "classmethod",
        *(pytest.param(each, marks=pytest.mark.soak(only=True)) for each in ("property", "staticmethod")),
    ],
)
async def test_what_a_class_keeps_of_a_function_is_timed_and_not_what_stands_around_it(
    raced: Callable[..., Any], descriptor: str
) -> None:
    first = {"staticmethod": "xs", "classmethod": "cls, xs"}.get(descriptor, "xs")
    body = "total = 0\n        for x in xs: total += x * x - x\n        return total\n"
    slow = f"from functools import cached_property\nclass Sums:\n    @{descriptor}\n    def f({first}):\n        {body}"
    fast = slow.replace(body, "n = len(xs)\n        return (n - 1) * n * (2 * n - 1) // 6 - n * (n - 1) // 2\n")
    wrong = slow.replace(body, "return 5\n")
    before = (None,) if descriptor == "classmethod" else ()
    given = [Input(encode(((*before, list(range(n))), {})), n % 4 == 0) for n in SIZES]
    found = await raced({"fast": fast, "wrong": wrong}, original=slow, qualname="Sums.f", given=given)
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]
    assert found.speeds["wrong"].verdict == "differs-while-timed", found.speeds["wrong"]


async def test_exceptions_are_results(raced: Callable[..., Any]) -> None:
    original = "def f(xs):\n    for x in xs:\n        pass\n    raise ValueError(len(xs))\n"
    found = await raced({"other": "def f(xs):\n    raise KeyError(len(xs))\n"}, original=original)
    assert found.speeds["other"].verdict == "differs-while-timed"


async def test_what_exceptions_say_counts_only_where_it_is_asked_for(raced: Callable[..., Any]) -> None:
    """As in the comparison before: what passes there must not fall here."""
    original = "def f(xs):\n    for x in xs:\n        sum(range(x))\n    raise ValueError(len(xs))\n"
    contenders = {"fast": "def f(xs):\n    raise ValueError('no')\n"}
    found = await raced(contenders, original=original)
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]
    found = await raced(contenders, original=original, messages=True)
    assert found.speeds["fast"].verdict == "differs-while-timed"


@pytest.mark.soak(only=True)
async def test_what_iterators_raise_says_nothing_either(raced: Callable[..., Any]) -> None:
    lazy = "def f(xs):\n    for x in xs:\n        yield sum(range(x))\n    raise ValueError(len(xs))\n"
    found = await raced(
        {"fast": lazy.replace("sum(range(x))", "x * (x - 1) // 2").replace("len(xs)", "'no'")}, original=lazy
    )
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]


async def test_an_iterator_is_read_by_the_result_before_it_is_compared(raced: Callable[..., Any]) -> None:
    given = [Input(encode(((iter(range(size)),), {})), place % 2 == 1) for place, size in enumerate(SIZES)]
    lazy = "def f(xs):\n    for x in xs:\n        yield sum(range(x))\n"
    fast = "def f(xs):\n    for x in xs:\n        yield x * (x - 1) // 2\n"
    greedy = "def f(xs):\n    for x in list(xs)[:-1]:\n        yield x * (x - 1) // 2\n"
    found = await raced({"fast": fast, "greedy": greedy}, original=lazy, given=given)
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]
    assert found.speeds["greedy"].verdict == "differs-while-timed", found.speeds["greedy"]


async def test_changed_arguments_are_results(raced: Callable[..., Any]) -> None:
    original = "def f(xs):\n    xs.sort(reverse=True)\n    return len(xs)\n"
    found = await raced({"kept": "def f(xs):\n    return len(xs)\n"}, original=original)
    assert found.speeds["kept"].verdict == "differs-while-timed"


async def test_files_are_changed_for_one_contender_only(root: Path, tmp_path: Path) -> None:
    (root / "pkg").mkdir()
    files = {
        "pkg/__init__.py": b"from pkg.helper import add\n",
        "pkg/helper.py": b"def add(xs):\n    t = 0\n    for x in xs: t += x\n    return t\n",
        "pkg/mod.py": b"import pkg\ndef f(xs):\n    return pkg.add(xs)\n",
    }
    for name, data in files.items():
        (root / name).write_bytes(data)
    contenders = {
        "fast": {"pkg/helper.py": b"add = sum\n"},
        "new": {"pkg/__init__.py": b"from pkg.new import add\n", "pkg/new/__init__.py": b"add = sum\n"},
        "gone": {"pkg/helper.py": None},
    }
    found = await race(
        here(root), Code("pkg.mod", "f", str(root), preload=("decimal", "no_such_module")), files, contenders,
        inputs(*range(400, 420)), Options(seconds=60), lock=BenchLock(tmp_path / "lock"),
    )  # fmt: skip
    assert found.speeds["gone"].verdict == "import-failure"
    assert found.winner in ("fast", "new")
    assert {path.name for path in root.rglob("*")} == {"pkg", "__init__.py", "helper.py", "mod.py"}


async def test_what_cannot_be_measured_is_said(raced: Callable[..., Any], root: Path, tmp_path: Path) -> None:
    with pytest.raises(TimingError, match="3 another result each time"):
        await raced({"same": SAME}, original="import os\ndef f(xs): return os.urandom(8)\n", given=inputs(1, 2, 3))
    with pytest.raises(TimingError, match="2 incomparable"):
        await raced({"same": SAME}, original="def f(xs): return lambda: xs\n", given=inputs(1, 2))
    with pytest.raises(TimingError, match=r"none was given"):
        await raced({"same": SAME}, given=[])
    with pytest.raises(TimingError, match=r"import-failure: .*nothing_here"):
        await raced({"same": SAME}, original="import nothing_here\n")
    with pytest.raises(TimingError, match=r"data.txt: only Python files"):
        await race(here(root), Code("mod", "f", str(root)), {}, {"a": {"data.txt": b""}}, [])
    with pytest.raises(TimingError, match=r"cannot start ./no/such/python. for timing: No such file"):
        await race(
            Place(("/no/such/python",), "/", {}), Code("m", "f", "/"), {}, {"a": {}}, [], lock=BenchLock(tmp_path)
        )
    with pytest.raises(TimingError, match=r"did not start: .*No module"):
        Parent(Place((sys.executable, "-m", "no_such_module"), "/", {}), Code("m", "f", "/"), [{}], 1, None).ready()
    with pytest.raises(TimingError, match="did not start: it says nothing"):
        Parent(Place(("true",), "/", dict(os.environ)), Code("m", "f", "/"), [{}], 1, None).ready()
    for wrong in ({"min_speedup": 0}, {"seconds": 0}):
        with pytest.raises(ValueError, match="above 0"):
            Options(**wrong)


async def test_code_that_writes_files_can_be_timed(raced: Callable[..., Any], tmp_path: Path) -> None:
    slow = f"""
def f(xs):
    with open({str(tmp_path / "out")!r}, "w") as file:
        file.write("x")
    for _ in range(20):
        for x in xs: pass
    return len(xs)
"""
    found = await raced(
        {"fast": slow.replace("range(20)", "range(1)")}, original=slow, given=inputs(*range(9000, 9006))
    )
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]


async def test_waiting_less_is_faster(raced: Callable[..., Any]) -> None:
    slow = "import time\ndef f(xs):\n    for _ in range(3):\n        time.sleep(0.002)\n    return len(xs)\n"
    found = await raced({"fast": slow.replace("range(3)", "range(1)")}, original=slow)
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]


@pytest.mark.parametrize(("nanoseconds", "count"), [(1e4, 16), (1e6, 16), (2e6, 10), (1e7, 6), (7e7, 3), (2e8, 2)])
async def test_of_inputs_that_take_long_a_few_are_enough(root: Path, nanoseconds: float, count: int) -> None:
    known = [Known(b"%d" % place, place % 2 == 1, b"", nanoseconds) for place in range(40)]
    chosen = Bench(here(root), Code("mod", "function", str(root)), [{}], 1).plan(known, False, True)
    assert len(chosen.inputs) == count
    assert len(chosen.weights.fresh) in (count // 2, count - count // 2)
    assert len({one.call for one in chosen.inputs}) == count


async def test_of_a_few_inputs_the_heaviest_go_first_where_all_take_too_long(root: Path) -> None:
    sizes = [50e6, 60e6, 230e6, 70e6, 80e6, 90e6]
    known = [Known(b"%d" % place, place % 2 == 1, b"", size) for place, size in enumerate(sizes)]
    chosen = Bench(here(root), Code("mod", "function", str(root)), [{}], 1).plan(known, False, True)
    assert sorted(one.nanoseconds for one in chosen.inputs) == [50e6, 60e6, 80e6]


async def test_what_takes_long_is_not_repeated(raced: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "WORK", 40e6)
    slow = "def f(xs):\n    t = 0\n    for _ in range(9000):\n        for x in xs: t += x\n    return t\n"
    fast = slow.replace("9000", "3000").replace("return t", "return 3 * t")
    found = await raced({"fast": fast}, original=slow, given=inputs(60, 64, 700))
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]
    assert found.calibration.inputs == 2
    assert found.speeds["fast"].cold is None


def locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_cancelled_it_leaves_nothing(root: Path, tmp_path: Path) -> None:
    # A process that has ended lets go of its lock, also where nobody waits for it.
    held = tmp_path / "held"
    endless = f"""
import fcntl, os
held = open({str(held)!r}, "a")
fcntl.flock(held, fcntl.LOCK_SH)
if not os.path.islink({str(tmp_path)!r} + "/begun"):
    os.symlink("anything", {str(tmp_path)!r} + "/begun")
def f(xs):
    while True: pass
"""
    (root / "mod.py").write_text(ORIGINAL)
    lock = BenchLock(tmp_path / "lock")
    running = anyio.Event()

    async def run() -> None:
        await race(
            here(root), Code("mod", "f", str(root)), {"mod.py": ORIGINAL.encode()}, {"endless": {"mod.py": endless.encode()}},
            inputs(*SIZES), Options(seconds=60, fork_seconds=60), lock=lock,
        )  # fmt: skip
        running.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        with anyio.fail_after(120):
            while not (tmp_path / "begun").is_symlink():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert not running.is_set()
    with held.open() as file, anyio.fail_after(60):
        while not locked(file.fileno()):
            await anyio.sleep(0.01)
    assert not list((tmp_path / "lock").glob("*.ticket"))


async def test_a_parent_that_goes_away_ends_with_us(root: Path) -> None:
    (root / "mod.py").write_text(ORIGINAL)
    parent = Parent(here(root), Code("mod", "f", str(root)), [{}], 1, None)
    parent.ready()
    parent.close()
    assert parent.process.returncode is not None
    parent.close()


async def test_busy_machines_are_borne_after_a_while(root: Path) -> None:
    from bakeoff.judge.timing.load import Load

    bench = Bench(here(root), Code("mod", "f", str(root)), [{}], 1)
    busy = Load(0.0, 1.5, 0.0, 0.0)
    assert [bench.load.counts(busy) for _ in range(4)] == [False, False, False, True]
    assert bench.load.spoiled == {"others other processors": 3}


async def test_a_place_is_made_of_a_command() -> None:
    made = place(Command(["env", "python"], "/x", {"A": "1", "PATH": None}))
    assert (made.argv, made.cwd, made.env["A"], "PATH" in made.env) == (("env", "python"), "/x", "1", False)
    assert made.cpus


SANDBOXED = (
    """
import os
try:
    open("/proc/%d/mem" % os.getppid(), "rb")
except OSError:
    pass
else:
    raise SystemExit("it reads its parent's memory")
try:
    fds = os.listdir("/proc/%d/fd" % os.getppid())
except OSError:
    fds = []
for fd in fds:
    try:
        os.open("/proc/%d/fd/%s" % (os.getppid(), fd), os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        continue
    raise SystemExit("it opens its parent's pipes")
"""
    + FAST
)


async def test_it_works_in_a_full_sandbox(tmp_path: Path) -> None:
    from bakeoff.settings import Settings, SlotSettings
    from bakeoff.workspace.sandbox.policy import SandboxPolicy
    from bakeoff.workspace.sandbox.sandbox import sandbox
    from bakeoff.workspace.workspace import open_workspace

    root = tmp_path / "project"
    root.mkdir()
    (root / "mod.py").write_text(ORIGINAL)
    identity = ("-c", "user.name=b", "-c", "user.email=b@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=root, check=True)
    settings = Settings(slots=SlotSettings())
    async with (
        open_workspace(root, settings, "run", cache=tmp_path / "cache", slots=1) as workspace,
        workspace.lease() as slot,
    ):
        box = await sandbox(slot, SandboxPolicy())
        where = place(box.command([sys.executable], env={HASH_SEED: "0"}, reads=READS))
        found = await race(
            where, Code("mod", "f", slot.path), {"mod.py": ORIGINAL.encode()},
            {"fast": {"mod.py": SANDBOXED.encode()}, "same": {"mod.py": SAME.encode()}}, inputs(*SIZES),
            Options(seconds=60), lock=BenchLock(tmp_path / "lock"),
        )  # fmt: skip
    assert found.speeds["fast"].verdict == "faster", found.speeds["fast"]
    assert found.winner == "fast"


async def test_waiting_for_others_takes_no_time_of_the_race(root: Path, tmp_path: Path) -> None:
    lock = BenchLock(tmp_path / "bench")
    (root / "mod.py").write_text(ORIGINAL)
    found = []

    async def measure() -> None:
        code, files = Code("mod", "f", str(root)), {"one": {"mod.py": FAST.encode()}, "two": {"mod.py": SAME.encode()}}
        original = {"mod.py": ORIGINAL.encode()}
        options = Options(seconds=2.0)
        found.append(await race(here(root), code, original, files, inputs(*SIZES), options, lock=lock))

    async with anyio.create_task_group() as tasks:
        async with lock.measuring():
            tasks.start_soon(measure)
            await anyio.sleep(2.1)  # another measures for longer than this race may
    assert all(speed.pairs for speed in found[0].speeds.values())


async def test_seconds_are_those_of_blocks(tmp_path: Path) -> None:
    lock = BenchLock(tmp_path / "bench")
    blocks = Blocks(lock, 10.0, lambda: None)
    before, half = blocks.until(), blocks.until(0.5)
    assert round(before - half, 6) == 5.0
    async with anyio.create_task_group() as tasks:
        async with lock.measuring():
            tasks.start_soon(blocks.block, lambda: None)
            await anyio.sleep(0.2)
    assert blocks.until() - before >= 0.2
    until, since = blocks.until(), time.monotonic()
    with blocks.starting():
        await anyio.sleep(0.01)
    assert 0.01 <= blocks.until() - until <= time.monotonic() - since
    until = blocks.until()
    blocks.lose(3.0)
    assert round(blocks.until() - until, 6) == 3.0
    blocks.lose(1000.0)  # no race takes more than six times its seconds
    assert round(blocks.until() - until, 6) == 50.0
    blocks.begin()
    assert blocks.until() > before
    assert round(blocks.until() - blocks.until(0.5), 6) == 5.0


async def test_what_the_original_imports_is_imported_once_a_parent_and_nothing_of_the_project(
    root: Path, tmp_path: Path
) -> None:
    # Files cannot grow in a fork, pipes can be written to.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    told = f"import os\nwith open({str(pipe)!r}, 'w') as file:\n    file.write(f'{{__name__}} {{os.getppid()}}\\n')\n"
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "library.py").write_text(told)
    (root / "helper.py").write_text(told)
    (root / ".venv" / "lib" / "site-packages").mkdir(parents=True)
    (root / ".venv" / "lib" / "site-packages" / "installed.py").write_text(told)
    head = "import helper, library, installed\n"
    (root / "mod.py").write_text(head + ORIGINAL)
    place = here(root, PYTHONPATH=f"{tmp_path / 'others'}:{root / '.venv' / 'lib' / 'site-packages'}")
    found = await race(
        place, Code("mod", "f", str(root), preload=("helper",)), {"mod.py": (head + ORIGINAL).encode()},
        {"fast": {"mod.py": (head + FAST).encode()}}, inputs(*range(400, 420)), Options(seconds=60),
        lock=BenchLock(tmp_path / "lock"),
    )  # fmt: skip
    assert found.winner == "fast"
    lines = os.read(reading, 1 << 20).decode().split("\n")[:-1]
    os.close(reading)
    own = str(os.getpid())
    by_parents = [line.split()[0] for line in lines if line.split()[1] == own]
    by_forks = [line.split()[0] for line in lines if line.split()[1] != own]
    assert sorted(by_parents) == ["installed"] * 5 + ["library"] * 5, "a parent imports what is not the project's"
    assert by_forks.count("library") == by_forks.count("installed") <= 2, "only forks that came before"
    assert by_forks.count("helper") > 10, "each fork imports the project for itself"


def changing(counter: Path, which: str) -> str:
    """The original, which counts its calls on some inputs in a file, and gives something else after a hundred."""
    return (
        "import os\n"
        f"def f(xs):\n    if {which}:\n"
        f"        counter = os.open({str(counter)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "        os.write(counter, b'.')\n        called = os.fstat(counter).st_size\n        os.close(counter)\n"
        "        if called > 100:\n            return called\n"
        "    return sum(x * x - x for x in xs)\n"
    )


async def test_an_input_that_the_original_turns_out_to_answer_anew_is_left_out(
    raced: Callable[..., Any], tmp_path: Path
) -> None:
    original = changing(tmp_path / "calls", f"len(xs) == {SIZES[-1]}")
    found = await raced({"fast": FAST, "same": original}, original=original)
    assert (tmp_path / "calls").stat().st_size > 100
    assert found.winner == "fast"
    assert found.calibration.inputs < len(SIZES)


async def test_an_original_that_answers_anew_on_all_inputs_is_a_verdict(
    raced: Callable[..., Any], tmp_path: Path
) -> None:
    original = changing(tmp_path / "calls", "True")
    found = await raced({"one": FAST, "two": FAST}, original=original)
    assert {(speed.verdict, speed.detail.split(":")[0]) for speed in found.speeds.values()} == {
        ("undecided", "the original itself")
    }
