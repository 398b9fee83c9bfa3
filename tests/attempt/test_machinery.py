"""Failures of what bakeoff itself needs: they are no verdicts, and a resumed run does again what they cut off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attempt.conftest import FIX, FIXED, Lab
from attempt.test_resume import until
from bakeoff.process.proctable import process_table
from bakeoff.process.sweep import token_of
from bakeoff.workspace.errors import NoSpaceError, SlotError
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import Workspace


def kill_supervisor(lab: Lab, process: subprocess.Popen[str]) -> None:
    below = [pid for pid, (parent, _) in process_table().items() if parent == process.pid]
    (supervisor,) = [pid for pid in below if token_of(pid) == str(lab.run.root)]
    os.kill(supervisor, signal.SIGKILL)


@pytest.mark.parametrize("where", ["preflight", "agent", "check"])
def test_a_supervisor_that_is_killed_is_no_verdict(lab: Lab, where: str) -> None:
    wait = f"[ -e {lab.place}/go ] || {{ touch {lab.place}/begun; sleep 600; }}"
    lab.agent(f"{FIX}; {wait}" if where == "agent" else FIX)
    lab.settings()
    check = FIXED if where == "agent" else f"{wait}; {FIXED}"
    open_ = ["--sandbox=none", "--agent-sandbox=none", *(["--no-preflight"] if where == "check" else [])]
    process = lab.spawn("attempt", "fix", "--agent", "fake", "--run-id", "r", "--check", check, *open_)
    until(lambda: (lab.place / "begun").exists())
    kill_supervisor(lab, process)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "go on with: bakeoff resume r" in err + _
    (lab.place / "go").touch()
    said = lab("resume", "r", "--json")
    assert said.status == 0, said
    assert said.json["winner"] == 1
    assert len(lab.calls) == (2 if where == "agent" else 1)
    assert lab.left() == []


@pytest.mark.parametrize("failure", [NoSpaceError("git: no space is left"), OSError(28, "No space left on device")])
def test_a_full_disk_is_no_verdict(lab: Lab, failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.agent(FIX)
    lab.settings()

    async def full(self: Slot, *args: object) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(Slot, "commit", full)
        said = lab.attempt()
    assert said.status == 1
    assert "space" in said.err
    if isinstance(failure, OSError):  # which names no file
        assert f"make room where the project, {lab.place}/cache/bakeoff (slots)" in said.err
    said = lab("resume", "r", "--json")
    assert said.json["winner"] == 1
    assert said.json["usage"]["calls"] == 1
    assert len(lab.calls) == 1  # it had ended well, and its work was kept as soon as there was room


def test_that_no_slot_can_be_made_is_no_verdict(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.agent(FIX)
    lab.settings()
    lease = Workspace.lease
    leased: list[int] = []

    def none_left(self: Workspace, *args: object) -> object:
        leased.append(1)
        if len(leased) > 1:
            raise SlotError("no slot can be made")
        return lease(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "lease", none_left)
        assert lab.attempt().status == 1
    assert lab("resume", "r", "--json").json["winner"] == 1
    assert len(lab.calls) == 1


@pytest.mark.parametrize(
    "name",
    [":(exclude)x", *(pytest.param(name, marks=pytest.mark.soak(only=True)) for name in (":!q", ":(glob)x", ":y"))],
)
def test_files_may_be_called_like_the_magic_of_git(lab: Lab, name: str) -> None:
    lab.agent(f"{FIX}; echo 1 > '{name}'")
    lab.settings()
    said = lab.attempt("--apply")
    assert said.status == 0, said
    assert (lab.root / name).read_text() == "1\n"


@pytest.mark.parametrize(
    "hiding",
    ["{} | tail -3", *(pytest.param(how, marks=pytest.mark.soak(only=True)) for how in ("{} || true", "{}; echo ok"))],
)
def test_a_report_of_failed_tests_is_believed_before_the_exit_status(lab: Lab, hiding: str) -> None:
    lab.agent("echo x > notes.txt")
    lab.settings()
    said = lab.attempt("--json", check=hiding.format("python -m pytest -q"))
    assert said.status == 3, said
    (attempt,) = said.json["attempts"]
    assert "exit status 0, but 1 of 1 tests failed" in json.dumps(attempt)


def test_code_that_ends_the_tests_with_status_0_does_not_pass(lab: Lab) -> None:
    text = "import atexit, os\\natexit.register(lambda: os._exit(0))\\ndef add(a, b): return 1\\n"
    lab.agent(f"printf '{text}' > calc.py")
    lab.settings()
    assert lab.attempt(check="python -m pytest -q").status == 3


@pytest.mark.parametrize("amount", ["0", "nan", "inf", "-1"])
def test_a_ceiling_that_is_no_money_is_refused(lab: Lab, amount: str) -> None:
    lab.agent(FIX)
    lab.settings()
    assert lab.attempt("--max-cost", amount).status == 2
    assert lab.calls == []
    assert not lab.run.root.exists()


def test_a_branch_that_cannot_be_made_is_said_before_anything_is_paid(lab: Lab) -> None:
    lab.agent(FIX)
    lab.settings()
    lab.git("branch", "taken")
    for name, said in (("taken", "has a branch taken already"), ("a..b", "cannot be the name of a branch")):
        refused = lab.attempt("--branch", name)
        assert (refused.status, refused.out) == (1, "")
        assert said in refused.err
    assert lab.calls == []
    assert not lab.run.root.exists()


SKIPS = "import pytest\\ndef add(a, b): pytest.skip()\\n"


def test_tests_that_run_on_the_snapshot_may_not_be_left_out(lab: Lab) -> None:
    lab.write("tests/test_more.py", "def test_more():\n    pass\n")
    lab.commit()
    lab.agent(f"printf '{SKIPS}' > calc.py")
    lab.settings()
    said = lab.attempt(check="python -m pytest -q")
    assert said.status == 3
    assert "1 of the tests that run on the snapshot did not run: tests.test_calc.test_add" in said.out
    [attempt] = json.loads(lab("show", lab.run.root.name, "--json").out)["attempts"]
    base = attempt["checks"][0]["receipt"]["base"]
    assert (base["exit_code"], base["tests"]["ran"], base["tests"]["failed"]) == (1, 2, 1)


def test_a_check_runs_on_the_snapshot_once_for_all_attempts(lab: Lab) -> None:
    lab.agent(f"echo '# '$BAKEOFF_ATTEMPT >> calc.py; {FIX}")
    lab.settings()
    count = f"echo >> {lab.place}/runs; python -m pytest -q"
    # With a score none ends before the others are judged.
    said = lab.attempt("--attempts", "3", "--sandbox", "none", "--score", "wc -c < calc.py", check=count)
    assert said.status == 0, said
    assert len((lab.place / "runs").read_text().splitlines()) == 3 + 1


def test_who_may_edit_tests_may_leave_some_out_before_everybody(lab: Lab) -> None:
    lab.write("tests/test_more.py", "def test_more():\n    pass\n")
    lab.commit()
    lab.agent(f"printf '{SKIPS}' > calc.py")
    lab.settings()
    said = lab.attempt(
        "--may-edit", "tests/other/**", "--attempts", "2", "--score", "wc -c < calc.py", check="python -m pytest -q"
    )
    assert said.status == 0
    assert said.out.count("skipped") == 1
    assert "! attempts 1, 2: 1 test skipped, 1 ran" in said.out


def test_a_check_that_the_snapshot_passes_is_named(lab: Lab) -> None:
    lab.write("tests/test_calc.py", "def test_nothing():\n    pass\n")
    lab.commit()
    lab.agent(FIX)
    lab.settings()
    said = lab.attempt(check="python -m pytest -q")
    assert said.status == 0
    assert "! passes without any change, too: `python -m pytest -q`" in said.out


def test_a_check_of_make_is_judged_by_the_makefile_of_the_snapshot(lab: Lab) -> None:
    lab.write("Makefile", "test:\n\tpython -m pytest -q\n")
    lab.commit()
    lab.agent("printf 'test:\\n\\ttrue\\n' > Makefile; echo '# more' >> calc.py")
    lab.settings()
    said = lab.attempt(check="make test")
    assert said.status == 3
    assert "tests changed" in said.out


def test_an_attempt_that_changes_what_a_check_names_says_so(lab: Lab) -> None:
    lab.write("run.sh", "python -m pytest -q\n")
    lab.commit()
    lab.agent("echo true > run.sh")
    lab.settings()
    said = lab.attempt(check="sh ./run.sh")
    assert "! attempt 1 changed what a check names: run.sh" in said.out


@pytest.mark.parametrize("place", ["cache", "data"])
def test_a_disk_that_is_full_at_the_start_is_named(
    lab: Lab, place: str, mount_tmpfs: Callable[[Path, str], Path]
) -> None:
    """A small file system of its own, really full, where slots or results are to be."""
    lab.agent(FIX)
    disk = mount_tmpfs(lab.place / place, "16k")
    said = lab.attempt()
    assert said.status == 1, said
    shown = lab("show", "r")
    for text in (said.err + said.out, shown.out, json.dumps(lab("show", "r", "--json").json["error"])):
        assert "OSError" not in text
        assert "Errno" not in text
        assert "no space is left on the disk" in text, text
        assert f"make room where {disk}/bakeoff ({'slots' if place == 'cache' else 'results'}) is" in text
    subprocess.run(["mount", "-o", "remount,size=40m", disk], check=True)
    assert lab("resume", "r").status == 0
