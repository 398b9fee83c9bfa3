"""A run that is completed without a result is told apart; what doctor ticks can be had; runs with a wrong clock go."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import jsonschema
import pytest

import bakeoff.cli.clean
from attempt.conftest import FIX, FIXED, Lab, lab
from bakeoff.cli.schema import output_schema
from bakeoff.engine.record import RunStatus
from bakeoff.jobs.job import outcome
from bakeoff.report.marks import IN_PART, WITHOUT

__all__ = ["lab"]

DAY = 86400.0


def findings(landed: list[str], out: list[str]) -> dict[str, object]:
    culprits = [{"ref": ref} for ref in out]
    return {"findings": {"landed": landed, "culprits": culprits, "conflicts": [], "preexisting": []}}


def plan(*landed: bool) -> dict[str, object]:
    states = {str(n): {"status": "completed", "landed": one} for n, one in enumerate(landed)}
    return {"plan": {"states": {**states, "out": {"status": "skipped", "landed": False}}}}


@pytest.mark.parametrize(
    ("job", "status", "facts", "found"),
    [
        ("attempt", RunStatus.COMPLETED, {"winner": None}, (WITHOUT, "nothing passed")),
        ("attempt", RunStatus.COMPLETED, {"winner": 2}, None),
        ("attempt", RunStatus.FAILED, {"winner": None}, None),
        ("optimize", RunStatus.COMPLETED, {"winner": None}, (WITHOUT, "nothing is faster")),
        ("merge", RunStatus.COMPLETED, findings(["a"], []), None),
        ("merge", RunStatus.COMPLETED, findings(["a"], ["b"]), (IN_PART, "1 of 2 landed")),
        ("merge", RunStatus.COMPLETED, findings([], ["b"]), (WITHOUT, "nothing landed")),
        ("plan", RunStatus.COMPLETED, plan(True, True), None),
        ("plan", RunStatus.COMPLETED, plan(True, False), (IN_PART, "1 of 2 landed")),
        ("plan", RunStatus.COMPLETED, plan(False, False), (WITHOUT, "nothing landed")),
        ("workflow", RunStatus.COMPLETED, {}, None),
        (None, None, {}, None),
    ],
)
def test_what_a_run_came_to(job, status, facts, found) -> None:
    assert outcome(job, status, facts) == found


def test_a_run_without_a_winner_has_no_tick(lab: Lab) -> None:
    lab.agent("exit 0")
    assert lab.attempt().status == 3
    head = lab("show", "r").out.splitlines()[0]
    assert head.startswith("○ run r of "), head
    assert head.endswith("completed, nothing passed")
    assert "completed, nothing passed" in lab("runs").out
    listed = lab("runs", "--json").json
    jsonschema.validate(listed, output_schema("runs"))
    assert listed["runs"][0]["outcome"] == "nothing passed"
    lab.agent(FIX)
    assert lab("attempt", "x", "--agent", "fake", "--check", FIXED, "--run-id", "s").status == 0
    assert lab("show", "s").out.startswith("✓ run s of ")
    assert lab("runs", "--json").json["runs"][0]["outcome"] is None


def test_doctor_ticks_no_place_that_a_run_refuses(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "✓ results: of attempts are kept in" in lab("doctor").out
    lab.agent(FIX)
    for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        with monkeypatch.context() as now:
            now.setenv(variable, "/proc/nowhere")
            said = lab("doctor")
            assert said.status == 1, said
            assert "✗ results: cannot be kept" in said.out
            assert "/proc/nowhere/bakeoff cannot be made" in said.out
            assert "/proc/nowhere/bakeoff cannot be made" in lab.attempt().err


def test_runs_that_are_dated_in_the_future(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.agent(FIX)
    assert lab.attempt().status == 0
    monkeypatch.setattr(bakeoff.cli.clean, "time", SimpleNamespace(time=lambda: time.time() - 30 * DAY))
    said = lab("clean", "--older-than", "7d")
    assert "kept r: it changed last at " in said.err, said
    assert "is still to come" in said.err
    assert "name it to have it removed" in said.err
    assert lab.run.root.exists()
    os.utime(lab.run.root, (time.time() - 33 * DAY,) * 2)
    said = lab("clean", "--older-than", "7d")
    assert lab.run.root.exists(), said
    assert "so the time of its files counts" not in said.err
    said = lab("clean", "--older-than", "2d")
    assert "is still to come (a clock was wrong), so the time of its files counts" in said.err, said
    assert not lab.run.root.exists()
