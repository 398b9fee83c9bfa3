"""The checks of a plan are run on the snapshot before anybody is paid, be it for splitting or for working."""

from __future__ import annotations

import pytest

from steps.conftest import flow  # noqa: F401


@pytest.mark.parametrize("by", ["directories", "agent"])
def test_a_typo_in_a_check_is_not_paid_for(plans, by):
    asked = ["--agent", "fake", "--check", "pytset -q", "--by", by, "--run-id", "r", "--json"]
    said = plans.lab("plan", "renew", "a", "b", *asked)
    assert said.status == 1, said
    assert "check `pytset -q` cannot judge: its program was not found" in said.json["error"]
    assert plans.lab.calls == []
    assert "go on with" not in said.err


def test_a_check_is_run_once_on_the_snapshot_for_all(plans):
    """Subplans that start there are compared with that run; what fails after merging is, too."""
    ran = plans.lab.place / "ran"
    tests = "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"
    plans.lab.write("test_x.py", tests)
    plans.lab.commit()
    plans.checks = f"echo x >> {ran}; python -m unittest"
    shown = plans.run([plans.part("a", "echo 1 > a/x.txt"), plans.part("b", "echo 1 > b/x.txt")])
    assert {one["landed"] for one in shown["subplans"]} == {True}
    assert len(ran.read_text().split()) == 4  # before, each part alone, both together


def test_what_is_protected_is_said_first_and_a_file_may_leave_preflight_out(plans):
    plans.lab.write("tests/helper.py", "")
    plans.lab.commit()
    parts = [plans.part("a", "echo > a/x.txt; echo > new.sh", files=["a/x.txt", "tests/helper.py"])]
    plans.write(parts, checks="sh new.sh", preflight=False)
    said = plans.again("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r")
    assert said.status == 0, said
    assert "tests/helper.py is judged as the snapshot has it" in said.err
    said = plans.again("plan", "run", str(plans.lab.place / "plan.yml"), "--require-red")
    assert "--require-red and --no-preflight" in said.err


STEP = "steps:\n  - {{id: split, type: plan, goal: renew, paths: [a, b], by: {by}, agent: fake, check: pytset{more}}}\n"


@pytest.mark.parametrize("by", ["directories", "agent"])
def test_a_step_fails_before_anybody_is_paid(plans, flow, by):  # noqa: F811
    said = flow(STEP.format(by=by, more=""))
    assert said.status == 1, said
    step = flow.step("split")
    assert (step["status"], step["kind"]) == ("failed", "preflight")
    assert "its program was not found" in step["error"]
    assert plans.lab.calls == []


def test_a_step_of_attempts_fails_likewise(plans, flow):  # noqa: F811
    more = ("check: 'true', require_red: true", "check: pytset", "check: pytset, preflight: false")
    steps = [
        f"  - {{id: s{number}, type: attempt, task: renew, agent: fake, continue_on_error: true, {fields}}}\n"
        for number, fields in enumerate(more)
    ]
    flow(f"steps:\n{''.join(steps)}")
    assert [flow.step(f"s{number}")["kind"] for number in range(3)] == ["preflight", "preflight", "empty"]
    assert len(plans.lab.calls) == 1
