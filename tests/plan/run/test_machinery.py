"""Failures of what a plan itself needs: they are no verdicts on a subplan, and a resumed run makes it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from attempt.test_machinery import kill_supervisor
from attempt.test_resume import until
from bakeoff.process.proctable import process_table
from bakeoff.workspace.errors import NoSpaceError, SlotError
from bakeoff.workspace.shared_workspaces import Workspaces
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import Workspace
from plan.run.conftest import states


def three(plans, wait: str = ":"):
    return [
        plans.part("a", "echo new-a > a/x.txt"),
        plans.part("b", f"echo new-b > b/x.txt; {wait}"),
        plans.part("c", "cat b/x.txt > c/x.txt", after=["b"]),
    ]


def goes_on(plans) -> None:
    """A resumed run has all of it."""
    said = plans.again("resume", "r")
    assert said.status == 0, said
    assert set(states(said.json).values()) == {"landed"}
    assert plans.result("c/x.txt") == "new-b\n"
    assert plans.lab.left() == []


@pytest.mark.parametrize("where", ["agent", "check"])
def test_a_supervisor_that_is_killed_is_no_verdict(plans, where):
    lab = plans.lab
    wait = f"[ -e {lab.place}/go ] || {{ touch {lab.place}/begun; sleep 600; }}"
    if where == "check":
        plans.checks = f"if [ $(cat b/x.txt) = new-b ]; then {wait}; fi"
    plans.write(three(plans, wait if where == "agent" else ":"))
    process = lab.spawn("plan", "run", str(lab.place / "plan.yml"), "--run-id", "r")
    until(lambda: (lab.place / "begun").exists())
    kill_supervisor(lab, process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "go on with: bakeoff resume r" in err + out
    (lab.place / "go").touch()
    goes_on(plans)
    assert Counter(plans.parts)["c"] == 1
    assert where == "agent" or Counter(plans.parts)["b"] == 1


@pytest.mark.parametrize("failure", [NoSpaceError("git: no space is left"), OSError(28, "No space left on device")])
def test_a_full_disk_is_no_verdict(plans, failure, monkeypatch):
    commit = Slot.commit

    async def full(self: Slot, name: str, message: str | None = None) -> object:
        if name.startswith("b-"):
            raise failure
        return await commit(self, name, message)

    with monkeypatch.context() as patched:
        patched.setattr(Slot, "commit", full)
        shown = plans.run(three(plans), status=1)
    assert "space" in shown["error"]
    assert shown["status"] == "failed"
    assert states(shown)["c"] == "pending"
    goes_on(plans)
    assert Counter(plans.parts) == {"a": 1, "b": 1, "c": 1}  # its agent had ended, and what it made was kept


def test_that_no_slot_can_be_had_is_no_verdict(plans, monkeypatch):
    lease = Workspace.lease
    leased: list[int] = []

    def none_left(self: Workspace, *args: object) -> object:
        leased.append(1)
        if len(leased) > 2:
            raise SlotError("no slot can be made")
        return lease(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "lease", none_left)
        shown = plans.run(three(plans), status=1)
    assert "no slot can be made" in shown["error"]
    goes_on(plans)


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (SlotError("no slot here"), "failed"),
        (OSError(28, "No space left on device"), "failed"),
        (OSError(5, "I/O"), None),
    ],
)
def test_a_workspace_that_cannot_be_opened(plans, failure, status, monkeypatch):
    using = Workspaces.using
    used: list[int] = []

    def closed(self: Workspaces, *args: object, **more: object) -> object:
        used.append(1)
        if len(used) == 4:  # the run's own, that of a, that of b
            raise failure
        return using(self, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Workspaces, "using", closed)
        shown = plans.run(three(plans), status=3 if status is None else 1)
    if status is None:  # nobody knows what it is: of this one alone, as far as can be told
        assert states(shown) == {"a": "landed", "b": "landed", "c": "failed"}
        return
    assert shown["status"] == status
    assert states(shown)["c"] == "pending"
    goes_on(plans)
    assert Counter(plans.parts) == {"a": 1, "b": 1, "c": 1}


def holders() -> list[int]:
    """The processes below this one that hold mounts."""
    table = process_table()
    found = []
    for pid, (parent, _) in table.items():
        try:
            held = b"mount_holder" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if held and parent == os.getpid():
            found.append(pid)
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/mnt"), reason="holders are Linux's")
def test_a_slot_that_is_taken_away_is_no_verdict(plans, monkeypatch):
    if "overlay" not in plans.lab("doctor").out:
        pytest.skip("no overlay slots here")
    check_out = Slot.check_out
    killed: list[int] = []

    async def taken(self: Slot, commit: str) -> None:
        if not killed and self.holder:
            killed.extend(holders())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            until(lambda: not self.outside.is_dir())
        await check_out(self, commit)

    with monkeypatch.context() as patched:
        patched.setattr(Slot, "check_out", taken)
        shown = plans.run(three(plans), status=1)
    assert killed
    assert shown["status"] == "failed"
    assert "failed" not in states(shown).values()
    goes_on(plans)


@pytest.mark.parametrize(
    "said", ["Error: 401 Unauthorized, please log in", "error: 429 usage limit reached, try again in 5 h"]
)
def test_an_agent_that_can_answer_nobody_stops_the_plan_and_a_resumed_run_asks_again(plans, said):
    lab = plans.lab
    lab.settings()
    out = f"[ -e {lab.place}/in ] || {{ echo '{said}' >&2; exit 1; }}"
    shown = plans.run(three(plans, out), status=1)
    assert "b" in shown["error"]
    assert states(shown)["c"] == "pending"
    (lab.place / "in").touch()
    goes_on(plans)
    assert Counter(plans.parts) == {"a": 1, "b": 2, "c": 1}
