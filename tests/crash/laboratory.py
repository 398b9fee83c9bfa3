"""Runs the mixed workflow in a project of its own, lets it die, resumes it, and looks at what ran when."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder
from bakeoff.report.normalise import normalised
from bakeoff.report.state import run_state

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KILLED = -9
RUN = "run"


class Zygote:
    """See `zygote`."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "zygote.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True
        )

    def call(self, request: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.communicate(timeout=60)


@dataclass
class Project:
    """A folder with the workflow, and the sessions of its one run."""

    root: Path
    zygote: Zygote
    sessions: int = 0

    @classmethod
    def make(cls, root: Path, zygote: Zygote) -> Project:
        root.mkdir()
        shutil.copy(HERE / "mixed.yml", root / "flow.yml")
        return cls(root, zygote)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.root / ".bakeoff" / "runs" / RUN)

    def session(self, **crash: Any) -> int:
        """Run, or resume what there is; the exit status, -9 when it was killed."""
        self.sessions += 1
        begun = self.folder.journal.exists() and bool(self.folder.history().meta)
        argv = ["resume", RUN, "--quiet"] if begun else ["run", "flow.yml", "--run-id", RUN, "-i", "verdict=approve"]
        if not begun and self.folder.root.exists():
            shutil.rmtree(self.folder.root)  # killed before the run was one
        return self.zygote.call(
            {
                "cwd": str(self.root),
                "argv": argv,
                "env": {"SESSION": str(self.sessions)},
                "stdout": str(self.root / "stdout"),
                "stderr": str(self.root / "stderr"),
                "crash": crash,
            }
        )

    def ran(self, session: int) -> list[str]:
        """The nodes whose commands a session started, one entry for each time."""
        trace = self.root / "trace"
        lines = trace.read_text().splitlines() if trace.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{session} ")]

    def committed(self) -> set[str]:
        """The nodes whose end is on disk and stands."""
        if not self.folder.journal.exists():
            return set()
        return {path for path, record in self.folder.history().records.items() if record.final}

    def completed(self) -> bool:
        """Whether it was over before it was killed."""
        return self.folder.journal.exists() and self.folder.history().status is RunStatus.COMPLETED

    def report(self) -> dict[str, Any]:
        return normalised(run_state(self.folder))

    def stderr(self) -> str:
        return (self.root / "stderr").read_text()


def alive(folder: RunFolder) -> list[int]:
    """The processes that carry the run's marker."""
    marker = b"BAKEOFF_RUN=" + os.fsencode(folder.root)
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait_until_gone(folder: RunFolder, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while left := alive(folder):
        assert time.monotonic() < end, f"processes {left} are alive {seconds} s after the kill"
        time.sleep(0.005)
