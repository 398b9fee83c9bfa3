"""A job that is registered is a job of every command: none names those that come with bakeoff."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import anyio
import pytest

import bakeoff
from bakeoff.cli.command_line import run_command_line
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.jobs.registry import JOBS, JobEntry
from bakeoff.jobs.session import RunOptions, SessionOptions, in_session, new_run
from bakeoff.process.spawner import Spawner

NAMES = "|".join(JOBS)


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run of a job that is registered in this test alone; it ended without a result."""
    monkeypatch.setitem(JOBS, "echo", JobEntry("echo", "cli.echo_job", "nothing echoed"))
    monkeypatch.chdir(tmp_path)

    async def carry_out(run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        return Ending(RunStatus.COMPLETED, facts={"winner": None})

    async def make() -> str:
        folder, meta = new_run(RunStore(tmp_path), "e", "echo", "an echo", word="hello")
        await in_session(folder, carry_out, RunOptions(catch_signals=False), SessionOptions({"leaves": 1}), meta=meta)
        return folder.id

    return anyio.run(make)


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setattr(sys, "argv", ["bakeoff", *words])
    try:
        status = run_command_line()
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    found = capsys.readouterr()
    assert status == 0, found.err
    return found.out


def test_all_commands_know_it(
    echo: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown = said(monkeypatch, capsys, "show", echo)
    assert "nothing echoed" in shown
    assert "  echoed hello\n" in shown
    assert json.loads(said(monkeypatch, capsys, "show", echo, "--json"))["word"] == "hello"
    assert said(monkeypatch, capsys, "report", echo, "-o", "-") == "<html>hello"
    assert "nothing echoed" in said(monkeypatch, capsys, "runs")
    assert said(monkeypatch, capsys, "resume", echo, "-i", "a=b") == "echo e {'a': 'b'} None\n"
    assert "completed" in said(monkeypatch, capsys, "watch", echo)
    said(monkeypatch, capsys, "clean", echo, "--yes")
    assert not (tmp_path / ".bakeoff/runs/e").exists()


def test_no_command_compares_names_of_jobs() -> None:
    """Each job's own commands and displays may; what is for all runs may not."""
    top = Path(bakeoff.__file__).parent
    shared = ("apply", "clean", "diff", "ending", "picture", "report", "resume", "runs", "show", "watch")
    files = [f"cli/{name}.py" for name in shared] + ["report/words.py", "jobs/outcome.py"]
    named = re.compile(rf"job\b[^\n]*[=(\[] ?\(?[\"']({NAMES})[\"']")
    lines = [(file, line) for file in files for line in (top / file).read_text().splitlines()]
    assert [found for found in lines if named.search(found[1])] == []
