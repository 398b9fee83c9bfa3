"""A project with a slow function, and bakeoff run in it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff.cli.command_line import run_command_line

SLOW = '''\
"""Some numbers."""


def common(xs, ys):
    """Those of xs that ys has, too."""
    found = []
    for x in xs:
        if x in list(ys):
            found.append(x)
    return found
'''
FAST = SLOW.replace("    found = []\n", "    found = []\n    known = set(ys)\n").replace("in list(ys)", "in known")
WRONG = SLOW.replace("return found", "return found[:3]")
TEST = """\
import pytest
from numbers_ import common


@pytest.mark.parametrize("size", [0, 1, 5, 50, 300])
def test_common(size):
    xs, ys = list(range(size)), list(range(0, 2 * size, 3))
    assert common(xs, ys) == [x for x in xs if x % 3 == 0]
"""


@dataclass
class Shop:
    """A git work tree of a user."""

    root: Path
    home: Path
    monkeypatch: pytest.MonkeyPatch
    read: Callable[[], Any]

    def git(self, *args: str) -> str:
        words = ["git", "-c", "user.name=Some User", "-c", "user.email=user@example.org", *args]
        return subprocess.run(words, cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, path: str, text: str) -> str:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)
        return path

    def beside(self, name: str, text: str) -> str:
        """A file outside of the project."""
        (self.home / name).write_text(text)
        return str(self.home / name)

    def spawn(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "bakeoff", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
        return subprocess.Popen(words, cwd=self.root, **{**pipes, **more})

    def __call__(self, *args: str, status: int = 0) -> str:
        """Run a command in this process; what it says on standard error is `said`."""
        with self.monkeypatch.context() as patch:
            patch.chdir(self.root)
            patch.setattr(sys, "argv", ["bakeoff", *args])
            self.read()
            try:
                left = run_command_line()
            except SystemExit as leaving:
                left = leaving.code if isinstance(leaving.code, int) else 1
        out, self.said = self.read()
        assert left == status, f"{left}\n{out}\n{self.said}"
        return str(out)

    def optimize(self, *args: str, status: int = 0, inputs: str = "recorded") -> dict[str, Any]:
        """Run an optimisation; deriving inputs takes as long as all the rest, so whoever is about them says so."""
        asked = ("optimize", "numbers_.py:common", "--no-rules", "--json", "--seconds", "90", "--inputs", inputs)
        return dict(json.loads(self(*asked, *args, status=status)))

    def digest(self) -> str:
        """Names and bytes of all that is the user's."""
        found = hashlib.sha256()
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name != ".bakeoff")
            for name in sorted(names):
                found.update(os.path.join(folder, name).encode() + Path(folder, name).read_bytes())
        return found.hexdigest()


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shop:
    made = Shop(tmp_path / "shop", tmp_path, monkeypatch, capfd.readouterr)
    made.write("numbers_.py", SLOW)
    made.write("test_numbers.py", TEST)
    made.git("init", "-q")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made
