"""What does not go together is named, given back to its owner on the new tip, and lands then."""

from __future__ import annotations

import pytest

from plan.run.conftest import states

CHECK = """fails=0
for one in calls-*; do [ -e "$one" ] || continue
  [ -e "def-${one#calls-}" ] || { echo "nobody defines ${one#calls-}"; fails=1; }
done
exit $fails"""
"""Whoever is called must be there."""


def twice(first: str, then: str) -> str:
    """A command that does one thing, and another one when it was told that its work is not merged."""
    return f"case \"$1\" in *'not mer'?ed*) {then} ;; *) {first} ;; esac"


def test_a_conflict_goes_back_to_its_owner_with_both_diffs(plans):
    parts = [
        plans.part("one", "sed -i 's/line 3$/line three/' hub.txt"),
        plans.part(
            "two", twice("sed -i 's/line 3$/LINE 3/' hub.txt", "sed -i 's/line three/line three, LINE 3/' hub.txt")
        ),
        plans.part("on-two", "tail -1 hub.txt > end.txt", after=["two"]),
    ]
    shown = plans.run(parts, config={"max_reopened": 1})
    assert set(states(shown).values()) == {"landed"}
    (conflict,) = shown["conflicts"]
    assert (conflict["ref"], conflict["with"], conflict["path"], conflict["round"]) == ("two", "one", "hub.txt", 1)
    assert "line three, LINE 3" in plans.result("hub.txt")
    told = plans.prompt("two")
    assert "+line three" in told
    assert "+LINE 3" in told
    assert plans.result("end.txt") == "line 19\n"
    assert sorted(plans.parts) == ["on-two", "on-two", "one", "two", "two"]
    assert [one["round"] for one in shown["subplans"]] == [1, 2, 2]
    assert "round 1: two conflicts with one" in plans.lab("show", "r").out


@pytest.mark.parametrize(
    ("on_conflict", "status", "landed"),
    [("leave_out", 3, ["one", "free"]), ("ours_first", 0, ["one", "two", "free"]), ("fail", 1, [])],
)
def test_what_else_can_be_done_with_a_conflict(plans, on_conflict, status, landed):
    parts = [
        plans.part("one", "sed -i 's/line 3$/a/' hub.txt"),
        plans.part("two", "sed -i 's/line 3$/b/' hub.txt; echo > two.txt"),
        plans.part("free", "echo > free.txt"),
    ]
    shown = plans.run(parts, status=status, config={"max_reopened": 1, "on_conflict": on_conflict})
    assert shown["landed"] == landed
    assert len(plans.parts) == 3
    named = shown["dropped"] if on_conflict == "ours_first" else shown["conflicts"]
    assert [one["ref"] for one in named] == ["two"]


def test_who_breaks_a_neighbours_test_is_named_with_it_and_mends_it(plans):
    """Each is green alone: one takes `f` away, the other calls it."""
    plans.checks = CHECK
    plans.lab.write("def-f", "f\n")
    plans.lab.commit("f")
    parts = [
        plans.part("rename", "git mv def-f def-g 2>/dev/null || mv def-f def-g"),
        plans.part("apart", "echo > apart.txt"),
        plans.part("call", twice("echo > calls-f", "echo > calls-g")),
        plans.part("on-call", "ls calls-* > listed.txt", after=["call"]),
    ]
    shown = plans.run(parts, config={"max_reopened": 1})
    assert set(states(shown).values()) == {"landed"}
    (culprit,) = shown["culprits"]
    assert (culprit["ref"], culprit["with"], culprit["round"], culprit["confirmed"]) == ("call", "rename", 1, True)
    assert "nobody defines f" in plans.prompt("call")
    assert plans.result("listed.txt") == "calls-g\n"
    assert shown["rounds"] == 2


def test_what_breaks_again_stays_out_and_what_builds_on_it_too(plans):
    plans.checks = CHECK
    plans.lab.write("def-f", "f\n")
    plans.lab.commit("f")
    parts = [
        plans.part("rename", "mv def-f def-g"),
        plans.part("call", "echo > calls-f"),
        plans.part("on-call", "echo > more.txt", after=["call"]),
    ]
    shown = plans.run(parts, status=3, config={"max_reopened": 1})
    assert states(shown) == {"rename": "landed", "call": "failed", "on-call": "blocked"}
    # Its second attempt fails on the new tip, where nobody defines f.
    assert shown["subplans"][1]["why"].startswith("fails")
    assert [one["ref"] for one in shown["culprits"]] == ["call"]
    shown = plans.again("plan", "skip", "r", "call")
    assert shown.status == 0, shown
    assert states(shown.json) == {"rename": "landed", "call": "skipped", "on-call": "landed"}


def test_without_giving_back_what_builds_on_what_did_not_land_is_blocked(plans):
    parts = [
        plans.part("one", "sed -i 's/line 3$/a/' hub.txt"),
        plans.part("two", "sed -i 's/line 3$/b/' hub.txt"),
        plans.part("on-two", "echo > more.txt", after=["two"]),
    ]
    shown = plans.run(parts, status=3)
    by_name = {one["name"]: one for one in shown["subplans"]}
    assert shown["landed"] == ["one"]
    assert (by_name["two"]["kind"], by_name["two"]["why"]) == ("conflict", "conflicts with one in hub.txt")
    assert by_name["on-two"]["why"] == "it builds on two, which did not land"
    assert [one["ref"] for one in shown["conflicts"]] == ["two"]


def test_what_waits_for_a_failed_one_stays_blocked_when_others_are_given_back(plans):
    parts = [
        plans.part("one", "sed -i 's/line 3$/a/' hub.txt"),
        plans.part("two", twice("sed -i 's/line 3$/b/' hub.txt", "echo two > two.txt")),
        plans.part("bad", "exit 1"),
        plans.part("needs", "echo > needs.txt", after=["two", "bad"]),
    ]
    shown = plans.run(parts, status=3, config={"max_reopened": 1})
    assert states(shown) == {"one": "landed", "two": "landed", "bad": "failed", "needs": "blocked"}
    assert shown["subplans"][3]["why"] == "it waits for bad, which failed"
    assert "needs" not in plans.parts
