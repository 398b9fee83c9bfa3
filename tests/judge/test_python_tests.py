"""Python judged by calls: what passes, and that nothing the code does writes its verdict."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from bakeoff.engine.mask import Masker
from bakeoff.judge import calls_worker
from bakeoff.judge.panel import examine
from bakeoff.judge.python_tests import PROGRAM, PYTHON, Case, PythonTests, same, scrubbed
from bakeoff.judge.requirement import Cost
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import ValidationResult
from bakeoff.process.command import Command, Finished, Output
from bakeoff.process.proctable import process_table
from bakeoff.process.spawner import Spawner

pytestmark = pytest.mark.anyio
ADD = [Case([1, 2], 3), Case([-5, 3], -2), Case(["a", "b"], "ab")]
GOOD = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def processes() -> AsyncIterator[Spawner]:
    async with Spawner(token=f"tests-{os.getpid()}", base_env=os.environ, masker=Masker()) as spawner:
        yield spawner


class Pretend:
    """Processes that end as they are told."""

    def __init__(self, lines: list[Any], exit_code: int = 0, ended_by: str | None = None, stderr: str = "") -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.finished = Finished(exit_code, Output(text, len(text)), Output(stderr, 0), 0.1, ended_by)
        self.commands: list[Command] = []

    async def run(self, command: Command) -> Finished:
        self.commands.append(command)
        return self.finished


async def judge(processes: Any, code: str, cases: Any = ADD, **options: Any) -> ValidationResult:
    return await examine(PythonTests("add", cases, processes=processes, **options), Subject(code))


async def test_good_code_passes_with_a_receipt(processes: Spawner) -> None:
    verdict = await judge(processes, GOOD)
    assert verdict == ValidationResult(
        True, "", 1.0, receipt={"tests": 3, "passed": 3, "exit_code": 0, "judged": "out-of-process"}
    )


async def test_code_in_markdown_fences_is_taken_out_and_said(processes: Spawner) -> None:
    assert await judge(processes, f"Here it is:\n\n```python\n{GOOD}```\nDone.\n")
    wrong = await judge(processes, f"```python\n{GOOD.replace('+', '-')}```")
    assert not wrong
    assert "taken out of its Markdown fences" in wrong.reason
    assert "SyntaxError" in (await judge(processes, f"```python\n{GOOD}```", source=str)).reason


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_on_both_loops(backend: str) -> None:
    async def main() -> ValidationResult:
        async with Spawner(token=f"tests-{os.getpid()}", base_env=os.environ, masker=Masker()) as spawner:
            return await judge(spawner, GOOD)

    assert anyio.run(main, backend=backend)


@pytest.mark.parametrize(
    ("code", "score", "reason"),
    [
        ("def add(a, b): return a - b", 0.0, "add(1, 2) is -1, not 3; add(-5, 3) is -8, not -2; add('a', 'b') r"),
        ("def add(a, b): return a + b if type(a) is int else None", 2 / 3, "add('a', 'b') is None, not 'ab'"),
        ("def add(a, b): return 3", 1 / 3, "add(-5, 3) is 3, not -2; add('a', 'b') is 3, not 'ab'"),
        ("def sub(a, b): pass", 0.0, "the code cannot be loaded: it defines no add"),
        ("def add(a, b) return", 0.0, "the code cannot be loaded: SyntaxError"),
        ("def add(a, b): return add(a, b)", 0.0, "add(1, 2) raised RecursionError"),
        ("{}['add']", 0.0, "the code cannot be loaded: KeyError: 'add'"),
        ("import bakeoff", 0.0, "the code cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit(0)", 0.0, "the code cannot be loaded: SystemExit: 0"),
        ("add = 1", 0.0, "add(1, 2) raised TypeError: 'int' object is not callable"),
        ("def add(a, b): raise SystemExit(0)", 0.0, "add(1, 2) raised SystemExit: 0"),
        ("def add(a, b): return input()", 0.0, "add(1, 2) raised EOFError"),
        ("def add(a, b): raise ValueError('\\x1b[2J\\ud800')", 0.0, r"add(1, 2) raised ValueError: \x1b[2J\ud800"),
        ("\0", 0.0, "the code cannot be loaded"),
        ("\ud800", 0.0, "the code cannot be loaded"),
        ("", 0.0, "the code cannot be loaded: it defines no add"),
    ],
)  # fmt: skip
async def test_wrong_code_fails_and_says_where(processes: Spawner, code: str, score: float, reason: str) -> None:
    verdict = await judge(processes, code)
    assert verdict.verdict == "failed"
    assert verdict.score == score
    assert verdict.reason.startswith(reason)


LIE = """
class Lie({base}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
def add(a, b): return Lie()
"""
REPORT = '{"ready": true}\\n{"value": 0}\\n{"value": 0}\\n{"value": 0}\\n'
TO_ALL = f"""
import os
for fd in range(64):
    try: os.write(fd, b'{REPORT}')
    except OSError: pass
"""
HOSTILE = {
    "a lying int": LIE.format(base="int"),
    "a lying object": LIE.format(base="object"),
    "a lying list": LIE.format(base="list"),
    "True for 1": "def add(a, b): return True",
    "a float": "def add(a, b): return float(a + b)",
    "not a number": "def add(a, b): return float('nan')",
    "a key that is none": "def add(a, b): return {1: 2}",
    "an int too long to write": "def add(a, b): return 10 ** 10000",
    "a list without end": "def add(a, b, l=[]): l.append(l); return l",
    "a generator": "def add(a, b): yield a + b",
    "a fake report": TO_ALL,
    "a fake report, then the end": TO_ALL + "os._exit(0)",
    "a fake report in the first call": "def add(a, b):\n" + "".join(f"    {line}\n" for line in TO_ALL.splitlines())
    + "    os._exit(0)",
    "right results printed": "import os\nos.write(1, b'{\"ready\": true}\\n'); print('[3, -2, \"ab\"]'); os._exit(0)",
    "an end without a report": "import os\nos._exit(0)",
    "an end in the last call": GOOD + "plus = add\ndef add(a, b):\n  if a == 'a': import os; os._exit(0)\n"
    "  return plus(a, b)",
    "all descriptors closed": "import os\nos.closerange(0, 100)\n" + GOOD,
    "a crash": "import ctypes\nctypes.string_at(0)",
    "a signal to itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "json replaced": "import json\njson.dumps = lambda value: '{\"value\": 3}'\ndef add(a, b): return 1",
    "an exception without a text": "class E(Exception):\n  def __str__(self): raise self\ndef add(a, b): raise E()",
    "much memory": "def add(a, b): return bytearray(3 << 30) and 3",
    "much output": "import os\nwhile True:\n  for fd in range(32):\n    try: os.write(fd, b'x' * 65536)\n"
    "    except OSError: pass",
    "more results than calls": GOOD + "import os\nfor fd in range(3, 32):\n  try: os.write(fd, b'{\"value\": 3}\\n')\n"
    "  except OSError: pass",
    "the report's end, and a death": GOOD + "import os, atexit\nreal = os._exit\nos._exit = lambda code: real(7)",
    "a result between the lines": GOOD + "import os\nfor fd in range(3, 32):\n  try: os.write(fd, b'{\"value\": 3, ')\n"
    "  except OSError: pass",
    "deep brackets": "import os\nfor fd in range(3, 32):\n  try: os.write(fd, b'[' * 100000 + b'\\n')\n"
    "  except OSError: pass\nos._exit(0)",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_code_never_passes(processes: Spawner, name: str) -> None:
    verdict = await judge(processes, HOSTILE[name])
    assert verdict.verdict == "failed", verdict
    assert verdict.reason


async def test_what_it_prints_is_lost_and_its_threads_end_with_it(processes: Spawner) -> None:
    noise = "import sys, threading, time\nprint('x' * 100000); sys.stderr.write('y')\n"
    threads = (
        "try: threading.Thread(target=time.sleep, args=(600,)).start()\nexcept RuntimeError: pass  # only root may\n"
    )
    with anyio.fail_after(60):
        assert await judge(processes, noise + threads + GOOD, timeout=300)


async def test_endless_code_is_ended_by_the_processor_time_or_the_clock(processes: Spawner) -> None:
    verdict = await judge(processes, "def add(a, b):\n    while True: pass", timeout=300)
    assert verdict.reason == "it died of signal 9 during add(1, 2)"
    verdict = await judge(processes, "import time\ndef add(a, b): time.sleep(60)", timeout=3)
    assert verdict.reason.startswith("it was ended after 3")
    assert verdict.verdict == "failed"


DAEMON = """
import os, time
reading, writing = os.pipe()
pid = os.fork()
if pid == 0:
    os.setsid()
    os.write(writing, b"x")
    time.sleep(3600)
os.read(reading, 1)
def add(a, b): return pid
"""


async def test_a_daemon_that_holds_the_pipe_is_not_waited_for_and_does_not_stay() -> None:
    seen: list[int] = []
    async with Spawner(token=f"tests-{os.getpid()}", base_env=os.environ, masker=Masker()) as spawner:
        verdict = await judge(spawner, DAEMON, [Case([1, 2], lambda value: seen.append(value) or True)])
    if os.geteuid() == 0:  # the kernel does not limit root's processes
        assert verdict.verdict == "passed"
        assert seen[0] not in process_table()
    else:
        assert verdict.reason.startswith("the code cannot be loaded: BlockingIOError")


async def test_it_gets_no_variable_no_descriptor_and_writes_no_file(
    processes: Spawner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET_KEY", "12345678")
    look = f"""
import os
def add(what):
    if what == "variables": return sorted(os.environ)
    if what == "descriptors": return len(os.listdir("/proc/self/fd")) - 1  # the last is the folder's own
    with open({str(tmp_path / "file")!r}, "w") as file: file.write("x")
"""
    seen: list[Any] = []
    cases = [Case([what], lambda value: seen.append(value) or True) for what in ("variables", "descriptors")]
    assert await judge(processes, look, cases)
    assert set(seen[0]) <= {"BAKEOFF_RUN", "BAKEOFF_LEAF", "LC_CTYPE"}
    assert seen[1] <= 5  # the standard three, the result's, and that of the null device
    verdict = await judge(processes, look, [Case(["file"], None)])
    assert "raised OSError" in verdict.reason


async def test_a_function_may_judge_what_comes_out(processes: Spawner) -> None:
    assert await judge(processes, GOOD, [Case([1, 2], lambda value: value > 2)])
    verdict = await judge(processes, GOOD, [Case([1, 2], lambda value: value < 2)])
    assert (verdict.verdict, verdict.reason) == ("failed", "add(1, 2) is 3")
    assert not await judge(processes, GOOD, [Case([1, 2], lambda value: value)])  # 3 is not True
    broken = await judge(processes, GOOD, [Case([1, 2], lambda value: value["x"])])
    assert broken.verdict == "error"


async def test_large_jobs_arrive(processes: Spawner) -> None:
    long = "x" * 300_000
    assert await judge(processes, GOOD, [Case([long, "y"], long + "y")])


async def test_cancelled_the_process_is_gone(processes: Spawner) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(judge, processes, "import time\ntime.sleep(60)")
        with anyio.fail_after(60):
            while not (started := _judging()):
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert not started & _judging()


def _judging() -> set[int]:
    """Processes that judge for this worker; others start such programs, too."""
    ours = f"BAKEOFF_RUN=tests-{os.getpid()}\0".encode()
    return {pid for pid in process_table() if ours in _of(pid, "environ") and PROGRAM.encode() in _of(pid, "cmdline")}


def _of(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("lines", "ending", "verdict", "reason"),
    [
        ([], {"exit_code": 125, "stderr": "no\nsandbox"}, "error", ""),
        ([{"value": 3}], {}, "error", ""),
        ([{"ready": True}, {"value": 3}], {}, "passed", ""),
        ([{"ready": True}], {}, "failed", "it ended with status 0 during add(1, 2)"),
        ([{"ready": True}, {"value": 3}], {"exit_code": 1}, "failed", "it ended with status 1 after the last call"),
        ([{"ready": True}, {"value": 3}], {"exit_code": -1, "ended_by": "kill"}, "failed", "it was ended (kill) after"),
        ([{"ready": True}, {"value": 3}, {"value": 3}], {}, "failed", "it reported 2 results of 1 calls"),
        ([{"ready": True}, {"value": 3, "raised": "x"}], {}, "failed", "add(1, 2) raised x"),
        ([{"ready": True}, {"value": 3, "more": "x"}], {}, "failed", "add(1, 2) has no readable result"),
        ([{"ready": True}, 3], {}, "failed", "add(1, 2) has no readable result"),
        ([{"ready": True}, {"broken": "x"}, {"value": 3}], {}, "failed", "the code cannot be loaded: x"),
    ],
)
async def test_reports(lines: list[Any], ending: dict[str, Any], verdict: str, reason: str) -> None:
    found = await judge(Pretend(lines, **ending), "", [Case([1, 2], 3)])
    assert found.verdict == verdict
    assert found.reason.startswith(reason)


async def test_the_command_is_made_by_whoever_has_a_place() -> None:
    pretend = Pretend([{"ready": True}, {"value": 3}])
    place = lambda argv, **more: Command(["in-a-box", *argv], "/box", **more)  # noqa: E731
    assert await judge(pretend, "", [Case([1, 2], 3)], place=place, timeout=7)
    (command,) = pretend.commands
    assert (command.argv[0], command.argv[1], command.cwd, command.timeout) == ("in-a-box", PYTHON, "/box", 7)
    assert set(scrubbed(["x"]).env.values()) == {None}


async def test_an_output_may_need_making_into_a_program(processes: Spawner) -> None:
    assert await judge(processes, " a + b", source=lambda text: f"def add(a, b): return{text}")


def test_what_is_given_is_checked() -> None:
    with pytest.raises(ValueError, match="there are no tests of add"):
        PythonTests("add", [], processes=Pretend([]))
    for case in (Case([(1, 2)], 3), Case([1], {1: 2}), Case([object()], 3)):
        with pytest.raises(TypeError):
            PythonTests("add", [case], processes=Pretend([]))


def test_identity_tells_cases_apart() -> None:
    def positive(value: Any) -> bool:
        return bool(value > 0)

    made = [
        PythonTests("add", cases, processes=Pretend([]))
        for cases in ([Case([1, 2], 3)], [Case([1, 2], 4)], [Case([1, 2], True)], [Case([1, 2], positive)])
    ]
    assert len({one.identity for one in made}) == 4
    assert "positive" in made[3].identity
    assert made[0].cost is Cost.PROCESS


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1, True), (1, True, False), (1, 1.0, False), ("a", "a", True), (None, None, True), (None, 0, False),
        ([1, [2]], [1, [2]], True), ([1], [1, 2], False), ([1], [True], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ({"a": 1}, {"a": True}, False), ({"a": 1}, {"b": 1}, False),
    ],
)  # fmt: skip
def test_equal_means_of_one_type_too(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal


class Mute(Exception):
    def __str__(self) -> str:
        raise self


def test_outcomes() -> None:
    """What the program reports, seen from inside."""

    def outcomes(code: str, *calls: list[Any]) -> list[dict[str, Any]]:
        return list(calls_worker.outcomes(code, "add", [*calls]))

    assert outcomes(GOOD, [1, 2], ["a", "b"]) == [{"value": 3}, {"value": "ab"}]
    assert outcomes(GOOD, [1, "b"])[0]["raised"].startswith("TypeError: unsupported")
    assert outcomes(GOOD, [1]) == [{"raised": "TypeError: add() missing 1 required positional argument: 'b'"}]
    assert outcomes("def add(a): return {a}", [1]) == [{"odd": "TypeError: it is a set"}]
    assert outcomes("x = 1", [1]) == [{"broken": "it defines no add"}]
    assert outcomes("1 / 0", [1], [2]) == [{"broken": "ZeroDivisionError: division by zero"}]
    assert calls_worker.said(ValueError("x" * 1000)) == "ValueError: " + "x" * (calls_worker.SAID - 12)
    assert calls_worker.said(Mute()) == "an exception that cannot be shown"
    for value, said in ((float("inf"), "inf"), ({1: 2}, "key"), ([(1,)], "tuple")):
        with pytest.raises(TypeError, match=said):
            calls_worker.check_plain(value)
    calls_worker.check_plain({"a": [1, 1.5, "x", None, True]})


def test_limits_that_the_system_does_not_know_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def setrlimit(name: int, amounts: tuple[int, int]) -> None:
        asked.append((name, amounts[1]))
        raise ValueError("not supported here")

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    calls_worker.restrict(1, 1 << 30)
    assert {(resource.RLIMIT_CPU, 1), (resource.RLIMIT_AS, 1 << 30), (resource.RLIMIT_FSIZE, 0)} <= set(asked)


def test_the_program_gives_the_code_the_null_device_and_reports_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(BaseException):
        pass

    def ended(code: int) -> None:
        raise Ended(code)

    reading, writing = os.pipe()
    moved: list[int] = []
    monkeypatch.setattr(calls_worker.os, "dup", lambda fd: writing)
    monkeypatch.setattr(calls_worker.os, "dup2", lambda null, fd: moved.append(fd))
    monkeypatch.setattr(calls_worker.os, "_exit", ended)
    monkeypatch.setattr(calls_worker, "restrict", lambda cpu, memory: None)
    with pytest.raises(Ended):
        calls_worker.main([json.dumps({"source": GOOD, "function": "add", "calls": [[1, 2]], "cpu": 1, "memory": 1})])
    monkeypatch.undo()
    os.close(writing)
    with os.fdopen(reading) as report:
        assert report.read() == '{"ready": true}\n{"value": 3}\n'
    assert moved == [0, 1, 2]


def test_the_program_without_us() -> None:
    job = json.dumps({"source": GOOD, "function": "add", "calls": [[1, 2]], "cpu": 1, "memory": 1 << 29})
    half = len(job) // 2
    done = subprocess.run([PYTHON, "-I", PROGRAM, job[:half], job[half:]], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, '{"ready": true}\n{"value": 3}\n')
