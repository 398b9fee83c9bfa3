"""Commands that misbehave, and people who interrupt, through `bakeoff run` as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.engine.store import RunFolder
from bakeoff.process import spawner
from bakeoff.process.proctable import process_table
from bakeoff.process.sweep import token_of
from crash.laboratory import alive, wait_until_gone
from ending import wait_until_ended
from flows import HEAD, Flow

ROOT = Path(__file__).parents[2]


class Command:
    """`bakeoff` commands in one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.started: list[subprocess.Popen[str]] = []

    def write(self, text: str) -> None:
        (self.root / "flow.yml").write_text(HEAD + text)

    def spawn(self, *argv: str, **more: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bakeoff", *argv],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.started.append(process)
        return process

    def call(self, *argv: str) -> tuple[int, str, str]:
        process = self.spawn(*argv)
        out, err = process.communicate(timeout=600)
        assert "Traceback" not in err, err
        return process.returncode, out, err

    def run(self, text: str) -> tuple[int, str, str]:
        self.write(text)
        return self.call("run", "flow.yml", "--run-id", "it", "--quiet")

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.root / ".bakeoff" / "runs" / "it")

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.call("show", "it", "--json")[1])
        return state

    def wait_for(self, name: str) -> None:
        """Until a command has made the file."""
        end = time.monotonic() + 60
        while not (self.root / name).exists():
            assert time.monotonic() < end, f"{name} was not made"
            time.sleep(0.005)


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    made = Command(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_once_it_ends_in_order_and_resumes(command: Command, number: int, status: int) -> None:
    command.write("""
steps:
  - {id: a, type: shell, run: echo a >> trace}
  - {id: b, type: shell, run: 'echo b >> trace; test -e again || { touch ready; sleep 60; }'}
""")
    process = command.spawn("run", "flow.yml", "--run-id", "it", "--quiet")
    command.wait_for("ready")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == status
    assert alive(command.folder) == []
    state = command.state()
    assert state["status"] == "paused"
    assert signal.Signals(number).name in state["error"]
    (command.root / "again").touch()
    assert command.call("resume", "it", "--quiet")[0] == 0
    assert (command.root / "trace").read_text().split() == ["a", "b", "b"]


def test_interrupted_twice_it_kills_at_once(command: Command) -> None:
    """The command ignores SIGTERM, so only the second Ctrl-C ends it before its grace time is over."""
    command.write("steps:\n  - {id: a, type: shell, run: \"trap '' TERM; touch ready; while :; do sleep 1; done\"}\n")
    (command.root / "bakeoff.toml").write_text("grace = 3600\n")
    process = command.spawn("run", "flow.yml", "--run-id", "it", "--quiet")
    command.wait_for("ready")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None, "it did not keep the grace time"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=600)
    assert process.returncode == 130
    assert alive(command.folder) == []
    assert command.state()["status"] == "paused"


def test_a_second_coordinator_is_refused_by_name(command: Command) -> None:
    command.write("steps:\n  - {id: a, type: shell, run: 'touch ready; sleep 60'}\n")
    process = command.spawn("run", "flow.yml", "--run-id", "it", "--quiet")
    command.wait_for("ready")
    for argv in (["resume", "it"], ["run", "flow.yml", "--run-id", "it"]):
        code, out, err = command.call(*argv)
        assert code == 1
        assert out == ""
        assert "it" in err
    assert f"process {process.pid}" in command.call("resume", "it")[2]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_descendants_that_hide_are_ended_with_the_timeout(command: Command) -> None:
    """One ignores TERM, one moved to another session, one was orphaned on purpose."""
    script = (
        "(trap '' TERM; while :; do sleep 1; done) & setsid sleep 300 & "
        "(setsid sh -c 'sleep 300 & sleep 300' &) ; echo partial; echo said >&2; sleep 300"
    )
    (command.root / "bakeoff.toml").write_text("grace = 0.2\n")
    code, _, _ = command.run(f'steps:\n  - {{id: a, type: shell, timeout: 2, run: "{script}"}}\n')
    assert code == 1
    assert alive(command.folder) == []
    step = command.state()["steps"]["a"]
    assert (step["output"]["stdout"], step["output"]["stderr"]) == ("partial\n", "said\n")
    assert step["kind"] == "timeout"
    assert step["error"] == "timed out after 2 s"


def test_a_daemon_that_holds_the_pipe_is_not_waited_for(command: Command) -> None:
    code, _, err = command.run("steps:\n  - {id: a, type: shell, run: 'setsid sleep 3600 & echo started'}\n")
    assert code == 0, err
    assert command.state()["steps"]["a"]["output"]["stdout"] == "started\n"
    wait_until_gone(command.folder)


def test_output_of_any_size_and_sort(command: Command) -> None:
    code, _, err = command.run("""
steps:
  - {id: line, type: shell, run: 'head -c 10000000 /dev/zero | tr "\\\\0" x; echo; echo end'}
  - {id: binary, type: shell, run: 'printf "a\\\\377\\\\000b"'}
  - {id: use, type: shell, run: 'true', when: "{{ steps.line.output.stdout | contains('end') }}"}
""")
    assert code == 0, err
    steps = command.state()["steps"]
    assert steps["line"]["output"]["stdout_bytes"] == 10_000_005
    assert len(steps["line"]["output"]["stdout"]) < 20_000
    assert Path(steps["line"]["output"]["stdout_file"]).stat().st_size == 10_000_005
    assert steps["binary"]["output"]["stdout"] == "a�\0b"
    assert steps["use"]["status"] == "completed"
    assert (command.folder.root / "journal.db").stat().st_size < 100_000


FULL = (
    "import os, errno; spawn, tries = os.posix_spawn, []\n"
    """
def posix_spawn(*given, **more):
    tries.append(1)
    if len(tries) <= {count}:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return spawn(*given, **more)
os.posix_spawn = posix_spawn
"""
)


@pytest.mark.parametrize("count", [3, 10_000])
def test_a_full_process_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Full for a moment: waited for. Full for good: the step fails with the system's reason; a resume does it."""
    monkeypatch.setattr(spawner, "RETRIES", (0.001,) * 5)
    start = spawner.START
    monkeypatch.setattr(spawner, "START", FULL.format(count=count) + start)
    flow = Flow(tmp_path)
    ending = flow.start("steps:\n  - {id: a, type: shell, run: echo fine}\n")
    if count > 5:
        assert ending.status == "failed"
        assert "Resource temporarily unavailable" in str(ending.error)
        assert flow.state["steps"]["a"]["kind"] == "spawn"
        monkeypatch.setattr(spawner, "START", start)
        ending = flow.resume()
    assert ending.status == "completed"
    assert flow.output("a")["stdout"] == "fine\n"


@pytest.mark.parametrize("times", [1, 2])
def test_a_stopped_supervisor_holds_no_interrupt_up(command: Command, times: int) -> None:
    """Interrupted once the run ends a bounded time after the grace time, interrupted again at once."""
    command.write("steps:\n  - {id: a, type: shell, run: 'setsid env -i sleep 3600 & touch ready; sleep 3600'}\n")
    (command.root / "bakeoff.toml").write_text("grace = 0.2\n" if times == 1 else "grace = 3600\n")
    process = command.spawn("run", "flow.yml", "--run-id", "it", "--quiet")
    command.wait_for("ready")
    below = [pid for pid, (parent, _) in process_table().items() if parent == process.pid]
    (supervisor,) = [pid for pid in below if token_of(pid) == str(command.folder.root)]
    os.kill(supervisor, signal.SIGSTOP)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    process.communicate(timeout=600)
    assert process.returncode == 130
    assert alive(command.folder) == []
    wait_until_ended(supervisor)
    assert command.state()["status"] == "paused"


@pytest.mark.parametrize("argv", [["runs"], ["show", "it", "--json"], ["--help"]])
def test_a_full_standard_output_is_one_clear_message(command: Command, argv: list[str]) -> None:
    assert command.run("steps:\n  - {id: a, type: shell, run: 'true'}\n")[0] == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bakeoff", *argv],
            cwd=command.root,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "error: what this command prints cannot be written: no space left on device\n"


def test_folders_that_are_no_runs_are_named_and_skipped(command: Command, tmp_path: Path) -> None:
    assert command.run("steps:\n  - {id: a, type: shell, run: 'true'}\n")[0] == 0
    runs = command.folder.root.parent
    for name in ("fifo", "folder"):
        (runs / name).mkdir()
    os.mkfifo(runs / "fifo" / "journal.db")
    (runs / "folder" / "journal.db").mkdir()
    (tmp_path / "far").mkdir()
    (runs / "link").symlink_to(tmp_path / "far")
    code, out, _ = command.call("runs")
    assert code == 0
    for words in ("it ", "completed", "fifo", "folder", "not a regular file", "symbolic link"):
        assert words in out
    for name in ("fifo", "folder", "link"):
        code, out, err = command.call("show", name)
        assert (code, out) == (1, "")
        assert err.count("\n") == 1
    code, _, err = command.call("clean", "--all", "--yes")
    assert code == 0
    assert "kept link: it is a symbolic link" in err
    assert [path.name for path in runs.iterdir()] == ["link"]
    assert list((tmp_path / "far").iterdir()) == []
    assert command.call("clean", "link")[0] == 1
