"""Content filters that hang while work is saved: whatever ends bakeoff, the work stays and no filter does."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from time import sleep

import pytest

from attempt.conftest import FIX, FIXED, Lab
from bakeoff.engine import slow
from bakeoff.workspace.filters import slow_filters
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


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak(only=True))])
def test_the_second_signal_ends_also_the_saving_of_work(hanging: Lab, number: signal.Signals) -> None:
    hanging.agent(f"echo more >> x.loud; touch {hanging.place}/hang {hanging.place}/working; sleep 600")
    process = hanging.spawn("attempt", "x", "--agent", "fake", "--run-id", "r", "--check", FIXED)
    until((hanging.place / "working").exists, 60)
    process.send_signal(number)
    pid = filter_of(hanging)
    assert process.poll() is None
    until(lambda: process.send_signal(number) or sleep(0.5) or process.poll() is not None, 60)
    _, said = process.communicate(timeout=60)
    # One signal more may come when Python's own handlers are back.
    assert process.returncode in (128 + number, -number)
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


def left_behind(lab: Lab) -> str:
    """A dead slot whose work goes through the filter, which hangs from now on; its id."""
    lab.agent(f"{FIX}; echo more >> x.loud; touch {lab.place}/hang")
    process = lab.spawn("attempt", "x", "--agent", "fake", "--run-id", "r", "--check", FIXED)
    pid = filter_of(lab)
    process.kill()
    process.communicate()
    lab("runs")  # ends what the killed run left
    wait_until_ended(pid)
    (lab.place / "pid").unlink()
    (slot,) = (name for name in lab.slots() if not name.endswith(".lock"))
    return slot


@pytest.mark.parametrize("command", [("clean", "-y"), ("resume", "r")])
def test_what_is_waited_for_is_said(hanging: Lab, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    """The filter goes on when that has been said, and not before."""
    slot = left_behind(hanging)
    said: list[str] = []
    original = slow_filters.waiting_for

    def waiting() -> str | None:
        filter_of(hanging)
        while "sleep 600" not in (text := original() or ""):  # the shell is about to become it
            time.sleep(0.01)
        said.append(text)
        os.kill(filter_of(hanging), signal.SIGTERM)
        (hanging.place / "hang").unlink()
        return said[-1]

    monkeypatch.setattr(slow, "SLOW", 0.0)
    monkeypatch.setattr(slow_filters, "waiting_for", lambda: said[0] if said else waiting())
    shown = hanging(*command).err
    assert said
    assert "sleep 600" in said[0]
    assert f"saving the work of slot {slot}, whose owner died, has taken 0 s, for `sleep 600`" in shown
    assert f"`bakeoff clean --discard {slot}` gives it up" in shown


def test_a_slot_is_given_up_without_its_filter(hanging: Lab) -> None:
    slot = left_behind(hanging)
    done = hanging("clean", "--discard", slot)
    assert done.status == 0, done
    assert hanging.slots() == []
    assert not (hanging.place / "pid").exists()
