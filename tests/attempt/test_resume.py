"""Attempts whose coordinator is killed, cancelled or interrupted, and taken up again."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from attempt.conftest import ADD, FIX, FIXED, Lab
from bakeoff.engine.record import RunStatus
from crash.laboratory import Zygote

SOAK = os.environ.get("BAKEOFF_SOAK") == "1"

SCRIPT = f"""echo "# $BAKEOFF_ATTEMPT" >> calc.py
[ $BAKEOFF_ATTEMPT != 4 ] || {FIX}"""
"""Four attempts in two lanes with a repair each; only the repair of the second lane gets there."""

ARGS = (
    "attempt",
    "make add add",
    "--agent",
    "fake",
    "--run-id",
    "r",
    "--attempts",
    "2",
    "--repair",
    "1",
    "--check",
    FIXED,
)


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


def session(lab: Lab, zygote: Zygote, **crash: Any) -> int:
    """Begin the run, or go on with it; the exit status, -9 when it was killed."""
    begun = lab.run.journal.exists() and bool(lab.run.history().meta)
    if not begun and lab.run.root.exists():
        assert lab("clean", "r").status == 0
    argv = ["resume", "r"] if begun else list(ARGS)
    return zygote.call(
        {
            "cwd": str(lab.root),
            "argv": argv,
            "env": dict(os.environ),
            "stdout": str(lab.place / "stdout"),
            "stderr": str(lab.place / "stderr"),
            "crash": crash,
        }
    )


def ended(lab: Lab) -> dict[str, int]:
    """How often each attempt whose generation is on record was started."""
    if not lab.run.journal.exists():
        return {}
    records = lab.run.history().records
    made = [path for path, record in records.items() if record.final and path.endswith("/generate")]
    numbers = [path.rpartition("attempt:")[2].partition("/")[0] for path in made]
    return {number: lab.calls.count(number) for number in numbers}


def until(true: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.005)


def check_end(lab: Lab, before: str) -> None:
    history = lab.run.history()
    assert (history.status, history.ending["winner"]) == (RunStatus.COMPLETED, 4)
    assert lab.digest() == before
    until(lambda: lab.left() == [])
    assert lab.slots() == []
    assert not list(lab.place.glob("cache/bakeoff/projects/*/*.index*"))
    assert "a + b" in lab("diff", "r").out


def test_killed_at_journal_writes_no_generation_is_paid_twice(lab, zygote):
    lab.agent(SCRIPT)
    before = lab.digest()
    assert session(lab, zygote) == 0, (lab.place / "stderr").read_text()
    check_end(lab, before)
    assert sorted(lab.calls) == ["1", "2", "3", "4"]
    for number in itertools.count(1, 1 if SOAK else 7):
        for when in ("before", "after") if SOAK else (("before", "after")[number % 2],):
            lab("clean", "r")
            (lab.place / "calls").unlink(missing_ok=True)
            status = session(lab, zygote, at=number, when=when)
            if status == 0:
                assert number > 6
                return
            assert status == -signal.SIGKILL, (lab.place / "stderr").read_text()
            until(lambda: lab.left() == [])
            done = ended(lab)
            if lab.run.journal.exists() and lab.run.history().status is RunStatus.COMPLETED:
                check_end(lab, before)
                continue
            assert session(lab, zygote) == 0, (lab.place / "stderr").read_text()
            assert all(lab.calls.count(attempt) == count for attempt, count in done.items()), (number, when)
            check_end(lab, before)


def test_killed_again_and_again(lab, zygote):
    lab.agent(f"{SCRIPT}\nsleep 0.1")
    before = lab.digest()
    for number in range(8 if SOAK else 2):
        lab("clean", "r")
        for after in (0.15 + 0.08 * number, 0.3, 0.45, 0.6):
            done = ended(lab)
            status = session(lab, zygote, after=after)
            assert all(lab.calls.count(attempt) == count for attempt, count in done.items())
            if status == 0:
                break
        if status != 0:
            assert session(lab, zygote) == 0, (lab.place / "stderr").read_text()
        check_end(lab, before)


def test_unfinished_work_is_salvaged_after_a_kill(lab):
    lab.agent(
        f"echo half > half.txt; echo '# half' >> calc.py; touch {lab.place}/working;"
        f"[ -e {lab.place}/go ] || sleep 60; {FIX}"
    )
    before = lab.digest()
    process = lab.spawn(*ARGS[:6], "--check", FIXED)
    until((lab.place / "working").exists)
    process.kill()
    process.communicate()
    until(lambda: lab.left() == [])
    assert lab.slots()
    (row,) = [line for line in lab("show", "r").out.splitlines() if "unfinished" in line]
    assert row.split()[-1] == "-"  # nobody knows for how long it had worked
    assert lab("runs").status == 0
    (lab.place / "go").touch()
    said = lab("resume", "r", "--json")
    assert (said.status, said.json["winner"]) == (0, 1), said
    (saved,) = [oid for name, oid in lab.refs().items() if name.startswith("salvage/r/")]
    assert lab.content(saved, "half.txt") == "half\n"
    assert lab.content(saved, "calc.py") == ADD + "# half\n"
    assert lab.slots() == []
    assert lab.digest() == before


def test_clean_takes_the_slots_of_a_killed_run_and_saves_their_work(lab):
    lab.agent(f"echo half > half.txt; touch {lab.place}/working; sleep 60")
    process = lab.spawn(*ARGS[:6], "--check", FIXED)
    until((lab.place / "working").exists)
    process.kill()
    process.communicate()
    until(lambda: lab.left() == [])
    assert lab("clean", "r").status == 0
    assert lab.slots() == []
    assert [name for name in lab.refs() if name.startswith("salvage/r/")]


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "cancel"])
def test_stopped_in_order(lab, how):
    lab.agent(f"echo half > half.txt; touch {lab.place}/working; [ -e {lab.place}/go ] || sleep 60; {FIX}")
    process = lab.spawn(*ARGS[:6], "--check", FIXED)
    until((lab.place / "working").exists)
    if how == "cancel":
        assert lab("cancel", "r").status == 0
    else:
        process.send_signal(getattr(signal, how))
    out, err = process.communicate(timeout=60)
    assert process.returncode == {"SIGINT": 130, "SIGTERM": 143, "cancel": 1}[how], err
    assert "bakeoff resume r" in out + err
    assert lab.left() == []
    assert lab.slots() == []
    (saved,) = [oid for name, oid in lab.refs().items() if name.startswith("salvage/r/")]
    assert lab.content(saved, "half.txt") == "half\n"
    (lab.place / "go").touch()
    assert lab("resume", "r").status == 0


def test_a_resumed_run_starts_from_the_same_snapshot(lab):
    lab.agent(f"cat calc.py >> {lab.place}/seen; touch {lab.place}/working; [ -e {lab.place}/go ] || sleep 60; {FIX}")
    process = lab.spawn(*ARGS[:6], "--check", FIXED)
    until((lab.place / "working").exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    lab.write("calc.py", "# changed meanwhile\n" + ADD)
    (lab.place / "go").touch()
    assert lab("resume", "r").status == 0
    assert "meanwhile" not in (lab.place / "seen").read_text()
    assert lab("apply", "r").status == 0
    assert (lab.root / "calc.py").read_text() == "# changed meanwhile\n" + ADD.replace("-", "+")


def test_two_runs_at_once_keep_out_of_each_others_way(lab):
    lab.agent(
        f"touch {lab.place}/$BAKEOFF_SLOT.in;"
        f"while [ $(ls {lab.place} | grep -c '[.]in$') -lt 2 ]; do sleep 0.01; done;"
        f"{FIX}; echo $BAKEOFF_SLOT >> calc.py"
    )
    before = lab.digest()
    runs = [lab.spawn("attempt", "x", "--agent", "fake", "--check", FIXED, "--run-id", name) for name in ("a", "b")]
    for run in runs:
        _, err = run.communicate(timeout=60)
        assert run.returncode == 0, err
    assert lab("diff", "a").out != lab("diff", "b").out
    assert lab.digest() == before
    assert lab.slots() == []


def test_a_live_run_is_not_taken_up_twice(lab):
    lab.agent(f"touch {lab.place}/working; [ -e {lab.place}/go ] || sleep 60; {FIX}")
    process = lab.spawn(*ARGS[:6], "--check", FIXED)
    until((lab.place / "working").exists)
    assert "running" in lab("show", "r").out
    refused = lab("resume", "r")
    assert refused.status == 1
    assert "is being run by" in refused.err
    assert lab("clean", "r").status == 1
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
