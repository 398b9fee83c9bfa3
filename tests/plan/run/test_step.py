"""Steps of type `plan` in workflows: what they make, what later steps see, how they fail and go on."""

from __future__ import annotations

import json

import yaml

from plan.run.conftest import lab, plans  # noqa: F401  (fixtures)
from plan.run.test_crash import until
from steps.conftest import Flow, flow  # noqa: F401

STEP = """
steps:
  - id: split
    type: plan
    file: {file}
    agent: fake
  - id: see
    type: shell
    run: echo {{{{ steps.split.output.landed | join(',') | sh }}}} {{{{ steps.split.output.commit | sh }}}}
"""


def test_a_plan_in_a_file_is_carried_out_and_later_steps_see_it(plans, flow):  # noqa: F811
    before = plans.lab.digest()
    file = plans.write([plans.part("a", "echo 1 > a.txt"), plans.part("b", "cat a.txt > b.txt", after=["a"])])
    said = flow(STEP.format(file=file))
    assert said.status == 0, said
    output = flow.output("split")
    assert output["landed"] == ["a", "b"]
    assert flow.stdout("see") == f"a,b {output['commit']}\n"
    assert plans.lab.content(output["commit"], "b.txt") == "1\n"
    assert "step split: 2 subplans, at most 2 calls of fake" in said.err
    assert output["commit"] in plans.lab.refs().values()
    assert "+1" in plans.lab("diff", "r", "split").out
    assert plans.lab.digest() == before


def test_a_goal_is_split_applied_and_a_resumed_run_does_not_do_it_again(plans, flow):  # noqa: F811
    plans.lab.agent('for f in a b; do [ "$1" = "${1#*  $f/x.txt}" ] || echo new > $f/x.txt; done')
    plans.lab.settings("sandbox = 'none'\nagent_sandbox = 'none'\n[plan]\nmax_files_per_subplan = 1\n")
    said = flow(
        """
        steps:
          - id: split
            type: plan
            goal: renew the files
            paths: [a, b]
            agent: fake
            check: "true"
            apply: true
          - id: fails
            type: shell
            run: test -e go
        """
    )
    assert said.status == 1, said
    assert (plans.lab.root / "a" / "x.txt").read_text() == "new\n"
    assert flow.output("split")["applied"]["changed"] == ["a/x.txt", "b/x.txt"]
    (plans.lab.root / "go").touch()
    said = flow.resume()
    assert said.status == 0, said
    assert len(plans.lab.calls) == 2


def test_where_not_all_lands_the_step_fails_with_what_did(plans, flow):  # noqa: F811
    file = plans.write([plans.part("a", "echo > a.txt"), plans.part("bad", "exit 1")])
    said = flow(STEP.format(file=file))
    assert said.status == 1, said
    step = flow.step("split")
    assert (step["status"], step["kind"]) == ("failed", "in-part")
    assert step["error"].startswith("1 of 2 subplans landed; bad: ")
    assert step["output"]["left"] == ["bad"]


def test_what_a_step_asks_wrongly_is_refused(plans, flow):  # noqa: F811
    for fields, message in (
        ("goal: x", "there is nothing to judge by"),
        ("check: 'true'", "give either `goal` or `file`"),
        ("file: f.yml\n    repair: 2", "`repair` goes with `goal`"),
    ):
        flow.write(f"steps:\n  - id: s\n    type: plan\n    {fields}\n")
        said = plans.lab("validate", str(flow.file))
        assert said.status == 1
        assert message in said.err + said.out
    said = flow("steps:\n  - {id: s, type: plan, file: missing.yml, agent: fake}\n")
    assert said.status == 1
    assert "missing.yml cannot be read" in flow.step("s")["error"]


def test_the_budget_of_the_workflow_holds(plans, flow):  # noqa: F811
    file = plans.write([plans.part(name, f"echo > {name}.txt") for name in "ab"], {"max_parallel": 1})
    said = flow(STEP.format(file=file) + "budget: {calls: 1}\n")
    assert said.status == 4, said
    assert plans.parts == ["a"]
    assert json.loads(plans.lab("show", "r", "--json").out)["status"] == "budget_spent"


def test_a_step_and_the_command_line_win_over_the_settings_and_these_over_the_defaults(plans, flow):  # noqa: F811
    plans.lab.agent("echo new > a/x.txt")
    plans.lab.settings(
        "sandbox = 'none'\nagent_sandbox = 'none'\n"
        "[plan]\nexecution_mode = 'sequential'\nmax_retries = 3\nmax_reopened = 0\nfail_fast = true\n"
    )
    said = flow(
        """
        steps:
          - {id: split, type: plan, goal: renew, paths: [a], agent: fake, check: "true", max_retries: "{{ 2 }}"}
        """
    )
    assert said.status == 0, said
    (asked,) = [one["plan"] for name, one in flow.history.decisions.items() if name.startswith("split#plan")]
    config = {"execution_mode": "sequential", "max_parallel": 5, "fail_fast": True, "max_retries": 2}
    assert asked["config"] == {**config, "timeout_per_subplan": None, "on_conflict": "reopen", "max_reopened": 0}
    dry = ("plan", "renew", "a", "--agent", "fake", "--check", "true", "--dry-run", "-o", "-")
    written = yaml.safe_load(plans.lab(*dry, "--no-fail-fast", "--max-parallel", "2", "--max-retries", "0").out)
    assert written["config"]["execution_mode"] == "sequential"
    assert written["config"]["max_parallel"] == 2
    assert not written["config"].get("fail_fast")
    assert not written["config"].get("max_retries")
    assert written["config"]["max_reopened"] == 0


def test_what_a_subplan_of_a_step_made_can_be_shown_and_taken(plans, flow):  # noqa: F811
    bad = plans.part("bad", "echo bad > b.txt; exit 1")
    file = plans.write([plans.part("a", "echo 1 > a.txt"), bad, plans.part("c", "echo 3 > c.txt")])
    said = flow(STEP.format(file=file))
    assert said.status == 1, said
    diff = plans.lab("diff", "r", "split", "c").out
    assert "+3" in diff
    assert "a.txt" not in diff
    shown = plans.lab("diff", "r", "split", "a", "--json").json
    assert (shown["step"], [one["path"] for one in shown["changed"]]) == ("split/a", ["a.txt"])
    for args, message in (
        (("diff", "r", "split", "nobody"), "there is no subplan 'nobody'; there are: a, bad, c"),
        (("diff", "r", "split", "bad"), "step split of run r has nothing that could be shown or taken"),
        (("diff", "r", "split", "a", "b"), "step split of run r is a plan: name one of its subplans"),
        (("diff", "r", "see", "a"), "has made no attempts"),
    ):
        said = plans.lab(*args)
        assert said.status == 1
        assert message in said.err
    said = plans.lab("apply", "r", "split", "c")
    assert said.status == 0, said
    assert "the result of subplan split/c applied: 1 file written" in said.out
    assert (plans.lab.root / "c.txt").read_text() == "3\n"
    assert not (plans.lab.root / "a.txt").exists()


def test_what_a_subplan_of_a_step_has_made_can_be_shown_while_others_work(plans, flow):  # noqa: F811
    wait = "until [ -e $PLACE/go ]; do sleep 0.02; done"
    parts = [
        plans.part("a", "echo 1 > a.txt"),
        plans.part("b", f": > $PLACE/there; {wait}; echo 2 > b.txt", after=["a"]),
    ]
    flow.write(STEP.format(file=plans.write(parts)))
    with plans.lab.spawn("run", str(flow.file), "--run-id", "r", "-q") as process:
        until(lambda: (plans.lab.place / "there").exists())
        assert "+1" in plans.lab("diff", "r", "split", "a").out
        assert "its subplan b made nothing" in plans.lab("diff", "r", "split", "b").err
        (plans.lab.place / "go").touch()
        process.communicate()
    assert "+2" in plans.lab("diff", "r", "split", "b").out
