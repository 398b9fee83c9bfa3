"""An agent whose work fills the disk is paid once, whatever is full, and whoever looks at its slot meanwhile."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attempt.conftest import FIX, FIXED, Lab
from bakeoff.workspace.workspace import Workspace

FILL = "cat /dev/zero > {junk} 2>/dev/null; true"


@pytest.fixture
def disk(lab: Lab, mount_tmpfs: Callable[[Path, str], Path]) -> Path:
    """A small file system of its own."""
    return mount_tmpfs(lab.place / "disk", "8m")


def grow(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)


def used(lab: Lab) -> object:
    return lab("show", "r", "--json").json["usage"]


@pytest.mark.parametrize("between", ["", "another command"])
def test_slots_and_results(lab: Lab, disk: Path, between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(disk / name))
    lab.agent(f"{FIX}; {FILL.format(junk='junk')}")
    said = lab.attempt("--max-calls", "3")
    assert (said.status, len(lab.calls)) == (1, 1), said
    assert "no space is left on the disk" in said.out
    for _ in range(2):
        said = lab("resume", "r")
        assert (said.status, len(lab.calls)) == (1, 1), said
        assert "no space is left on the disk; make room where" in said.out
        assert used(lab) == {"calls": 1.0}
    grow(disk)
    if between:  # it saves what dead sessions left
        assert lab("clean", "--older-than", "1d").status == 0
    said = lab("resume", "r", "--json")
    assert (said.status, said.json["winner"], len(lab.calls)) == (0, 1, 1), said
    assert used(lab) == {"calls": 1.0}
    (view,) = said.json["attempts"]
    assert view["receipt"]["diff"]["files"] == 2
    assert lab.slots() == []


def test_transcript_and_journal(lab: Lab, disk: Path) -> None:
    """What the agent says goes on in memory, the journal has room of its own, and a check without room says nothing."""
    (lab.root / ".bakeoff").mkdir()
    subprocess.run(["mount", "--bind", disk, lab.root / ".bakeoff"], check=True)
    try:
        lab.agent(f"{FIX}; {FILL.format(junk=disk / 'junk')}")
        said = lab.attempt("--json", check=f"head -c 1000000 /dev/zero | tr '\\0' x; {FIXED}")
        assert (said.status, len(lab.calls)) == (1, 1), said
        assert "full" in said.err or "No space" in said.err + said.out
        (disk / "junk").unlink()
        said = lab("resume", "r", "--json")
        assert (said.status, said.json["winner"], len(lab.calls)) == (0, 1, 1), said
        assert said.json["attempts"][0]["receipt"]["text"] == "done\n"
    finally:
        subprocess.run(["umount", "-l", lab.root / ".bakeoff"], check=True)


def test_a_call_that_is_not_begun_counts_for_nothing(lab: Lab, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No slot is to be had on a full disk: whoever tries again and again spends no budget."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
    lab.agent(FIX)
    lab.settings()
    leased = Workspace.lease

    def full(self: Workspace, *more: Any) -> Any:
        subprocess.run(FILL.format(junk=disk / "junk"), shell=True, check=True)
        return leased(self, *more)

    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "lease", full)
        assert lab.attempt("--max-calls", "1", "--no-preflight").status == 1
        for _ in range(2):
            assert lab("resume", "r").status == 1
    assert (used(lab), lab.calls) == ({}, [])
    (disk / "junk").unlink()
    said = lab("resume", "r", "--json")
    assert (said.status, said.json["winner"]) == (0, 1), said


def test_a_disk_that_is_full_from_the_start(lab: Lab, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is named; that no overlay could be tried there says nothing of overlays."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
    lab.agent(FIX)
    subprocess.run(FILL.format(junk=disk / "junk"), shell=True, check=True)
    for command in (("attempt", "x", "--agent", "fake", "--run-id", "r", "--check", FIXED), ("resume", "r")):
        said = lab(*command)
        assert (said.status, lab.calls) == (1, []), said
        assert f"no space is left on the disk; make room where {disk}/bakeoff (slots) is" in said.out, said
        assert "overlay" not in said.err + said.out
    (disk / "junk").unlink()
    assert lab("resume", "r").status == 0


def test_work_that_the_disk_cut_off_is_said_to_be_so(lab: Lab, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent ends as if all were well, and what it made is judged: a person has to know why it failed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
    lab.agent(f"echo 1 > new; {FILL.format(junk=disk / 'junk')}")
    said = lab.attempt(check="false")
    assert lab.calls == ["1"]
    (disk / "junk").unlink()
    if said.status == 1:
        assert lab("resume", "r").status == 3
    assert f"attempt 1: no space was left in {disk}/bakeoff" in lab("show", "r").out
