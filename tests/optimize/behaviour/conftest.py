from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.behaviour import Behaviour, open_behaviour
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.target import parse_target
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.workspace import Workspace, open_workspace


@pytest.fixture(params=["asyncio"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@dataclass
class Judge:
    """Judges candidates for one function of one project."""

    workspace: Workspace
    behaviour: Behaviour
    baseline: Baseline

    async def __call__(self, source: str | bytes, path: str | None = None, **more: bytes | None) -> Judgement:
        content = source if isinstance(source, bytes) else source.encode()
        files: dict[str, bytes | None] = {path or str(self.baseline.target.path): content, **more}
        async with self.workspace.lease() as slot:
            slot.disposable = True
            return await self.behaviour.judge(slot, self.baseline, Candidate("test", files))


def write_project(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    identity = ["-c", "user.name=Some User", "-c", "user.email=user@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@asynccontextmanager
async def judges(
    root: Path, files: Mapping[str, str], *, slots: int = 2, kind: str = "auto", **options: object
) -> AsyncIterator[Callable[[str], Awaitable[Judge]]]:
    """A project, and what judges candidates for the functions of it: on recorded calls, if nothing else is said."""
    if not (root / ".git").exists():
        root.mkdir(exist_ok=True)
        write_project(root, files)
    options.setdefault("floor", 3.0)
    options.setdefault("inputs", "recorded")
    settings = Settings(slots=SlotSettings(kind=kind))
    chosen = BehaviourOptions(**options)  # type: ignore[arg-type]
    async with open_workspace(root, settings, "run", slots=slots) as workspace, open_behaviour(chosen) as behaviour:

        async def judge_of(target: str) -> Judge:
            async with workspace.lease() as slot, workspace.lease_free() as other:
                both = [slot] if other is None else [slot, other]
                for each in both:
                    each.disposable = True
                return Judge(workspace, behaviour, await behaviour.prepare(both, parse_target(target)))

        yield judge_of


@asynccontextmanager
async def judging(root: Path, files: Mapping[str, str], target: str, **options: Any) -> AsyncIterator[Judge]:
    """The same for one function."""
    async with judges(root, files, **options) as judge_of:
        yield await judge_of(target)


@pytest.fixture
def leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Servers, and what they forked, that this test has started and that are still there."""
    mark = f"LC_TEST={tmp_path}"  # sandboxes pass such variables on
    monkeypatch.setenv(*mark.split("=", 1))

    def look() -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                variables = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"_bakeoff_inside" in words and os.fsencode(mark) in variables:
                found.append(process.name)
        return found

    return look
