"""The step type `attempt`: what it makes, what later steps see of it, how it fails, what it may use."""

from __future__ import annotations

import json

import pytest

from attempt.conftest import ADD, FIX, FIXED
from steps.conftest import peak

SECOND = f'echo "# $BAKEOFF_ATTEMPT" >> calc.py; [ $BAKEOFF_ATTEMPT != 2 ] || {FIX}'

SOLVE = f"""
steps:
  - id: solve
    type: attempt
    agent: fake
    task: make add add
    attempts: 3
    check: {FIXED}
"""


def test_a_winner_is_found_and_later_steps_see_it(lab, flow):
    lab.agent(SECOND, say="echo I did it")
    before = lab.digest()
    said = flow(
        SOLVE
        + """
  - id: see
    type: shell
    run: echo {{ steps.solve.output.winner }} {{ steps.solve.output.commit }} {{ steps.solve.output.diff.files }}
"""
    )
    assert said.status == 0, said
    assert "at most 3 agent calls" in said.err
    output = flow.output("solve")
    assert output["winner"] == 2
    assert output["closest"] is None
    assert output["text"].strip() == "I did it"
    assert output["diff"] == {"files": 1, "added": 2, "deleted": 1}
    assert [one["status"] for one in output["attempts"]][:2] == ["failed", "passed"]
    (verdict,) = output["verdicts"]
    assert (verdict["check"], verdict["verdict"]) == (FIXED, "passed")
    assert verdict["receipt"]["tree"] == output["tree"]
    assert flow.stdout("see") == f"2 {output['commit']} 1\n"
    logs = lab("logs", "r", "solve").out
    assert "==> solve/attempt:2/generate <==\nI did it\n" in logs
    assert "failed: exit status 1" in logs
    assert lab.digest() == before
    assert lab.slots() == []
    assert "a + b" in lab.content(output["commit"], "calc.py")
    assert lab.content(output["ref"], "calc.py").endswith("# 2\n")


def test_no_winner_fails_with_the_closest(lab, flow):
    lab.agent("echo '# x' >> calc.py")
    said = flow(
        f"""
        steps:
          - {{id: solve, type: attempt, agent: fake, task: t, attempts: 2, check: ["true", {FIXED}]}}
          - {{id: after, type: shell, run: echo after}}
        """
    )
    assert said.status == 1
    step = flow.step("solve")
    assert (step["status"], step["kind"]) == ("failed", "no-winner")
    assert (
        step["error"]
        == f"none of 2 attempts passed; closest is attempt 1, which meets 1 of 2; `{FIXED}`: exit status 1"
    )
    assert step["output"]["closest"] == 1
    assert "# x" in lab.content(step["output"]["commit"], "calc.py")
    assert "after" not in json.loads(lab("show", "r", "--json").out)["steps"]
    assert "closest is attempt 1" in said.err + said.out


def test_continue_on_error_goes_on(lab, flow):
    lab.agent("true")  # changes nothing
    said = flow(
        f"""
        steps:
          - {{id: solve, type: attempt, agent: fake, task: t, check: {FIXED}, continue_on_error: true}}
          - {{id: after, type: shell, run: "echo [{{{{ steps.solve.status }}}}] [{{{{ steps.solve.output.winner }}}}]"}}
        """
    )
    assert said.status == 0, said
    assert flow.stdout("after") == "[failed] []\n"
    step = flow.step("solve")
    assert step["kind"] == "empty"
    assert "attempt 1: empty: fake changed nothing" in step["error"]


def test_repair_and_its_names(lab, flow):
    lab.agent('echo "$1" >> seen.txt; [ "$BAKEOFF_ATTEMPT" != 4 ] || ' + FIX)
    said = flow(
        f"""
        steps:
          - {{id: solve, type: attempt, agent: fake, task: make it add, concurrency_budget: 2, loop_budget: 2, check: {FIXED}}}
        """
    )
    assert said.status == 0, said
    assert flow.output("solve")["winner"] == 4
    assert sorted(lab.calls) == ["1", "2", "3", "4"]
    assert "It does not meet these requirements" in lab.content(flow.output("solve")["commit"], "seen.txt")


def test_scores_choose(lab, flow):
    lab.agent("echo $((BAKEOFF_ATTEMPT * 10)) > n.txt")
    flow(
        """
        steps:
          - {id: solve, type: attempt, agent: fake, task: t, attempts: "{{ 3 }}", score: cat n.txt}
        """
    )
    output = flow.output("solve")
    assert (output["winner"], output["score"]) == (3, 30.0)
    assert [one["score"] for one in output["attempts"]] == [10.0, 20.0, 30.0]


def test_numbers_and_texts_may_be_expressions(lab, flow):
    lab.agent(f"cat base.txt; {FIX}", name="other")
    lab.write("base.txt", "old")
    base = lab.commit("with base")
    lab.write("base.txt", "new")
    said = flow(
        f"""
        workflow: {{id: f, name: F, version: "1.0.0", integration: other}}
        inputs:
          n: {{type: number, default: 2}}
          base: {{type: string, default: {base}}}
        steps:
          - id: solve
            type: attempt
            task: "fix {{{{ inputs.base }}}}"
            attempts: "{{{{ inputs.n }}}}"
            repair: "{{{{ inputs.n }}}}"
            base: "{{{{ inputs.base }}}}"
            check: [{FIXED}, "grep -q {{{{ 'old' | sh }}}} base.txt"]
        """
    )
    assert said.status == 0, said
    assert "agent calls: those of step solve, known only when it runs; no budget is set" in said.err
    assert "step solve: at most 6 calls of other" in said.err
    assert flow.output("solve")["text"].startswith("old")


def test_values_that_are_no_numbers_fail_the_step(lab, flow):
    lab.agent(FIX)
    said = flow(
        f"""
        inputs: {{n: {{type: string, default: many}}}}
        steps:
          - {{id: solve, type: attempt, agent: fake, task: t, attempts: "{{{{ inputs.n }}}}", check: {FIXED}}}
        """
    )
    assert said.status == 1
    assert flow.step("solve")["error"] == "`attempts`: 'many' is no number"
    assert flow.resume("-i", "n=0").status == 1
    assert flow.step("solve")["error"] == "`attempts` must be at least 1, not 0"
    assert lab.calls == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("agent: nobody", "no agent is called `nobody`"),
        ("agent: gone", "no program 'no-such-program-anywhere'"),
        ("agent: fake, max_tokens: 10", "does not report how many it used"),
        ("agent: fake, base: nowhere", "nowhere"),
    ],
)
def test_a_step_that_cannot_begin_says_why(lab, flow, fields, words):
    lab.agent(FIX)
    lab.agents["gone"] = '[agents.gone]\nargv = ["no-such-program-anywhere", "{prompt}"]\n'
    lab.settings()
    said = flow(f"steps:\n  - {{id: solve, type: attempt, task: t, check: {FIXED}, {fields}}}\n")
    assert said.status == 1
    assert words in said.err + str(flow.step("solve")["error"])
    assert lab.calls == []


def test_its_own_ceiling_ends_the_step_and_more_of_it_goes_on(lab, flow):
    lab.agent(SECOND)
    text = f"""
        inputs: {{calls: {{type: number, default: 1}}}}
        steps:
          - {{id: solve, type: attempt, agent: fake, task: t, attempts: 2, check: {FIXED}, max_calls: "{{{{ inputs.calls }}}}"}}
        """
    said = flow(text)
    assert said.status == 1
    step = flow.step("solve")
    assert step["kind"] == "budget"
    assert "the budget is spent" in step["error"]
    said = flow.resume("-i", "calls=2")
    assert said.status == 0, said
    assert sorted(lab.calls) == ["1", "2"]
    assert flow.output("solve")["winner"] == 2
    assert flow.step("solve")["attempts"] == 2


def test_the_runs_ceiling_ends_the_run(lab, flow):
    lab.agent(SECOND)
    text = f"budget: {{calls: 1}}\nsteps:\n  - {{id: solve, type: attempt, agent: fake, task: t, attempts: 2, check: {FIXED}}}\n"
    assert flow(text).status == 4
    assert "solve" not in json.loads(lab("show", "r", "--json").out)["steps"]
    said = flow.edit(text.replace("calls: 1", "calls: 5"))
    assert said.status == 0, said
    assert sorted(lab.calls) == ["1", "2"]


def test_apply_writes_the_winner_into_the_files(lab, flow):
    lab.agent(f"{FIX}; echo made > made.txt; echo 'def test_x(): pass' > tests/test_calc.py")
    said = flow(
        f"""
        steps:
          - {{id: solve, type: attempt, agent: fake, task: t, check: {FIXED}, apply: true}}
          - {{id: see, type: shell, run: "cat made.txt; git diff --stat"}}
        """
    )
    assert said.status == 0, said
    assert flow.stdout("see").startswith("made\n")
    assert (lab.root / "calc.py").read_text() == ADD.replace("-", "+")
    assert "test_add" in (lab.root / "tests/test_calc.py").read_text()
    output = flow.output("solve")
    assert output["applied"]["changed"] == ["calc.py", "made.txt"]
    assert output["tests_changed"] == ["tests/test_calc.py"]
    assert flow.step("solve/apply")["status"] == "completed"


def test_apply_makes_a_branch_and_knows_its_own(lab, flow):
    lab.agent(FIX)
    text = f"steps:\n  - {{id: solve, type: attempt, agent: fake, task: make it add, check: {FIXED}, apply: 'fix-{{{{ context.run_id }}}}'}}\n"
    assert flow(text).status == 0
    assert "a + b" in lab.git("show", "fix-r:calc.py")
    made = lab.git("rev-parse", "fix-r")
    assert flow.output("solve")["applied"]["made"] == made
    assert (lab.root / "calc.py").read_text() == ADD


def test_a_conflict_keeps_the_winner(lab, flow):
    lab.agent(FIX)
    text = f"""
        steps:
          - {{id: solve, type: attempt, agent: fake, task: t, check: {FIXED}, apply: taken}}
        """
    lab.git("branch", "taken")
    assert flow(text).status == 1
    step = flow.step("solve")
    assert step["kind"] == "conflict"
    assert "attempt 1 passed, but the result was not applied" in step["error"]
    assert "a branch taken already" in step["error"]
    assert "a + b" in lab("diff", "r", "solve").out
    lab.git("branch", "-D", "taken")
    assert flow.resume().status == 0
    assert lab.calls == ["1"]
    assert "a + b" in lab.git("show", "taken:calc.py")


def test_items_of_a_fan_out_and_what_commands_say_of_them(lab, flow):
    lab.agent(f'[ "$1" = no ] || {FIX}; echo "$1" > what.txt')
    said = flow(
        f"""
        steps:
          - id: fan
            type: fan-out
            items: ["yes", "no", also]
            max_concurrency: 2
            step: {{id: solve, type: attempt, agent: fake, task: "{{{{ item }}}}", check: {FIXED}, continue_on_error: true}}
          - id: see
            type: shell
            run: echo {{{{ steps.fan.output.results | map('winner') | json | sh }}}}
        """,
        "--max-parallel",
        "2",
    )
    assert said.status == 0, said
    assert json.loads(flow.stdout("see")) == [1, None, 1]
    assert peak(flow.history) <= 2
    commits = [flow.output(f"fan:solve:{number}")["commit"] for number in range(3)]
    assert [lab.content(commit, "what.txt") for commit in commits] == ["yes\n", "no\n", "also\n"]
    assert "+also" in lab("diff", "r", "fan:solve:2").out
    assert "+no" in lab("diff", "r", "fan:solve:1", "1").out
    assert "no winner; name one, for example 1" in lab("diff", "r", "fan:solve:1").err
    assert "name one: fan:solve:0, fan:solve:1, fan:solve:2" in lab("diff", "r").err
    assert "has no attempt 7" in lab("diff", "r", "fan:solve:0", "7").err
    assert "is no number of an attempt" in lab("diff", "r", "fan:solve:0", "x").err
    assert "steps that have one" in lab("diff", "r", "see").err
    assert "has made no attempts" in lab("diff", "r", "see", "1").err
    shown = lab("show", "r", "--all").out
    assert "✓ solve:0 attempt" in shown
    assert "✗ check:0 check failed" in shown
    assert "attempt:1" in shown
    assert lab("report", "r", "-o", "-").out.count("attempt:1") >= 3
    landed = lab("apply", "r", "fan:solve:2", "--json").json
    assert (landed["attempt"], landed["step"]) == (1, "fan:solve:2")
    assert (lab.root / "what.txt").read_text() == "also\n"
    listed = lab("runs").out
    assert "flow" in listed


def test_in_loops_branches_and_called_workflows(lab, flow):
    lab.agent(f"[ ! -e tries.txt ] || {FIX}; echo x >> tries.txt")
    (lab.place / "inner.yml").write_text(
        f"""
workflow: {{id: inner, name: Inner, version: "1.0.0"}}
steps:
  - id: pass
    type: do-while
    max_iterations: 3
    condition: "{{{{ steps.solve.status == 'failed' }}}}"
    steps:
      - {{id: solve, type: attempt, agent: fake, task: t, check: {FIXED}, continue_on_error: true, apply: true}}
      - {{id: note, type: shell, run: echo x >> tries.txt}}
"""
    )
    said = flow(
        """
        steps:
          - id: both
            type: parallel
            branches:
              one: [{id: if, type: if, condition: true, then: [{id: sub, type: workflow, workflow: inner.yml}]}]
              two: [{id: other, type: shell, run: echo other}]
        """
    )
    assert said.status == 0, said
    assert lab.calls == ["1", "1"]
    statuses = {
        path: record.status for path, record in flow.history.records.items() if path.startswith("sub/pass:solve")
    }
    assert statuses["sub/pass:solve:0"] == "failed"
    assert statuses["sub/pass:solve:1"] == "completed"
    assert (lab.root / "calc.py").read_text() == ADD.replace("-", "+")


def test_timeout_lane_env_and_retry_reach_the_leaves(lab, flow):
    lab.agent(f'[ "$WHO" = me ] || exit 3; {FIX}')
    said = flow(
        f"""
        lanes: {{db: 1}}
        steps:
          - id: fan
            type: fan-out
            items: [1, 2]
            max_concurrency: 2
            step:
              id: solve
              type: attempt
              agent: fake
              task: t
              check: [{FIXED}, test "$WHO" = me]
              env: {{WHO: me}}
              lane: db
        """
    )
    assert said.status == 0, said
    assert peak(flow.history) == 1
    lab.agent("sleep 30", name="slow")
    said = lab("run", str(flow.write(f"steps:\n  - {{id: a, type: attempt, agent: slow, task: t, check: {FIXED}, timeout: 0.5}}\n")), "--run-id", "t")  # fmt: skip
    assert said.status == 1
    assert "timed out after 0.5 s" in said.err
    assert lab.left() == []
    assert lab.slots() == []


def test_a_call_that_fails_is_tried_again_as_retry_says(lab, flow):
    lab.agent(f"[ -e {lab.place}/once ] || {{ touch {lab.place}/once; sleep 20; }}; {FIX}")
    said = flow(
        f"""
        steps:
          - id: solve
            type: attempt
            agent: fake
            task: t
            check: {FIXED}
            agent_timeout: 3
            retry: {{attempts: 2, delay: 0, on: [timeout]}}
        """
    )
    assert said.status == 0, said
    assert lab.calls == ["1", "1"]


def test_outside_of_a_git_work_tree(lab, flow, tmp_path, monkeypatch):
    lab.agent(FIX)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "bakeoff.toml").write_text((lab.root / "bakeoff.toml").read_text())
    monkeypatch.chdir(elsewhere)
    said = flow(SOLVE)
    assert said.status == 1
    assert "git" in said.err
    assert lab.calls == []


def test_one_bound_over_all_nesting_and_no_lane_is_waited_for_while_another_is_held(lab, flow):
    lab.agent(f'[ $BAKEOFF_ATTEMPT = 1 ] || {FIX}; echo "$1" > what.txt')
    said = flow(
        f"""
        lanes: {{slots: 2, tests: 1, agents: 2}}
        steps:
          - id: outer
            type: fan-out
            items: [1, 2]
            max_concurrency: 2
            step:
              id: both
              type: parallel
              branches:
                a:
                  - id: inner
                    type: fan-out
                    items: [x, y]
                    max_concurrency: 2
                    step: {{id: solve, type: attempt, agent: fake, task: "{{{{ item }}}}", repair: 1, attempts: 2, check: {FIXED}}}
                b:
                  - id: more
                    type: fan-out
                    items: [1, 2, 3]
                    max_concurrency: 3
                    step: {{id: work, type: shell, workspace: slot, run: echo x > x}}
                c: [{{id: plain, type: shell, run: "true"}}]
        """,
        "--max-parallel",
        "3",
    )
    assert said.status == 0, said
    history = flow.history
    assert peak(history) <= 3
    assert peak(history, "/generate") <= 2
    assert {
        record.status.value for path, record in history.records.items() if path.endswith(("solve:0", "solve:1"))
    } == {"completed"}
    assert lab.slots() == []


def test_what_is_printed_as_json_has_the_published_shape(lab, flow):
    from jsonschema import Draft202012Validator

    from bakeoff.cli.schema import output_schema

    def checked(name: str, *args: str) -> None:
        said = lab(name, *args, "--json")
        assert said.status in (0, 3), said
        Draft202012Validator(output_schema(name)).validate(said.json)

    lab.agent(f"{FIX}; echo '# x' >> tests/test_calc.py")
    flow(SOLVE)
    checked("diff", "r", "solve")
    checked("diff", "r", "--stat")
    checked("apply", "r", "solve", "--branch", "b")
    checked("show", "r")
    checked("runs")
    checked("slots")
    lab("clean", "r")
    checked(
        "attempt",
        "make it",
        "--agent",
        "fake",
        "--check",
        FIXED,
        "--check",
        "true",
        "--score",
        "echo 3",
        "--run-id",
        "a",
        "--apply",
    )
    checked("attempt", "make it", "--agent", "fake", "--check", "false", "--repair", "1", "--run-id", "b")
    checked("compare", "b", "--check", FIXED)
    for name in ("a", "b"):
        checked("show", name)
    checked("diff", "a")
    listed = lab("runs").out
    assert "make it" in listed
    assert "compare b" in listed


def test_money_of_a_step(lab, flow):
    event = json.dumps(
        {
            "type": "result",
            "is_error": False,
            "result": "d",
            "total_cost_usd": 0.3,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
    )
    lab.agent('echo "# $BAKEOFF_ATTEMPT" >> calc.py', name="paid", say=f"echo '{event}'", more='like = "claude"')
    lab.settings("max_usd = 0.4\n[lanes]\nagents = 1\n")
    said = flow(
        f"steps:\n  - {{id: solve, type: attempt, agent: paid, task: t, attempts: 5, max_cost: 1, check: {FIXED}}}\n"
    )
    assert said.status == 1, said
    assert flow.step("solve")["kind"] == "budget", flow.step("solve")
    assert lab.calls == ["1", "2", "3"]
    assert flow.output("solve")["usage"]["usd"] == pytest.approx(0.9)
    lab("clean", "r")
    lab.place.joinpath("calls").unlink()
    text = f"budget: {{usd: 1}}\nsteps:\n  - {{id: solve, type: attempt, agent: paid, task: t, attempts: 5, check: {FIXED}}}\n"
    assert flow(text).status == 4
    assert lab.calls == ["1", "2", "3"]
    tokens = text.replace("usd: 1", "tokens: 200")
    lab("clean", "r")
    lab.place.joinpath("calls").unlink()
    assert flow(tokens).status == 4
    assert lab.calls == ["1", "2"]


def test_before_it_runs_it_is_only_planned(lab, flow):
    lab.agent(FIX)
    said = flow(
        SOLVE
        + '  - {id: t, type: shell, workspace: slot, run: ls}\n  - {id: s, type: sample, model: m, prompt: "{{ steps.solve.output.text }}"}\n',
        "--dry-run",
    )
    assert said.status == 0, said
    assert next(line.split()[:3] for line in said.out.splitlines() if "solve" in line)[1:] == ["attempt", "run"]
    assert "what it is given hangs on solve" in said.out
    assert lab.calls == []


def test_agents_know_their_step(lab, flow):
    lab.agent(f'echo "$BAKEOFF_NODE" >> {lab.place}/nodes; {FIX}')
    said = flow(
        f"""
        steps:
          - id: each
            type: fan-out
            items: [a, b]
            step: {{id: solve, type: attempt, agent: fake, task: "do {{{{ item }}}}", check: {FIXED}}}
        """
    )
    assert said.status == 0, said
    assert sorted((lab.place / "nodes").read_text().split()) == ["each:solve:0", "each:solve:1"]
