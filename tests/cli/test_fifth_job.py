"""A job that is registered is a job of every command: none names those that come with bakeoff."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest

import bakeoff
from bakeoff.cli.command_line import run_command_line
from bakeoff.cli.schema import names, output_schema
from bakeoff.jobs.registry import JOBS, JobEntry

NAMES = "|".join(JOBS)


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Says a command line where a fifth job is registered; returns what it prints."""
    commands = {"echo": ("cli.echo_job:command", "Say a word again.")}
    monkeypatch.setitem(JOBS, "echo", JobEntry("echo", "cli.echo_job", commands, "nothing echoed"))
    monkeypatch.delitem(sys.modules, "bakeoff.cli.schema", raising=False)  # it knows those that were there before
    monkeypatch.delitem(sys.modules, "bakeoff.cli.schema", raising=False)  # it reads the registry as it is imported
    monkeypatch.chdir(tmp_path)

    def said(*words: str, status: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["bakeoff", *words])
        try:
            left = run_command_line()
        except SystemExit as leaving:
            left = int(leaving.code or 0)
        found = capsys.readouterr()
        assert left == status, found.err
        return found.out

    return said


def test_all_commands_know_it(say, tmp_path: Path) -> None:
    assert "Say a word again." in say("--help")
    assert json.loads(say("echo", "hello", "--json", status=3)) == {
        "run_id": "e", "job": "echo", "status": "completed", "error": None, "word": "hello",
    }  # fmt: skip
    shown = say("show", "e")
    assert "nothing echoed" in shown
    assert "  echoed hello\n" in shown
    shown = json.loads(say("show", "e", "--json"))
    assert shown["word"] == "hello"
    jsonschema.validate(shown, output_schema("show"))
    assert "echo" in names()
    assert json.loads(say("schema", "--of", "echo"))["required"] == ["run_id", "word"]
    assert say("report", "e", "-o", "-") == "<html>hello"
    assert "nothing echoed" in say("runs")
    assert say("resume", "e", "-i", "word=more", "-q", status=3) == "run e echoed more\n"
    assert "completed" in say("watch", "e")
    say("clean", "e", "--yes")
    assert not (tmp_path / ".bakeoff/runs/e").exists()


def test_no_command_compares_names_of_jobs() -> None:
    """Each job's own commands may name it; what is for all runs may not, and the report knows of none."""
    top = Path(bakeoff.__file__).parent
    own = ("attempt", "compare", "optimize", "merge", "plan", "plan_goal", "plan_run", "plan_decompose", "plan_dry_run")
    shared = [file for file in (top / "cli").glob("*.py") if file.stem not in own]
    files = [*shared, *(top / "report").glob("*.py"), *(top / "jobs").glob("*.py")]
    named = re.compile(rf"job\b[^\n]*[=(\[] ?\(?[\"']({NAMES})[\"']")
    lines = [(file.name, line) for file in files if file.stem != "registry" for line in file.read_text().splitlines()]
    assert [found for found in lines if named.search(found[1])] == []
