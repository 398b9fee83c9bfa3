"""What a plan prints: live, at the end, as JSON by its published schema, as HTML; and the goal as it is asked for."""

from __future__ import annotations

import subprocess

import jsonschema
import yaml

from bakeoff.cli.schema import output_schema
from plan.run.conftest import states


def test_everything_that_is_printed_fits_its_schema(plans):
    lab = plans.lab
    parts = [
        {"name": "group", "goal": "both", "subplans": [
            plans.part("one", "sed -i 's/line 3$/a/' hub.txt", files=["hub.txt"]),
            plans.part("two", "sed -i 's/line 3$/<b>/' hub.txt; echo > else.txt", writes=["hub.txt"])]},
        plans.part("bad", "exit 1"),
        plans.part("needs", "true", after=["bad", "group"]),
    ]  # fmt: skip
    # Two that may write the same file never work at once, so the second one starts from what was there all the same.
    shown = plans.run(parts, "--branch", "made", status=3)
    jsonschema.validate(shown, output_schema("plan-run"))
    assert shown["applied"]["branch"] == "made"
    jsonschema.validate(lab("show", "r", "--json").json, output_schema("show"))
    jsonschema.validate(lab("diff", "r", "--json").json, output_schema("diff"))
    jsonschema.validate(lab("runs", "--json").json, output_schema("runs"))
    table = lab("show", "r").out
    assert "conflict" in table
    assert "it waits for bad, which failed" in table
    assert lab("report", "r", "-o", str(lab.place / "page.html")).status == 0
    page = (lab.place / "page.html").read_text()
    for text in ("Merge queue", "Who worked when", "group", "&lt;b&gt;", "it waits for bad"):
        assert text in page
    assert "<b>b" not in page
    assert lab("report", "r", "--markdown").status == 1
    jsonschema.validate(lab("apply", "r", "one", "--json").json, output_schema("apply"))
    said = lab("logs", "r")
    assert said.status == 0, said


def test_one_subplan_is_called_by_its_name_and_number(plans):
    plans.write([plans.part("one", "echo > one.txt")])
    said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r")
    assert "! 1 subplan, at most 1 call of fake" in said.err
    assert "the result of subplan one applied: 1 file written" in plans.lab("apply", "r", "one").out


def test_lines_say_what_goes_on(plans):
    parts = [plans.part("a", "echo > a.txt; echo > outside.txt", files=["a.txt"]), plans.part("bad", "exit 1")]
    plans.write(parts, {"max_parallel": 1})
    said = plans.lab("plan", "run", str(plans.lab.place / "plan.yml"), "--run-id", "r", "--apply")
    assert said.status == 3
    for line in ("! 2 subplans, at most 2 calls of fake", "▶ a", "✓ a completed", "✗ bad failed: ", "· merging 1 of 2"):
        assert line in said.err, line
    assert "1 subplan wrote 1 file outside of what they may: a (outside.txt)" in said.out
    assert "run r: 1 of 2 landed" in said.out
    assert "used: 2 calls" in said.out
    assert "applied: 2 files written" in said.out
    assert plans.lab("watch", "r").status == 0


def test_a_goal_is_split_and_each_part_told_what_it_is_about(plans):
    lab = plans.lab
    for package in ("left", "right"):
        for number in range(3):
            lab.write(f"{package}/m{number}.py", f"def of_{package}_{number}(x: int) -> int:\n    return x\n")
    lab.write("left/m0.py", "from right.m0 import of_right_0\n\n\ndef of_left_0():\n    return of_right_0(1)\n")
    lab.commit("packages")
    plans.lab.agent(
        'printf "%s\\n====\\n" "$1" >> '
        + f"{lab.place}/prompts; for f in left right; do :; done; echo > made-$BAKEOFF_SLOT.txt"
    )
    args = ("--agent", "fake", "--check", "true", "--max-files", "3", "--sandbox", "none", "--agent-sandbox", "none")
    said = lab("plan", "tidy the modules", "left", "right", *args, "--run-id", "r", "--json", "--max-calls", "9")
    assert said.status == 0, said
    assert sorted(states(said.json).values()) == ["landed", "landed"]
    prompts = (lab.place / "prompts").read_text().split("====\n")
    left = next(text for text in prompts if "  left/m0.py\n" in text.split("The other parts")[0])
    assert left.startswith("tidy the modules\n")
    assert "def of_right_0(x: int) -> int" in left
    assert "You may write these and nothing else:\n  left/m0.py" in left
    assert "right" in left.split("The other parts")[1]
    assert "2 subplans, at most 8 calls of fake" in said.err


def test_a_dry_run_writes_what_can_be_edited_and_run(plans):
    lab = plans.lab
    args = ("--agent", "fake", "--check", "true", "--dry-run", "--max-files", "1", "--mode", "dependency_ordered")
    said = lab("plan", "do: echo > made.txt", "a", "b", *args, "--json")
    assert said.status == 0, said
    jsonschema.validate(said.json, output_schema("plan-run"))
    document = yaml.safe_load((lab.root / "plan.yml").read_text())
    assert [part["name"] for part in document["subplans"]] == ["a-x.txt", "b-x.txt"]
    assert document["config"]["execution_mode"] == "dependency_ordered"
    assert plans.parts == []
    assert "is there already" in lab("plan", "x", "a", *args).err
    assert "name: c-x.txt" in lab("plan", "x", "c", *args, "-o", "-").out
    text = (lab.root / "plan.yml").read_text().replace("agent: fake", "agent: fake\nsandbox: none\nagent_sandbox: none")
    (lab.root / "plan.yml").write_text(text.replace("name: a-x.txt", "name: first\n  goal: 'part: first'"))
    said = lab("plan", "run", "plan.yml", "--run-id", "r", "--json", "--max-parallel", "1", "--max-cost", "1")
    assert said.status == 1
    assert "a ceiling on money: fake does not report what it costs" in said.err
    said = lab("plan", "run", "plan.yml", "--run-id", "r", "--json", "--max-parallel", "1")
    assert said.status == 0, said
    assert [one["name"] for one in said.json["subplans"]] == ["first", "b-x.txt"]


def test_what_is_asked_wrongly_is_refused_before_anything_is_spent(plans):
    lab = plans.lab
    assert "give a --check" in lab("plan", "goal", "a").err
    assert "--apply or --branch" in lab("plan", "x", "--apply", "--branch", "b").err
    assert "-o goes with --dry-run" in lab("plan", "x", "-o", "f").err
    assert "no agent is called" in lab("plan", "x", "a", "--check", "true", "--agent", "nobody").err
    assert "git knows no file at nothing" in lab("plan", "x", "nothing", "--check", "true", "--agent", "fake").err
    # A goal that reads like a command.
    assert "no agent is called" in lab("plan", "--check", "true", "--agent", "nobody", "--", "retry", "a").err
    assert "did you mean 'retry'?" in lab("plan", "retyr", "r", "a").err
    assert lab("plan", "--help").status == 0
    assert "correct" in lab("plan", "--help").out
    assert lab("plan", "run", "missing.yml").err.startswith("error: missing.yml cannot be read")
    assert plans.parts == []
    assert not (lab.root / ".bakeoff" / "runs" / "r").exists()


def test_the_owners_of_files_can_be_the_parts(plans):
    plans.lab.write("CODEOWNERS", "a/ @ann\nb/ @bob\n")
    plans.lab.commit("owners")
    args = ("--agent", "fake", "--check", "true", "--dry-run", "-o", "-", "--by", "owners")
    said = plans.lab("plan", "x", "a", "b", *args)
    assert [part["files"] for part in yaml.safe_load(said.out)["subplans"]] == [["a/x.txt"], ["b/x.txt"]]


def test_the_checkout_stays_as_it_is_with_uncommitted_work(plans):
    lab = plans.lab
    lab.write("a/x.txt", "uncommitted\n")
    lab.write("untracked.txt", "mine\n")
    before = lab.digest()
    plans.run([plans.part("p", "cat a/x.txt untracked.txt > seen.txt")])
    assert lab.digest() == before
    assert plans.result("seen.txt") == "uncommitted\nmine\n"
    assert "seen.txt" in lab("diff", "r", "--stat").out
    assert "untracked" not in lab("diff", "r", "--stat").out
    assert subprocess.run(["git", "status", "--porcelain"], cwd=lab.root, capture_output=True, check=True).stdout
