"""Attempts that cheat, or leave a mess; by their code in the tests' process they could still forge, which is said."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from attempt.conftest import ADD, FIX, FIXED
from ending import wait_until_ended


def test_edited_and_deleted_tests_are_as_before_when_it_is_judged(lab):
    lab.agent("echo 'def test_add(): pass' > tests/test_calc.py; echo 'x = 1' >> calc.py")
    said = lab.attempt("--json", check="pytest -q")
    assert said.status == 3, said
    (view,) = said.json["attempts"]
    assert view["receipt"]["tests_changed"] == ["tests/test_calc.py"]
    assert view["checks"][0]["verdict"] == "failed"
    assert view["checks"][0]["receipt"]["tests"]["failed"] == 1


def test_the_winner_is_marked_and_lands_without_its_changes_to_tests(lab):
    lab.agent(f"{FIX}; rm tests/test_calc.py; echo x > tests/new.py; echo y > calc_test.py; echo z > conftest.py")
    said = lab.attempt("--apply", check="pytest -q")
    assert said.status == 0, said
    assert "attempt 1 wins (tests changed)" in said.out
    for name in ("tests/test_calc.py", "tests/new.py", "calc_test.py", "conftest.py"):
        assert name in said.out
    assert (lab.root / "calc.py").read_text() == ADD.replace("-", "+")
    assert lab.git("status", "--porcelain") == "M calc.py"
    said = lab("apply", "r", "--with-tests")
    assert said.status == 0, said
    assert (lab.root / "conftest.py").read_text() == "z\n"
    assert not (lab.root / "tests/test_calc.py").exists()


def test_may_edit_lets_tests_be_changed(lab):
    lab.agent("echo 'def test_add(): pass' > tests/test_calc.py")
    said = lab.attempt("--may-edit", "tests/test_calc.py", "--json", check="pytest -q")
    assert (said.status, said.json["winner"]) == (0, 1), said
    assert "tests_changed" not in said.json["attempts"][0]["receipt"]


def test_nothing_but_protected_changes_are_no_attempt(lab):
    lab.agent("echo 'def test_add(): pass' > tests/test_calc.py")
    said = lab.attempt("--json", check="true")
    assert said.status == 3, said
    assert said.json["attempts"][0]["kind"] == "empty"
    assert "tests/test_calc.py" in said.json["attempts"][0]["error"]


TRICKS = {
    "conftest": "echo 'import os; os._exit(0)' > conftest.py; echo '# x' >> calc.py",
    "ini": "printf '[pytest]\\naddopts = --co\\n' > pytest.ini; echo '# x' >> calc.py",
    "pyproject": "printf '[tool.pytest.ini_options]\\naddopts = \"--co\"\\n' > pyproject.toml; echo '# x' >> calc.py",
    "sitecustomize": "echo 'import os; os._exit(0)' > sitecustomize.py; echo '# x' >> calc.py",
    "shadow": "mkdir pytest; echo 'print(\"1 passed in 1s\")' > pytest/__main__.py; >pytest/__init__.py; echo>>calc.py",
    "link": "rm -r tests; ln -s /tmp tests; echo '# x' >> calc.py",
}


def test_a_test_run_cannot_be_configured_away(lab):
    cases = "\n".join(f"{number}) {script};;" for number, script in enumerate(TRICKS.values(), 1))
    lab.agent(f"case $BAKEOFF_ATTEMPT in\n{cases}\nesac")
    said = lab.attempt("--attempts", str(len(TRICKS)), "--json", check="python -m pytest -q")
    assert said.status == 3, said
    for name, view in zip(TRICKS, said.json["attempts"], strict=True):
        assert view["checks"][0]["verdict"] == "failed", (name, view)
        assert view["checks"][0]["receipt"]["tests"]["failed"] == 1, (name, view)
        assert view["receipt"]["tests_changed"], (name, view)


@pytest.mark.parametrize(
    ("code", "check"),
    [
        ('import os; print("1 passed in 0.01s", flush=True); os._exit(0)', "pytest -q"),
        ("x = 1", "pytest -q nothing.py || true"),
        ("def add(a, b): return 0", "python -m pytest -q -k nothing_is_called_so"),
        ("x = 1", "python -m unittest discover -s nothing_there || true"),
        ("x = 1", "python -m unittest -k no_such 2>&1 | grep -v '^Ran [1-9]'"),
    ],
    ids=["fake-report", "missing", "deselected", "unittest", "unittest-none"],
)
def test_a_runner_that_ran_no_test_is_invalid(lab, code, check):
    lab.agent(f"printf '%s\\n' '{code}' > calc.py")
    said = lab.attempt("--json", "--no-preflight", check=check)
    assert said.status == 3, said
    (view,) = said.json["attempts"]
    assert view["checks"][0]["verdict"] == "invalid", view
    assert "ran no test" in view["checks"][0]["reason"]


def test_an_attempt_that_removes_its_own_tree_is_kept_as_that(lab):
    lab.agent("rm -rf .git calc.py tests .gitignore; cd /; ls -A $BAKEOFF_SLOT_PATH | wc -l")
    before = lab.digest()
    said = lab.attempt("--json")
    assert said.status == 3, said
    (view,) = said.json["attempts"]
    assert view["status"] == "failed"
    assert lab.digest() == before
    assert lab.slots() == []


def test_a_held_index_lock_holds_nobody(lab):
    lab.agent(f"touch .git/index.lock; {FIX}")
    assert lab.attempt().status == 0


def test_the_slots_repository_is_not_the_users(lab):
    lab.agent(
        f"""{FIX}; git config core.hooksPath /tmp; git config user.name other; echo evil > .git/hooks-x
        git add -A; git commit -qm mine; git branch -f main HEAD; git update-ref refs/heads/evil HEAD"""
    )
    before = lab.digest()
    said = lab.attempt("--json")
    assert said.status == 0, said
    assert lab.digest() == before
    assert any(name.endswith("-commit") for name in lab.refs())  # its own commit is kept, too


@pytest.mark.parametrize("kind", ["overlay", "repository"])
def test_a_daemon_is_ended_before_its_work_is_taken(lab, kind):
    lab.agent(
        f"{FIX}; env -u BAKEOFF_SLOT -u BAKEOFF_RUN setsid sh -c 'echo $$ > {lab.place}/hidden; exec sleep 600' &"
        f"setsid sh -c 'echo $$ > {lab.place}/daemon; while :; do echo x >> calc.py; sleep 0.01; done' &"
        f"while [ ! -s {lab.place}/daemon ] || [ ! -s {lab.place}/hidden ]; do sleep 0.01; done"
    )
    lab.settings(f'[slots]\nkind = "{kind}"\n')
    said = lab.attempt(
        "--sandbox=none", "--agent-sandbox=none", check=f"{FIXED} && [ ! -d /proc/$(cat {lab.place}/daemon) ]"
    )
    assert said.status == 0, said
    for name in ("daemon", "hidden"):
        wait_until_ended(int((lab.place / name).read_text()))
    assert lab.slots() == []


def test_a_disk_quota_ends_the_attempt_that_fills_it(lab):
    lab.agent(f"{FIX}; [ $BAKEOFF_ATTEMPT != 1 ] || {{ dd if=/dev/zero of=big bs=1M count=64 status=none; sleep 60; }}")
    lab.settings("[slots]\nmax_disk_mb = 20\n")
    said = lab.attempt("--attempts", "2", "--json")
    assert said.status == 0, said
    first, second = said.json["attempts"]
    assert (first["status"], first["kind"], second["status"]) == ("error", "disk", "passed")


def test_ports_and_temporary_files_of_attempts_are_their_own(lab):
    lab.agent(
        f'echo "$PORT $TMPDIR $COMPOSE_PROJECT_NAME" >> {lab.place}/mine; touch $TMPDIR/x; echo "# $PORT" >> calc.py'
    )
    lab.attempt("--attempts", "3", check="false")
    lines = (lab.place / "mine").read_text().split("\n")[:-1]
    assert len(set(lines)) >= 2
    for line in lines:
        with socket.socket() as taken:  # nobody listens any more
            taken.bind(("127.0.0.1", int(line.split()[0])))
        assert not Path(line.split()[1]).exists()


def test_a_check_that_hangs_fails_and_leaves_nothing(lab):
    lab.agent(FIX)
    said = lab.attempt("--check-timeout", "0.5", check="setsid sleep 60 & sleep 61")
    assert said.status == 3, said
    assert "did not end within 0.5 s" in said.out
    assert lab.left() == []


def test_an_agent_that_hangs_is_ended_and_its_work_kept(lab):
    lab.agent("echo half > half.txt; sleep 60")
    said = lab.attempt("--timeout", "3", "--json")
    assert said.status == 3, said
    (view,) = said.json["attempts"]
    assert (view["status"], view["kind"]) == ("error", "timeout")
    assert lab.content(view["receipt"]["commit"], "half.txt") == "half\n"
    assert lab.left() == []


def test_what_checks_leave_behind_is_nobodys_work(lab):
    lab.agent(FIX)
    assert lab.attempt(check="echo junk > junk.txt; mkdir -p d; echo x > d/e").status == 0
    assert sorted(name for name in lab.refs() if name.startswith("salvage/")) == []
