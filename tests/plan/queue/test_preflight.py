"""Checks are run on the base before any change is tested: what cannot judge refuses the merge."""

from __future__ import annotations

import pytest

ABSENT = "def test_it():\n    assert True\n"


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ("pytset -q", "its program was not found, exit status 127"),
        ("python -m pytest -q tests/test_nope.py", "file or directory not found: tests/test_nope.py"),
        ("sh nope.sh", "cannot open nope.sh"),
        ("make lint", "*** No rule to make target"),  # `make[1]:` stands before it inside of another make
    ],
)
def test_a_check_that_cannot_judge_refuses_the_merge(project, check, why):
    project.branch("r1", {"m1": "x\n"})
    project.branch("r2", {"m2": "x\n"})
    said = project.merge("r1", "r2", "--json", check=check)
    assert said.status == 1, said
    assert (said.json["status"], said.json["landed"], said.json["preexisting"]) == ("failed", [], [])
    error = said.json["error"]
    for part in (f"check `{check}` cannot judge: ", why, "nothing was merged", "--no-preflight"):
        assert part in error, error
    assert "alone" not in said.err
    assert "go on with" not in said.err


def test_without_preflight_it_is_said_of_each(project):
    project.branch("r1", {"m1": "x\n"})
    said = project.merge("r1", "--json", "--no-preflight", check="pytset -q")
    assert (said.status, said.json["status"]) == (1, "completed"), said
    (before,) = said.json["preexisting"]
    assert (before["ref"], before["landed"]) == ("r1", False)


def test_what_a_branch_brings_is_asked_for(project):
    project.branch("r1", {"tests/test_new.py": ABSENT})
    said = project.merge("r1", "--json", check="python -m pytest -q tests/test_new.py")
    assert (said.status, said.json["landed"]) == (0, ["r1"]), said


def test_a_module_that_nobody_brings_is_named(project):
    project.lab.write("tests/test_deep.py", f"import no_such_library.deep\n{ABSENT}")
    project.lab.commit("deep")
    project.branch("r1", {"m1": "x\n"})
    said = project.merge("r1", "--json", check="python -m pytest -q tests/test_deep.py")
    assert said.status == 1, said
    assert "No module named 'no_such_library'" in said.json["error"]
    assert "no change that is merged brings it" in said.json["error"]
    project.branch("r2", {"no_such_library/__init__.py": "", "no_such_library/deep.py": ""})
    said = project.merge("r1", "r2", "--json", "--run-id", "s", check="python -m pytest -q tests/test_deep.py")
    assert said.json["landed"] == ["r2"], said
    assert "fails on the base and names no test, so only a change that mends it can land" in said.err


def test_the_base_is_checked_once(project):
    project.lab.write("tests/test_red.py", "def test_red():\n    assert False\n")
    project.lab.commit("red")
    project.branch("r1", {"m1": "x\n"})
    place = project.lab.place
    check = f"ls | grep -q '^m' || echo x >> {place}/base; python -m pytest -q tests/test_red.py"
    said = project.merge("r1", "--json", check=check)
    assert (said.status, said.json["landed"]) == (0, ["r1"]), said
    assert (place / "base").read_text().split() == ["x"]


def test_a_conflict_that_ends_all_is_said_before_any_check(project):
    project.branch("r1", {"hub": "a\n"})
    project.branch("r2", {"hub": "b\n"})
    said = project.merge("r1", "r2", "--json", "--strategy", "fail_on_conflict")
    assert (said.status, project.runs) == (1, []), said
