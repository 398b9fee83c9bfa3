from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bakeoff.settings import Settings, SlotSettings

KINDS = ("overlay", "repository", "worktree")


@dataclass
class Checkout:
    """A git work tree of a user."""

    root: Path

    def git(self, *args: str, status: int = 0, data: bytes | None = None) -> str:
        done = subprocess.run(["git", *args], cwd=self.root, capture_output=True, check=False, input=data)
        assert done.returncode == status, done.stderr.decode()
        return done.stdout.decode(errors="surrogateescape").strip()

    def write(self, path: str, text: str | bytes = "text\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def commit(self, message: str = "work") -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message, "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def digest(self) -> str:
        return digest(self.root)


def digest(root: Path) -> str:
    """Names, modes and bytes of all that is below `root`, its .git included."""
    found = hashlib.sha256()
    for folder, folders, names in os.walk(os.fsencode(root)):
        folders.sort()
        for name in sorted([*names, *folders]):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            found.update(os.path.relpath(path, os.fsencode(root)) + b" %o\0" % status.st_mode)
            if os.path.islink(path):
                found.update(os.readlink(path))
            elif os.path.isfile(path):
                found.update(Path(os.fsdecode(path)).read_bytes())
    return found.hexdigest()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a cache of the test's own; a git identity, and nobody's hooks."""
    place = tmp_path / "home"
    place.mkdir()
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (place / ".gitconfig").write_text(
        '[user]\n\tname = Some User\n\temail = user@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n'
    )
    return place


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., Checkout]:
    def make(name: str = "project", *init: str) -> Checkout:
        root = tmp_path / name
        root.mkdir()
        made = Checkout(root)
        made.git("init", "-q", *init)
        return made

    return make


@pytest.fixture
def project(checkout: Callable[..., Checkout]) -> Checkout:
    """A project with a commit, staged, unstaged and untracked changes, and ignored files."""
    made = checkout()
    made.write(".gitignore", "*.log\nbuild/\n")
    made.write("a.txt", "one\ntwo\n")
    made.write("src/pkg/__init__.py", "")
    made.write("src/pkg/mod.py", "VALUE = 1\n")
    made.write("docs/deep/page.md", "# page\n")
    made.write("tool.sh", "#!/bin/sh\necho tool\n").chmod(0o755)
    (made.root / "link").symlink_to("a.txt")
    made.commit("first")
    made.write("a.txt", "one\nchanged\n")
    made.write("staged.txt", "staged\n")
    made.git("add", "staged.txt")
    made.write("new/untracked.txt", "untracked\n")
    made.write("noise.log", "ignored\n")
    return made


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def settings(**slots: object) -> Settings:
    return Settings(slots=SlotSettings(**slots))  # type: ignore[arg-type]


def until(true: Callable[[], bool], timeout: float = 60.0) -> None:
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.005)


def sh(slot, script: str, status: int = 0, **env: str) -> str:
    """Run a shell script in a slot, as an agent would."""
    variables = {**os.environ, **env}
    for name, value in slot.env.items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    done = subprocess.run(
        [*slot.argv_prefix, "sh", "-ec", script], cwd=slot.cwd, env=variables, capture_output=True, timeout=60
    )
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout.decode(errors="surrogateescape")


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder that user 65534 reaches: not below pytest's own, which any other session closes to others again."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if os.geteuid() == 0:
            os.chown(place, 65534, 65534)
        yield place
