"""Runs that have ended, changed: what depends on the change is made again, and nothing else."""

from __future__ import annotations

from plan.run.conftest import states


def chain(plans):
    return [
        plans.part("base", "echo one > base.txt"),
        plans.part("on-base", "cat base.txt > on-base.txt", after=["base"]),
        plans.part("apart", "echo > apart.txt"),
    ]


def test_a_corrected_subplan_and_what_depends_on_it_are_made_again(plans):
    assert plans.run(chain(plans))["landed"] == ["base", "on-base", "apart"]
    said = plans.again("plan", "correct", "r", "base", "part: base\ndo: echo two > base.txt")
    assert said.status == 0, said
    assert set(states(said.json).values()) == {"landed"}
    assert sorted(plans.parts) == ["apart", "base", "base", "on-base", "on-base"]
    assert plans.result("on-base.txt") == "two\n"
    assert said.json["changes"][0]["do"] == "correct"


def test_a_correction_that_comes_to_the_same_reruns_nothing_that_depends_on_it(plans):
    plans.run(chain(plans))
    said = plans.again("plan", "correct", "r", "base", "part: base\ndo: echo one > base.txt # as before")
    assert said.status == 0, said
    assert sorted(plans.parts) == ["apart", "base", "base", "on-base"]


def test_a_failed_one_is_tried_again_and_unblocks_others(plans):
    parts = [
        plans.part("flaky", "[ -e $PLACE/mended ] && echo > flaky.txt"),
        plans.part("needs", "echo > needs.txt", after=["flaky"]),
        plans.part("apart", "echo > apart.txt"),
    ]
    assert states(plans.run(parts, status=3)) == {"flaky": "failed", "needs": "blocked", "apart": "landed"}
    (plans.lab.place / "mended").touch()
    said = plans.again("plan", "retry", "r", "flaky")
    assert said.status == 0, said
    assert set(states(said.json).values()) == {"landed"}
    assert plans.parts == ["flaky", "apart", "flaky", "needs"] or sorted(plans.parts[:2]) == ["apart", "flaky"]
    assert len(plans.parts) == 4


def test_what_is_skipped_is_waited_for_no_longer(plans):
    parts = [plans.part("bad", "exit 1"), plans.part("needs", "echo > needs.txt", after=["bad"])]
    assert plans.run(parts, status=1)["landed"] == []
    said = plans.again("plan", "skip", "r", "bad", "--branch", "made")
    assert said.status == 0, said
    assert states(said.json) == {"bad": "skipped", "needs": "landed"}
    assert "needs.txt" in plans.lab.git("ls-tree", "--name-only", "made")
    said = plans.lab("plan", "retry", "r", "nobody")
    assert said.status == 1
    assert "there is no subplan 'nobody'; there are: bad, needs" in said.err
    assert plans.lab("resume", "r").status == 1


def test_the_result_and_each_subplan_can_be_shown_and_taken(plans):
    plans.run(chain(plans))
    lab = plans.lab
    assert "+one" in lab("diff", "r", "base").out
    assert "base.txt" not in lab("diff", "r", "on-base", "--stat").out.replace("on-base.txt", "")
    assert lab("diff", "r").out.count("diff --git") == 3
    assert "subplan" in lab("diff", "r", "nobody").err
    shown = lab("show", "r", "--json").json
    assert (shown["job"], shown["landed"]) == ("plan", ["base", "on-base", "apart"])
    assert "3 of 3 landed" not in lab("show", "r").out
    assert "on-base" in lab("show", "r").out
    lab.write("mine.txt", "mine\n")
    assert lab("apply", "r").status == 0
    assert (lab.root / "on-base.txt").read_text() == "one\n"
    assert lab("apply", "r").out.endswith("your files have all of it already\n")
    assert lab("clean", "r").status == 0
    assert not any(ref.startswith("r/") for ref in lab.refs())
