"""Parts of commands that whole commands reach only by accident."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from bakeoff.cli.completing import STEP
from bakeoff.cli.follow import Follower
from bakeoff.cli.log_files import log_file
from bakeoff.engine.control import control_server
from bakeoff.engine.store import RunFolder
from bakeoff.errors import BakeoffError
from bakeoff.report.text_table import table
from cli.conftest import QUICK, Command, Project, environment, until

LOOPED = """
steps:
  - id: loop
    type: do-while
    condition: "{{ iteration < 2 }}"
    max_iterations: 4
    steps:
      - {id: body, type: shell, run: "echo pass {{ iteration }}"}
  - {id: pick, type: if, condition: "{{ steps.loop.output.iterations > 1 }}", then: [
      {id: spent, type: shell, run: "echo picked"}]}
  - id: fan
    type: fan-out
    items: "{{ [1, 2] }}"
    step: {id: it, type: shell, run: "echo {{ item }}"}
  - {id: all, type: fan-in, wait_for: [fan]}
"""


def test_log_files_are_named_as_the_steps_name_them(tmp_path: Path) -> None:
    from bakeoff.workflow.steps.shell import log_prefix

    folder = RunFolder(tmp_path)
    for path in ("a", "fan:it:3", "call/x y:ü", "deep/" * 60 + "end"):
        place = SimpleNamespace(path=path, run=SimpleNamespace(root=tmp_path))
        assert str(log_file(folder, path, 1, "stdout")) == f"{log_prefix(place)}.out"  # type: ignore[arg-type]
        assert str(log_file(folder, path, 3, "stderr")) == f"{log_prefix(place)}.3.err"  # type: ignore[arg-type]


def test_loops_and_branches_are_shown(project: Project) -> None:
    project.write("looped", LOOPED)
    assert project("run", "looped.yml", "--run-id", "l").status == 0
    out = project("show", "l").out
    assert "✓ loop do-while" in out
    assert "    ✓ body:0 shell" in out
    assert "==> loop:body:1 <==\npass 1\n" in project("logs", "l", "body").out
    assert "picked" in project("logs", "l").out
    found = project("show", "l", "--json").out
    assert '"body": {' in found
    assert "body:1" in project("run", "looped.yml", "--dry-run").out + out


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ExceptionGroup("a", [ExceptionGroup("b", [BakeoffError("told \x1b[2J")])]), "error: told \\x1b[2J\n"),
        (BakeoffError("told"), "error: told\n"),
        (ExceptionGroup("a", [ValueError("a bug")]), "a fault in bakeoff, not in your work: ValueError: a bug"),
    ],
)
def test_a_session_that_fails_is_told_and_a_bug_is_not_hidden(
    project: Project, command: Command, monkeypatch, raised: Exception, text: str
) -> None:
    async def failing(*args):
        raise raised

    project.write("quick", QUICK)
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr("bakeoff.workflow.session.start", failing)
    result = command("run", "quick.yml")
    assert (result.status, result.out) == (1, "")
    assert text in result.err


def test_a_run_removed_as_it_ends_is_told(project: Project, command: Command, monkeypatch) -> None:
    from bakeoff.workflow import session

    real = session.start

    async def removed(*args):
        folder, ending = await real(*args)
        shutil.rmtree(folder.root)
        return folder, ending

    project.write("quick", QUICK)
    monkeypatch.chdir(project.folder)
    monkeypatch.setattr("bakeoff.workflow.session.start", removed)
    result = command("run", "quick.yml", "--run-id", "it", "-q")
    assert (result.status, result.out) == (1, "")
    assert "error: run it ended, but does not read back: cannot be read: no such file or directory: " in result.err


def test_garbage_is_collected_while_a_run_goes_on(project: Project) -> None:
    """Short commands do without; a run of hours needs it."""
    code = (
        "import gc, sys\nfrom bakeoff.engine import session\nreal = session._attended\n"
        "async def looked(*args):\n    print('collecting', gc.isenabled())\n    return await real(*args)\n"
        "session._attended = looked\nsys.argv = ['bakeoff', 'run', 'q.yml', '-q']\n"
        "from bakeoff.cli import main\nmain()\n"
    )
    project.write("q", QUICK)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.folder, env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "collecting True\n"), done.stderr


def test_processes_that_a_dead_run_left_are_ended_and_counted(project: Project) -> None:
    gone = str(project.folder / ".bakeoff" / "runs" / "gone")
    Path(gone).mkdir(parents=True)
    left = subprocess.Popen(["sleep", "600"], env=environment(BAKEOFF_RUN=gone))
    (project.folder / "q.yml").write_text(
        'schema_version: "1.0"\nworkflow: {id: q, name: Q, version: "1.0.0"}\n'
        'steps:\n  - {id: a, type: shell, run: "true"}\n'
    )
    result = project("run", "q.yml")
    assert "ended 1 process(es) that run gone had left behind" in result.err
    assert left.wait(60) == -signal.SIGKILL


@pytest.mark.anyio
async def test_a_run_that_does_not_answer_has_no_gates_to_tell_of(tmp_path: Path, monkeypatch) -> None:
    folder = RunFolder(tmp_path)
    assert not list(Follower(folder).gates())

    async def handle(message):
        raise BakeoffError("busy")

    async with control_server(tmp_path, handle):
        assert not await anyio.to_thread.run_sync(lambda: list(Follower(folder).gates()))


def test_gates_of_a_live_run_complete(project: Project) -> None:
    project.write("held", "\nsteps:\n  - id: both\n    type: parallel\n    branches:\n"
                  "      a: [{id: ask, type: gate, message: m, options: [approve, reject]}]\n"
                  "      b: [{id: hold, type: shell, run: 'cat fifo'}]\n")  # fmt: skip
    os.mkfifo(project.folder / "fifo")
    process = project.begin("run", "held.yml", "--run-id", "h")
    assert process.stderr is not None
    while b"? ask waits" not in process.stderr.readline():
        pass
    env = {"_BAKEOFF_COMPLETE": "bash_complete", "COMP_WORDS": "bakeoff answer h ", "COMP_CWORD": "3"}
    assert project(**env).out == "plain,ask\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_steps_complete_without_a_run() -> None:
    assert STEP.shell_complete(SimpleNamespace(params={}), None, "") == []  # type: ignore[arg-type]


def test_sizes_of_what_is_gone_are_none(project: Project) -> None:
    from bakeoff.cli.clean import _bytes

    (project.folder / "run/inner").mkdir(parents=True)
    before = _bytes(SimpleNamespace(root=project.folder / "run"))  # type: ignore[arg-type]
    (project.folder / "run/inner/a").write_text("xyz")
    assert _bytes(SimpleNamespace(root=project.folder / "run")) == before + 3  # type: ignore[arg-type]
    assert _bytes(SimpleNamespace(root=project.folder / "none")) == 0  # type: ignore[arg-type]


def test_a_run_under_way_is_counted_by_its_display_and_its_journal(project: Project) -> None:
    """What `watch` replays is what `run` showed."""
    project.write("looped", LOOPED)
    shown = [line.partition(":")[0] for line in project("run", "looped.yml", "--run-id", "l").err.splitlines()]
    replayed = [line.partition(":")[0] for line in project("watch", "l").err.splitlines()]
    assert replayed == shown
    until((project.folder / ".bakeoff/runs/l").exists)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_table_that_is_wider_than_a_narrow_terminal_is_stacked() -> None:
    rows, heads = [["1 *", "passed", "-"], ["2", "failed: " + "x" * 30, "9 s"]], ["attempt", "verdict", "time"]
    wide = [
        "attempt  verdict                                 time",
        "1 *      passed                                  -",
    ]
    assert table(rows, heads, columns=60)[:2] == table(rows, heads)[:2] == wide
    assert table(rows, heads, columns=40) == [
        "attempt 1 *", "  verdict: passed", "attempt 2", f"  verdict: failed: {'x' * 30}", "  time: 9 s",
    ]  # fmt: skip
    assert table(rows[:1], heads, columns=40) == ["attempt  verdict  time", "1 *      passed   -"]
