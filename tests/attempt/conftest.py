"""A project with fake agents: shell scripts that are told their attempt's number, and count how often they ran."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli.command_line import run_command_line
from bakeoff.engine.store import RunFolder

ADD = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
FIX = "sed -i 's/a - b/a + b/' calc.py"
FIXED = "grep -q 'a + b' calc.py"


@dataclass
class CallCheckpoint:
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    def __str__(self) -> str:
        return f"exit {self.status}\n{self.out}\n--\n{self.err}"


@dataclass
class Lab:
    """A git work tree of a user, and bakeoff run in it."""

    root: Path
    place: Path
    read: Callable[[], Any]
    monkeypatch: pytest.MonkeyPatch
    agents: dict[str, str] = field(default_factory=dict)

    @property
    def writes(self) -> list[str]:
        return [str(self.place)]

    def git(self, *args: str, status: int = 0) -> str:
        done = subprocess.run(["git", *args], cwd=self.root, capture_output=True, check=False)
        assert done.returncode == status, done.stderr.decode()
        return done.stdout.decode().strip()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str = "work") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD")

    @property
    def calls(self) -> list[str]:
        """A line for each time that an agent was started: its attempt's number."""
        file = self.place / "calls"
        return file.read_text().split() if file.exists() else []

    def agent(self, script: str, name: str = "fake", more: str = "", say: str = "echo done") -> None:
        """Define an agent: its script runs in the slot with the prompt as $1, and the session, if any, as $2.

        It may write in the test's folder, so that tests can see what it does and tell it when.
        """
        file = self.place / f"{name}.sh"
        file.write_text(f'echo "$BAKEOFF_ATTEMPT" >> {self.place}/calls\n{script}\n{say}\n')
        argv = json.dumps(["sh", str(file), "{prompt}", ["{session}"]])
        self.agents[name] = f"[agents.{name}]\nargv = {argv}\nwrites = {json.dumps(self.writes)}\n{more}\n"
        self.settings()

    def settings(self, text: str = "") -> None:
        """Settings stand outside of what git sees, so that the user's tree does not change by them."""
        (self.root / "bakeoff.toml").write_text(text + "\n" + "".join(self.agents.values()))

    def __call__(self, *args: str) -> CallCheckpoint:
        """Run a command in this process."""
        self.monkeypatch.setattr(sys, "argv", ["bakeoff", *args])
        self.read()
        try:
            status = run_command_line()
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 1
        found = self.read()
        return CallCheckpoint(status, found.out, found.err)

    def attempt(self, *args: str, task: str = "make add add", check: str | None = FIXED) -> CallCheckpoint:
        checks = [] if check is None else ["--check", check]
        return self("attempt", task, "--agent", "fake", "--run-id", "r", *checks, *args)

    def spawn(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        """Run a command as a process of its own."""
        argv = [sys.executable, "-m", "bakeoff", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(argv, cwd=self.root, **{**pipes, **more})

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.root / ".bakeoff" / "runs" / "r")

    def digest(self) -> str:
        """Names, modes and bytes of all that is the user's."""
        found = hashlib.sha256()
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name != ".bakeoff")
            for name in sorted([*names, *folders]):
                path = os.path.join(folder, name)
                found.update(os.path.relpath(path, self.root).encode() + b" %o\0" % os.lstat(path).st_mode)
                if os.path.islink(path):
                    found.update(os.readlink(path).encode())
                elif os.path.isfile(path):
                    found.update(Path(path).read_bytes())
        return found.hexdigest()

    def refs(self) -> dict[str, str]:
        """The refs of bakeoff's repository, but for snapshots."""
        (repository,) = self.place.glob("data/bakeoff/projects/*/repository.git")
        out = subprocess.run(
            ["git", "--git-dir", str(repository), "for-each-ref", "--format=%(refname) %(objectname)"],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        found = dict(line.split(" ") for line in out.splitlines())
        return {name.removeprefix("refs/bakeoff/"): oid for name, oid in found.items() if "/snapshots/" not in name}

    def content(self, oid: str, path: str) -> str:
        (repository,) = self.place.glob("data/bakeoff/projects/*/repository.git")
        argv = ["git", "--git-dir", str(repository), "show", f"{oid}:{path}"]
        return subprocess.run(argv, capture_output=True, check=True, text=True).stdout

    def left(self) -> list[int]:
        """Processes that carry a marker of this project's runs."""
        mark = f"BAKEOFF_RUN={self.root}".encode()
        return [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and mark in _environ(entry)
        ]

    def slots(self) -> list[str]:
        """Slots on disk."""
        return [path.name for path in self.place.glob("cache/bakeoff/projects/*/slots/*")]


def _environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


CONFIG = "[user]\n\tname = U\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n"


def first_project(folder: Path) -> Path:
    """The work tree that every lab begins with, made once below `folder` and copied: that takes one git, not four."""
    home, root = folder / "first-home", folder / "first-project"
    if root.exists():
        return root
    home.mkdir()
    root.mkdir()
    (home / ".gitconfig").write_text(CONFIG)
    files = {"calc.py": ADD, "tests/test_calc.py": TEST, ".gitignore": "bakeoff.toml\n__pycache__/\n.pytest_cache/\n"}
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=root, env={**os.environ, "HOME": str(home)}, check=True)
    return root


@pytest.fixture
def lab(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Lab:
    for name in [name for name in os.environ if name.startswith(("GIT_", "BAKEOFF_", "SPECKIT_"))]:
        monkeypatch.delenv(name)
    home, root = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (home / ".gitconfig").write_text(CONFIG)
    shutil.copytree(first_project(tmp_path_factory.getbasetemp()), root, symlinks=True)
    made = Lab(root, tmp_path, capfd.readouterr, monkeypatch)
    made.git("update-index", "-q", "--refresh")
    monkeypatch.chdir(root)
    return made
