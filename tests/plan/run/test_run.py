"""Plans carried out end to end with a scripted agent: what lands, what waits, what is blocked, what is reported."""

from __future__ import annotations

import os
import threading

import jsonschema
import pytest

from attempt.test_resume import until
from bakeoff.cli.schema import output_schema
from plan.run.conftest import states


def test_three_subplans_are_made_merged_and_landed(plans):
    lab, before = plans.lab, plans.lab.digest()
    parts = [plans.part(name, f"echo new > {name}/x.txt", files=[f"{name}/x.txt"]) for name in "abc"]
    shown = plans.run(parts)
    assert states(shown) == {"a": "landed", "b": "landed", "c": "landed"}
    assert shown["landed"] == ["a", "b", "c"]
    assert sorted(plans.parts) == ["a", "b", "c"]
    assert [plans.result(f"{name}/x.txt") for name in "abc"] == ["new\n"] * 3
    assert lab.digest() == before
    assert lab.slots() == []
    said = lab("apply", "r")
    assert said.status == 0, said
    assert (lab.root / "a" / "x.txt").read_text() == "new\n"


INSIDE = """
mkdir -p $PLACE/now; : > $PLACE/now/NAME; n=0
while [ $(ls $PLACE/now | wc -l) -lt {at} ] && [ ! -e $PLACE/open ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done
[ $(ls $PLACE/now | wc -l) -ge {at} ] && : > $PLACE/open
ls $PLACE/now | wc -l >> $PLACE/peaks; sleep 0.2; rm $PLACE/now/NAME; echo x > NAME.txt
"""


def latched(plans, names, at, **more):
    """Subplans that wait until so many are at work at once."""
    script = " ; ".join(line for line in INSIDE.format(at=at).strip().splitlines())
    return [plans.part(name, script.replace("NAME", name), **more) for name in names]


def peak(plans):
    return max(map(int, (plans.lab.place / "peaks").read_text().split()))


def test_fifteen_with_a_bound_of_ten_are_ten_at_once(plans):
    plans.lab.settings("[lanes]\nagents = 10\n")
    shown = plans.run(latched(plans, [f"p{n}" for n in range(15)], 10), config={"max_parallel": 10})
    assert set(states(shown).values()) == {"landed"}
    assert peak(plans) == 10
    assert (plans.lab.place / "open").exists()
    assert len(plans.parts) == 15
    assert shown["at_once"] > 2


def test_nested_plans_share_one_bound(plans):
    groups = [
        {"name": f"g{g}", "subplans": latched(plans, [f"g{g}p{n}" for n in range(3)], 4)} for g in range(3)
    ]  # fmt: skip
    shown = plans.run(groups, config={"max_parallel": 4})
    assert set(states(shown).values()) == {"landed"}
    assert peak(plans) == 4
    assert [one["parent"] for one in shown["subplans"]] == ["g0"] * 3 + ["g1"] * 3 + ["g2"] * 3


def test_what_waits_starts_on_top_of_what_it_waits_for(plans):
    parts = [
        plans.part("late", "cat a/x.txt b/x.txt > late.txt", after=["both"]),
        {
            "name": "both",
            "subplans": [plans.part("a", "echo from-a > a/x.txt"), plans.part("b", "echo from-b > b/x.txt")],
        },
        plans.part("free", "cat a/x.txt > free.txt"),
    ]
    shown = plans.run(parts)
    assert set(states(shown).values()) == {"landed"}
    assert plans.result("late.txt") == "from-a\nfrom-b\n"
    assert plans.result("free.txt") == "a\n"
    assert plans.parts[-1] == "late" or plans.parts.index("late") > max(plans.parts.index(n) for n in "ab")


def test_in_sequence_each_starts_on_top_of_those_before_it(plans):
    parts = [plans.part(f"p{n}", f"cat hub.txt | wc -l > p{n}.txt; echo more >> hub.txt") for n in range(3)]
    shown = plans.run(parts, config={"execution_mode": "sequential"})
    assert set(states(shown).values()) == {"landed"}
    assert plans.parts == ["p0", "p1", "p2"]
    assert [plans.result(f"p{n}.txt").strip() for n in range(3)] == ["20", "21", "22"]


def test_a_failed_one_is_named_what_needs_it_is_blocked_and_the_rest_lands(plans):
    parts = [
        plans.part("a", "echo 1 > a.txt"),
        plans.part("broken", "exit 3"),
        plans.part("needs", "echo 1 > n.txt", after=["broken"]),
        plans.part("further", "echo 1 > f.txt", after=["needs"]),
    ]
    shown = plans.run(parts, status=3, config={"max_retries": 2})
    assert states(shown) == {"a": "landed", "broken": "failed", "needs": "blocked", "further": "blocked"}
    by_name = {one["name"]: one for one in shown["subplans"]}
    assert "exit status 3" in by_name["broken"]["why"] or "3" in by_name["broken"]["why"]
    assert by_name["broken"]["tries"] == 3
    assert plans.parts.count("broken") == 3
    assert (
        sum(path.startswith("subplan:broken") and path.count("/") == 1 for path in plans.lab.run.history().records) == 3
    )
    assert by_name["needs"]["why"] == "it waits for broken, which failed"
    assert by_name["further"]["why"] == "it waits for broken, which failed"


def test_nothing_lands_and_the_exit_status_says_so(plans):
    plans.checks = "test ! -e bad.txt"
    shown = plans.run([plans.part("a", "echo > bad.txt")], status=1)
    assert (shown["status"], shown["landed"], shown["result"]) == ("completed", [], None)
    assert shown["subplans"][0]["why"].startswith("fails 'test ! -e bad.txt'")
    assert plans.lab("diff", "r").status == 1


def test_fail_fast_cancels_who_is_at_work_and_what_waits(plans):
    parts = [plans.part(f"p{n}", f"echo $$ >> $PLACE/pids; sleep 30; echo > p{n}.txt") for n in range(5)]
    wait = "n=0; while [ $(cat $PLACE/pids | wc -l) -lt 3 ]; do sleep 0.02; done; exit 1"
    parts.insert(2, plans.part("bad", wait))
    shown = plans.run(parts, status=1, config={"fail_fast": True, "max_parallel": 4})
    found = states(shown)
    assert found.pop("bad") == "failed"
    assert set(found.values()) == {"cancelled"}
    assert shown["landed"] == []
    assert len(plans.parts) == 4
    assert plans.lab.left() == []


def test_a_try_that_takes_too_long_is_ended_with_all_it_started(plans):
    plans.lab.settings("grace = 0.5\n")
    hang = "trap '' TERM; echo part > left.txt; sleep 3600 & sleep 3600; wait"
    parts = [plans.part("slow", hang), plans.part("a", "echo > a.txt")]
    shown = plans.run(parts, status=3, config={"timeout_per_subplan": 4})
    slow = shown["subplans"][0]
    assert (slow["status"], slow["kind"], slow["why"]) == ("failed", "timeout", "timed out after 4 s")
    assert slow["seconds"] < 1800  # it would go on for 3600
    assert plans.lab.left() == []
    assert any("salvage" in ref for ref in plans.lab.refs())  # what it had written is kept


def test_what_is_written_outside_is_reported_with_whose_it_is(plans):
    parts = [
        plans.part("a", "echo 1 > a/x.txt; echo 1 > b/new.txt; echo 1 > c.txt", files=["a/x.txt"]),
        plans.part("b", "echo 1 > b/x.txt", writes=["b/"]),
    ]
    shown = plans.run(parts)
    assert [one["outside"] for one in shown["subplans"]] == [["b/new.txt", "c.txt"], []]
    assert shown["overlaps"] == [{"paths": ["b/new.txt"], "wrote": ["a"], "may": ["b"]}]
    said = plans.lab("show", "r").out
    assert "1 subplan wrote 2 files outside of what they may: a (b/new.txt, c.txt)\n" in said
    assert "1 file of these others wrote or may write, too: b/new.txt (by a; b may)\n" in said
    assert plans.prompt("a").startswith("part: a")


def test_overlapping_writes_never_run_together(plans):
    count = "ls $PLACE/now 2>/dev/null | wc -l >> $PLACE/peaks"
    script = f"{count}; mkdir -p $PLACE/now; : > $PLACE/now/NAME; sleep 0.3; rm $PLACE/now/NAME; echo > NAME.txt"
    parts = [plans.part(name, script.replace("NAME", name), writes=["x/**", f"{name}.txt"]) for name in ("a", "b")]
    assert set(states(plans.run(parts)).values()) == {"landed"}
    assert (plans.lab.place / "peaks").read_text().split() == ["0", "0"]


def test_a_circle_runs_side_by_side_and_what_is_unknown_is_refused(plans):
    parts = [plans.part("a", "echo > a.txt", after=["b"]), plans.part("b", "echo > b.txt", after=["a"])]
    parts.append(plans.part("c", "ls a.txt b.txt && echo > c.txt", after=["a"]))
    shown = plans.run(parts)
    assert (shown["circles"], set(states(shown).values())) == ([["a", "b"]], {"landed"})
    plans.write([plans.part("a", "true", after=["zz"])])
    said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"))
    assert said.status == 1
    assert "subplan 'a' waits for 'zz', and there is no such subplan" in said.err


def test_the_budget_is_spent_and_what_was_made_is_landed(plans):
    parts = [plans.part(name, f"echo > {name}.txt") for name in ("a", "b", "c")]
    shown = plans.run(parts, "--max-calls", "2", status=4, config={"max_parallel": 1})
    assert states(shown) == {"a": "landed", "b": "landed", "c": "pending"}
    assert shown["status"] == "budget_spent"
    said = plans.again("resume", "r", "-i", "max_calls=3")
    assert said.status == 0, said
    assert set(states(said.json).values()) == {"landed"}
    assert plans.parts == ["a", "b", "c"]
    assert "3 subplans, at most 3 calls of fake" in said.err


def test_tries_that_time_out_leave_nothing_behind(plans):
    plans.lab.settings("grace = 0.2\n[lanes]\nagents = 4\n")
    counts = []
    for number in range(2):  # the first run opens what stays open
        parts = [plans.part(f"p{n}", "trap '' TERM; while :; do sleep 1; done") for n in range(4)]
        plans.write(parts, {"timeout_per_subplan": 0.4, "max_parallel": 4, "max_retries": number})
        said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", f"r{number}", "--json")
        assert {one["kind"] for one in said.json["subplans"]} == {"timeout"}
        counts.append((len(os.listdir("/proc/self/fd")), threading.active_count()))
    assert plans.lab.left() == []
    (files, threads), (files_then, _) = counts
    assert abs(files_then - files) <= 2
    until(lambda: threading.active_count() <= threads + 2)  # idle workers of a loop that has ended may still be ending


def test_calls_that_were_cut_off_are_counted(plans):
    parts = [
        plans.part("slow", "sleep 600"),
        plans.part("well", "echo x > x.txt"),
    ]
    shown = plans.run(parts, config={"timeout_per_subplan": 4, "max_retries": 1}, status=3)
    assert states(shown) == {"slow": "failed", "well": "landed"}
    assert sorted(plans.parts) == ["slow", "slow", "well"]
    assert {one["name"]: one["calls"] for one in shown["subplans"]} == {"slow": 2, "well": 1}
    assert shown["usage"]["calls"] == 3


def test_nobody_is_said_to_be_allowed_to_write_what_he_is_not(plans):
    parts = [
        plans.part(name, f"echo {name} > shared-{name}; echo x > both.txt", files=[f"{name}/x.txt"]) for name in "abcde"
    ]
    shown = plans.run(parts)
    assert shown["overlaps"] == [{"paths": ["both.txt"], "wrote": [*"abcde"], "may": []}]
    strays, met = [line for line in plans.lab("show", "r").out.splitlines() if "both.txt" in line]
    assert strays.startswith("    5 subplans wrote 6 files outside of what they may: a (both.txt, shared-a), b (")
    assert strays.endswith("), and 2 others: `show --json` lists all")
    assert met == "    1 file of these others wrote or may write, too: both.txt (by a, b, c and 2 more)"


def test_files_that_are_not_there_are_said_before_anything_is_paid(plans):
    parts = [plans.part("a", "echo 1 > new.txt", files=["new.txt", "a/x.txt", "b"])]
    plans.write(parts)
    said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r")
    assert said.status == 0, said
    assert said.err.index("no such file, so to be made or a mistake: new.txt\n") < said.err.index("▶ a")


def test_that_after_counts_for_nothing_is_said(plans):
    plans.write(
        [plans.part("a", "echo > a.txt"), plans.part("b", "echo > b.txt", after=["a"])],
        config={"execution_mode": "parallel"},
    )
    said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r")
    assert said.status == 0, said
    assert "in the mode parallel nobody waits: `after` counts for nothing of b\n" in said.err


def test_one_whose_repair_cannot_be_paid_was_tried(plans):
    plans.checks = "test ! -e bad"
    parts = [plans.part("a", "echo > bad; echo $RANDOM$$ > a.txt"), plans.part("b", "echo > b.txt")]
    shown = plans.run(parts, "--max-calls", "1", status=4, config={"max_parallel": 1}, repair=1)
    said = {one["name"]: one["why"] for one in shown["subplans"]}
    assert said["a"].startswith("not ended, though tried: the budget is spent")
    assert said["b"].startswith("not begun: the budget is spent")


@pytest.mark.parametrize("given", ["max_calls=nan", "max_calls=inf", "max_calls=-1", "max_cost=0", "max_cost=much"])
def test_a_run_goes_on_under_no_ceiling_that_is_none(plans, given):
    plans.run([plans.part("a", "echo > a.txt"), plans.part("b", "echo > b.txt")], "--max-calls", "1", status=4)
    for again in (["resume", "r"], ["plan", "retry", "r", "a"]):
        said = plans.lab(*again, "-i", given)
        assert (said.status, said.out) == (1, ""), said
        assert f"-i {given}: it must be a number" in said.err
    assert len(plans.parts) == 1


def test_what_cannot_be_taken_of_a_subplan_is_said(plans):
    parts = [
        plans.part("a", "echo new > a/x.txt; mkfifo a/pipe", files=["a/x.txt"], writes=["a/*"]),
        plans.part("b", "mkfifo b/pipe", files=["b/x.txt"], writes=["b/*"]),
    ]
    shown = plans.run(parts, status=3)
    assert states(shown) == {"a": "landed", "b": "failed"}
    a, b = shown["subplans"]
    assert a["left_out"] == ["a/pipe: it is a pipe"]
    assert b["why"] == "fake changed nothing but what is left out (b/pipe: it is a pipe)"
    assert "left out of what a made: a/pipe: it is a pipe" in plans.lab("show", "r").out
    assert plans.lab("report", "r", "-o", "r.html").status == 0
    assert "left out of what it made: a/pipe: it is a pipe" in (plans.lab.root / "r.html").read_text()
    jsonschema.validate(shown, output_schema("plan-run"))


@pytest.mark.parametrize("sparse", ["never", "plans"])
def test_subplans_of_a_large_project_may_have_only_their_folders_and_checks_have_all(plans, sparse):
    plans.lab.settings(f"[slots]\nkind = 'repository'\nsparse = '{sparse}'\nsparse_above = 2\n")
    plans.checks = "test -e a/x.txt -a -e b/x.txt -a -e c/x.txt"
    parts = [
        plans.part("a", "find . -name x.txt > $PLACE/seen-a; echo new > a/x.txt", files=["a/x.txt"]),
        plans.part("b", "find . -name x.txt > $PLACE/seen-b; echo > b/y.txt", files=["a"], writes=["b/*.txt"]),
        plans.part("free", "find . -name x.txt > $PLACE/seen-free; echo > z.txt"),
    ]
    shown = plans.run(parts)
    assert set(states(shown).values()) == {"landed"}
    assert plans.result("c/x.txt") == "c\n"
    seen = {name: sorted((plans.lab.place / f"seen-{name}").read_text().split()) for name in ("a", "b", "free")}
    everything = ["./a/x.txt", "./b/x.txt", "./c/x.txt"]
    if sparse == "never":
        assert seen == dict.fromkeys(seen, everything)
        assert "sparse-checkout" not in plans.prompt("a")
    else:
        assert seen == {"a": ["./a/x.txt"], "b": ["./a/x.txt", "./b/x.txt"], "free": everything}
        assert "git sparse-checkout add FOLDER" in plans.prompt("a")
        assert "sparse-checkout" not in plans.prompt("free")
