"""Content filters that hang while work is saved: whatever ends bakeoff, the work stays and no filter does."""

from __future__ import annotations

import signal
from pathlib import Path
from time import sleep

import pytest

from attempt.conftest import FIX, FIXED, Lab
from ending import ended, wait_until_ended
from workspace.conftest import until


@pytest.fixture
def hanging(lab: Lab) -> Lab:
    """A project with a filter that hangs while there is a file `hang`."""
    script = lab.place / "clean.sh"
    script.write_text(f"[ ! -e {lab.place}/hang ] || {{ echo $$ > {lab.place}/pid; exec sleep 600; }}\ntr a-z A-Z\n")
    lab.git("config", "filter.loud.clean", f"sh {script}")
    lab.git("config", "filter.loud.smudge", "tr A-Z a-z")
    lab.write(".gitattributes", "*.loud filter=loud\n")
    lab.write("x.loud", "text\n")
    lab.commit()
    return lab


def filter_of(lab: Lab) -> int:
    pid = lab.place / "pid"
    until(lambda: pid.exists() and pid.read_text().endswith("\n"), 60)
    return int(pid.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_also_the_saving_of_work(hanging: Lab, number: signal.Signals) -> None:
    hanging.agent(f"echo more >> x.loud; touch {hanging.place}/hang {hanging.place}/working; sleep 600")
    process = hanging.spawn("attempt", "x", "--agent", "fake", "--run-id", "r", "--check", FIXED)
    until((hanging.place / "working").exists, 60)
    process.send_signal(number)
    pid = filter_of(hanging)
    assert process.poll() is None
    until(lambda: process.send_signal(number) or sleep(0.5) or process.poll() is not None, 60)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "its work is saved when the run goes on, or by `bakeoff clean`" in said
    wait_until_ended(pid)
    assert hanging.left() == []
    (hanging.place / "hang").unlink()
    assert hanging("clean", "r").status == 0
    assert hanging.slots() == []
    (saved,) = [oid for name, oid in hanging.refs().items() if name.startswith("salvage/r/")]
    assert hanging.content(saved, "x.loud") == "TEXT\nMORE\n"


def test_a_filter_that_a_killed_run_left_is_ended_by_the_next_command(hanging: Lab) -> None:
    hanging.agent(f"{FIX}; echo more >> x.loud; touch {hanging.place}/hang")
    process = hanging.spawn("attempt", "x", "--agent", "fake", "--run-id", "r", "--check", FIXED)
    pid = filter_of(hanging)
    process.kill()
    process.communicate()
    assert not ended(pid)
    assert "a command that was killed had left behind" in hanging("runs").err
    wait_until_ended(pid)
    (hanging.place / "hang").unlink()
    assert hanging("resume", "r").status == 0
    assert Path(hanging.place / "calls").read_text().split() == ["1"]
