"""Merges whose coordinator is killed, and taken up again: the same tip, and no test run that ended is run again."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from bakeoff.engine.record import RunStatus
from crash.laboratory import Zygote

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"
REFS = [f"r{number}" for number in range(1, 5)]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


def session(project, zygote, check: str, **crash: Any) -> int:
    """Begin the run, or go on with it; the exit status, -9 when it was killed."""
    lab = project.lab
    begun = lab.run.journal.exists() and bool(lab.run.history().meta)
    if not begun and lab.run.root.exists():
        assert lab("clean", "r").status == 0
    merge = ["merge", *REFS, "--check", check, "--sandbox", "none", "--run-id", "r", "--json"]
    return zygote.call(
        {
            "cwd": str(lab.root),
            "argv": ["resume", "r", "--json"] if begun else merge,
            "env": dict(os.environ),
            "stdout": str(lab.place / "stdout"),
            "stderr": str(lab.place / "stderr"),
            "crash": crash,
        }
    )


def said(project) -> str:
    return (project.lab.place / "stderr").read_text()


def until(true: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.005)


def checks(project) -> set[str]:
    """The checks whose verdict is on record."""
    if not project.lab.run.journal.exists():
        return set()
    return {path for path, record in project.lab.run.history().records.items() if record.final}


@pytest.fixture
def pair(project):
    """Four branches of which the fourth does not go together with the second."""
    special = {"r2": {"def-f": None}, "r4": {"calls-f": "x\n"}}
    for number, ref in enumerate(REFS, 1):
        project.branch(ref, {f"m{number}": "x\n", **special.get(ref, {})})
    return project


def test_killed_at_journal_writes(pair, zygote):
    lab, check = pair.lab, "sh check.sh"
    before = lab.digest()
    assert session(pair, zygote, check) == 3, said(pair)
    whole = lab.run.history().ending["findings"]
    assert [one["ref"] for one in whole["culprits"]] == ["r4"]
    all_runs, all_checks = len(pair.runs), checks(pair)
    assert all_runs == len(all_checks)
    for number in itertools.count(2, 1 if SOAK else 14):
        for when in ("before", "after") if SOAK else (("before", "after")[number % 2],):
            lab("clean", "r")
            (lab.place / "runs").unlink()
            status = session(pair, zygote, check, at=number, when=when)
            if status == 3:
                assert number > 10
                return
            assert status == -signal.SIGKILL, said(pair)
            until(lambda: lab.left() == [])
            done, ran = checks(pair), len(pair.runs) if (lab.place / "runs").exists() else 0
            if lab.run.journal.exists() and lab.run.history().status is RunStatus.COMPLETED:
                continue
            assert session(pair, zygote, check) == 3, said(pair)
            found = lab.run.history().ending["findings"]
            # The tip's commits name the run; the run is the same, so the tip is.
            assert found == whole
            assert lab.refs()["r/tip"] == whole["tip"]
            assert len(pair.runs) - ran == all_runs - len(done), (number, when)
            assert checks(pair) == all_checks
            assert lab.digest() == before
            assert lab.slots() == []


def test_killed_again_and_again_in_the_middle_of_checks(pair, zygote):
    check = "sleep 0.1; sh check.sh"
    for number in range(6 if SOAK else 1):
        pair.lab("clean", "r")
        for after in (0.3 + 0.1 * number, 0.6):
            done = checks(pair)
            status = session(pair, zygote, check, after=after)
            assert done <= checks(pair)
            if status == 3:
                break
        if status != 3:
            assert session(pair, zygote, check) == 3, said(pair)
        found = pair.lab.run.history().ending["findings"]
        assert (found["landed"], [one["with"] for one in found["culprits"]]) == (["r1", "r2", "r3"], ["r2"])
        until(lambda: pair.lab.left() == [])
        assert pair.lab.slots() == []
