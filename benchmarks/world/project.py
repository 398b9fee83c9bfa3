"""A real project as its contributors have it: a clone with an ignored environment in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import BAKEOFF
from benchmarks.world import node, python
from benchmarks.world.language import UNTESTED, Language, Unusable

COMMAND_SECONDS = 900
GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended: exit status, both outputs, seconds of wall time."""

    status: int
    out: str
    err: str
    seconds: float

    def json(self) -> Any:
        """What it printed, as JSON. Raises Unusable with its last words where it is none."""
        try:
            return json.loads(self.out)
        except ValueError:
            raise Unusable(f"status {self.status}, no JSON: {(self.err or self.out)[-300:]}") from None


@dataclass(frozen=True, slots=True)
class Project:
    """A clone that is ready to be tried.

    Attributes:
        top: its work tree, with `.venv` or `node_modules` in it, ignored.
        head: the commit it was cloned at.
        scratch: a folder beside it for what a row needs.
        environment: variables with the project's own programs first on the path, and a home of its own.
        note: what was left out when it was made.
        language: of its files and tests.
        tests: files and folders that stand for its suite; all of it where there are none.
    """

    top: Path
    head: str
    scratch: Path
    environment: dict[str, str]
    note: str
    language: Language
    tests: tuple[str, ...] = ()

    def run(self, argv: Sequence[str | Path], seconds: float = COMMAND_SECONDS, cwd: Path | None = None) -> Ended:
        """Run a command in the work tree. One that is not over in time has the exit status 124."""
        since = time.monotonic()
        process = subprocess.Popen(
            argv,
            cwd=cwd or self.top,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            out, err = _ended(process)
            return Ended(124, out, f"not over after {seconds:g} s: {err}", time.monotonic() - since)
        return Ended(process.returncode, out, err, time.monotonic() - since)

    def bakeoff(self, *words: str, seconds: float = COMMAND_SECONDS) -> Ended:
        """Run a command of bakeoff in the work tree."""
        return self.run([BAKEOFF, *words], seconds)

    def git(self, *words: str) -> str:
        """What git prints. Raises RuntimeError with its message."""
        done = self.run(["git", *words])
        if done.status:
            raise RuntimeError(f"git {' '.join(words[:3])}: {done.err.strip()[-300:]}")
        return done.out.strip()

    def content(self, commit: str, path: str) -> bytes:
        """Bytes of a file as a commit has it. Raises CalledProcessError where it has none."""
        words = ["git", "cat-file", "--filters", f"{commit}:{path}"]
        return subprocess.run(words, cwd=self.top, check=True, stdout=subprocess.PIPE).stdout

    def reset(self) -> None:
        """The work tree as it was cloned."""
        self.git("checkout", "--quiet", "--force", "--detach", self.head)
        self.git("clean", "--quiet", "-fd", "-e", ".venv", "-e", "node_modules")

    def settings(self, text: str) -> None:
        """Write `bakeoff.toml`, which this clone does not track; slots have what installing made, as bakeoff says."""
        folders = (".venv", "node_modules", "build", ".bakeoff")
        words = ["*.so", "*.py", *(f":(exclude){folder}" for folder in folders)]
        built = self.git("ls-files", "--others", "--ignored", "--exclude-standard", "--", *words).splitlines()
        slots = f"[slots]\ncopy = {json.dumps(built)}\n\n" if built else ""
        (self.top / "bakeoff.toml").write_text(slots + text)


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a command with all that it started in its session, and what it had printed."""
    for sent in (signal.SIGTERM, signal.SIGKILL):  # bakeoff ends what it has started elsewhere
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, sent)
            return process.communicate(timeout=GRACE_SECONDS)
    return "", ""


def make(source: Path, folder: Path, tests: tuple[str, ...] = ()) -> Project:
    """Clone `source` into `folder`, and install it there as contributors do.

    Raises Unusable where that cannot be done. What stands in `folder` from before is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    top, home, scratch = folder / folder.name, folder / "home", folder / "scratch"
    home.mkdir(parents=True)
    scratch.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")  # else a project without its own would be run by ours, further up
    programs = [str(top / ".venv/bin"), str(top / "node_modules/.bin")]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("BAKEOFF", "PYTHON", "GIT_"))},
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
        "VIRTUAL_ENV": str(top / ".venv"),
        "NO_COLOR": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "world"), ("EMAIL", "world@example.org"))},
    }  # fmt: skip
    bare = Project(top, "HEAD", scratch, environment, "", UNTESTED)
    if "filter=lfs" in bare.run(["git", "show", "HEAD:.gitattributes"], cwd=source).out:
        bare.run(["git", "lfs", "install", "--skip-repo"], cwd=home)  # into this home
    done = bare.run(["git", "clone", "--quiet", source.resolve(), top], cwd=home)
    if done.status:
        raise Unusable(f"cannot be cloned: {done.err.strip()[-200:]}")
    with (top / ".git/info/exclude").open("a") as exclude:
        exclude.write("\n.venv/\nnode_modules/\nbakeoff.toml\n.bakeoff/\n")
    (top / ".git/hooks").mkdir(exist_ok=True)
    note, language = _installed(bare)
    made = Project(top, bare.git("rev-parse", "HEAD"), scratch, environment, note, language, tests)
    made.settings("")
    return made


def _installed(bare: Project) -> tuple[str, Language]:
    """What could not be installed, and the language."""
    if python.is_python(bare.top):
        return python.install(bare), python.PYTHON
    if node.is_node(bare.top):
        return node.install(bare), node.language(bare.top)
    return "neither a Python project nor one of node: history alone", UNTESTED
