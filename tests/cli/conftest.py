from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.terminal import Terminal

SOURCE = str(Path(__file__).parents[2] / "src")
ARGV = [sys.executable, "-m", "bakeoff"]

HEAD = 'schema_version: "1.0"\nworkflow: {id: ID, name: "Name of ID", version: "1.0.0"}\n'


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("BAKEOFF", "NO_COLOR"))}
    return {**clean, "PYTHONPATH": SOURCE, "TERM": "xterm-256color", **more}


@dataclass
class Result:
    status: int
    out: str
    err: str


Command = Callable[..., Result]


@dataclass
class Project:
    """A folder with workflow files, and commands run in it: in this process where `here` can, else each in its own."""

    folder: Path
    here: Command | None = None

    def write(self, id_: str, body: str) -> Path:
        path = self.folder / f"{id_}.yml"
        path.write_text(HEAD.replace("ID", id_) + body)
        return path

    def __call__(self, *args: str, stdin: bytes = b"", **env: str) -> Result:
        if self.here is not None and not stdin and not env:
            with contextlib.chdir(self.folder):
                return self.here(*args)
        done = subprocess.run(
            [*ARGV, *args], cwd=self.folder, env=environment(**env), input=stdin, capture_output=True, timeout=60
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def begin(self, *args: str, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*ARGV, *args], cwd=self.folder, env=environment(**env), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def terminal(self, *args: str, **env: str) -> Terminal:
        return Terminal([*ARGV, *args], self.folder, environment(**env))


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """`clean` takes what nobody uses in any project: what other tests of this session left is none of these tests'."""
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path_factory.mktemp(name.lower())))


@pytest.fixture
def project(tmp_path: Path, command: Command) -> Project:
    return Project(tmp_path, command)


def until(true: Callable[[], bool], timeout: float = 60.0) -> None:
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


MIXED = r"""
inputs:
  who: {type: string, default: "w<script>alert(1)</script>"}
outputs: {said: {value: "{{ steps.say.output.stdout }}"}}
steps:
  - {id: say, type: shell, run: 'printf "hello\033[2J\377\n"'}
  - {id: bad, type: shell, run: "echo '<b>boom</b>' >&2; exit 3", continue_on_error: true,
     retry: {attempts: 2, delay: 0.01}}
  - id: fan
    type: fan-out
    items: "{{ [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] }}"
    max_concurrency: 4
    step: {id: it, type: shell, run: "echo item {{ item }}"}
  - {id: big, type: shell, run: "head -c 40000 /dev/zero | tr '\\0' x"}
  - {id: none, type: shell, run: "true", when: false}
  - {id: last, type: gate, message: "Go\x1b[2J on?", options: [approve, reject]}
"""
FAILING = """
steps:
  - {id: first, type: shell, run: "echo one"}
  - {id: second, type: shell, run: "echo no >&2; exit 7"}
"""
QUICK = """
steps:
  - {id: one, type: shell, run: "true"}
"""


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Runs that others read and nobody changes: `gated` waits, `failing` failed, `quick` is completed."""
    project = Project(tmp_path_factory.mktemp("sample"))
    project.write("mixed", MIXED)
    project.write("failing", FAILING)
    project.write("quick", QUICK)
    for name, run in (("mixed", "gated"), ("failing", "failing"), ("quick", "quick")):
        done = project("run", f"{name}.yml", "--run-id", run)
        assert done.status == (1 if run == "failing" else 0), done.err
    return project


@pytest.fixture
def here(sample: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(sample.folder)
    return sample


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """A command in this process: quicker, for those that run nothing."""
    import gc

    from bakeoff.cli.command_line import run_command_line

    def run(*args: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["bakeoff", *args])
        capfd.readouterr()
        try:
            status = run_command_line()
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 1
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Result(status, out, err)

    yield run
    gc.enable()
