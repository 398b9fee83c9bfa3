"""The step type `sample`: a model on loopback is asked, its answers are judged, the best is kept."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from attempt.test_resume import until
from scripted_model.script import Cut, Garbage, Reply, Say, Stall, Status, in_order
from scripted_model.server import ScriptedModel
from steps.conftest import peak

Serve = Callable[..., ScriptedModel]


@pytest.fixture
def serve(lab) -> Iterator[Serve]:
    """Starts model servers and names them in the settings."""
    servers: dict[str, ScriptedModel] = {}

    def start(*replies: Reply, name: str = "m", script: Any = None) -> ScriptedModel:
        servers[name] = server = ScriptedModel(script or in_order(*replies), tools=False).__enter__()
        tables = [f'[models.{name}]\nbase_url = "{one.url}/v1"\n' for name, one in servers.items()]
        lab.settings("\n".join(tables))
        return server

    yield start
    for server in servers.values():
        server.__exit__(None, None, None)


def said_to(server: ScriptedModel, number: int = -1) -> str:
    return str(server.seen[number].body["messages"][-1]["content"])


def test_every_sort_of_requirement(lab, flow, serve):
    server = serve(Say("Bob"), Say("Ada: 5"), Say('{"x": 1}'), Say('{"Ada": 12}'), Say("yes"), Say("no, never"))
    lab.write("checks.py", 'def long(text):\n    """is long"""\n    return len(text) > 8, "too short"\n')
    said = flow(
        """
        steps:
          - id: ask
            type: sample
            model: m
            system: Be brief.
            prompt: "Write {{ 'JSON' }}."
            loop_budget: 4
            requirements:
              - {regex: Ada, description: names Ada}
              - {regex: '\\d\\d\\d', absent: true}
              - {schema: {type: object}}
              - {check: "grep -q {{ '12' | sh }} && test $WHO = me"}
              - {function: "checks:long"}
              - it is polite
            env: {WHO: me}
          - {id: see, type: shell, env: {T: "{{ steps.ask.output.text }}"}, run: 'echo "$T" {{ steps.ask.output.index }}'}
        """
    )
    assert said.status == 0, said
    assert "at most 8 calls of agents and models, of up to 8 requests each where a model fails" in said.err
    output = flow.output("ask")
    assert (output["text"], output["index"], output["success"], output["winner"]) == ('{"Ada": 12}', 3, True, 4)
    assert [one["status"] for one in output["attempts"]] == ["failed", "failed", "failed", "passed"]
    assert [one["verdict"] for one in output["verdicts"]] == ["passed"] * 6
    assert output["verdicts"][3]["receipt"]["exit_code"] == 0
    assert output["usage"]["calls"] == 5
    assert flow.stdout("see") == '{"Ada": 12} 3\n'
    assert server.seen[0].body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert said_to(server, 0) == "Write JSON."
    shown = lab("show", "r", "--all").out
    assert "attempt:4" in shown
    assert lab("report", "r", "-o", "-").status == 0


def test_without_success_the_step_fails_and_keeps_the_best(lab, flow, serve):
    serve(Say("one"), Say("two three"))
    said = flow(
        """
        steps:
          - id: ask
            type: sample
            model: m
            prompt: p
            requirements: [{regex: two}, {check: "exit 4"}]
            continue_on_error: true
          - {id: see, type: shell, env: {T: "{{ steps.ask.output.text }}"}, run: 'echo "$T" {{ steps.ask.output.success }}'}
        """
    )
    assert said.status == 0, said
    step = flow.step("ask")
    assert (step["status"], step["kind"]) == ("failed", "no-winner")
    assert (
        step["error"] == "none of 2 attempts passed; closest is attempt 2, which meets 1 of 2; `exit 4`: exit status 4"
    )
    assert flow.stdout("see") == "two three False\n"


STRATEGIES = [
    ("strategy: repair", [Say("bad"), Say("good")], "good", 2),
    ("strategy: multi-turn", [Say("bad"), Say("good")], "good", 2),
    ("strategy: best-of-n, score: wc -c", [Say("good"), Say("good good")], "good good", 2),
    ("strategy: best-of-n, score: wc -c, good_enough: 4", [Say("good"), Say("good good")], "good", 1),
    (
        "strategy: majority, loop_budget: 3, similarity: normalised",
        [Say("good"), Say("a good"), Say("Good ")],
        "good",
        2,
    ),
    ("strategy: escalation, slow: big", [Say("bad"), Say("worse")], "good from big", 2),
    ("mode: fastest, concurrency_budget: 2", [Say("good")], "good", 1),
]


@pytest.mark.parametrize(("fields", "replies", "text", "calls"), STRATEGIES)
def test_strategies(lab, flow, serve, fields, replies, text, calls):
    server = serve(*replies)
    serve(Say("good from big"), name="big")
    said = flow(
        f"steps:\n  - {{id: ask, type: sample, model: m, prompt: p, requirements: [{{regex: '(?i)good'}}], {fields}}}\n"
    )
    assert said.status == 0, said
    assert flow.output("ask")["text"] == text
    assert len(server.seen) >= calls
    if "repair" in fields:
        assert "did not meet these requirements" in said_to(server)
    if "multi-turn" in fields:
        assert [turn["role"] for turn in server.seen[-1].body["messages"]] == ["user", "assistant", "user"]


def test_an_action_in_python_and_json_answers(lab, flow, serve):
    lab.write(
        "act.py",
        "async def make(attempt):\n    return {'n': attempt.id}\n\nasync def two(value):\n    return value['n'] == 2\n",
    )
    said = flow("steps:\n  - {id: ask, type: sample, action: 'act:make', requirements: [{function: 'act:two'}]}\n")
    assert said.status == 0, said
    assert flow.output("ask")["data"] == {"n": 2}
    assert flow.output("ask")["text"] == "{'n': 2}"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("prompt: p, model: nobody", "no model is called 'nobody'"),
        ("prompt: p", "no model is named"),
        ("action: 'nowhere:make'", "ModuleNotFoundError"),
        ("action: 'json:nothing'", "the module json has no function nothing"),
        ("action: nothing", "names no function"),
        ("action: 'json:dumps'", "an action is"),
        ("prompt: p, model: m, requirements: [{regex: '('}]", "cannot be compiled"),
        ("action: 'act:make', requirements: [polite]", "there is no model to judge 'polite'"),
        ("prompt: p, model: m, loop_budget: \"{{ 'x' }}\"", "`loop_budget`: 'x' is no number"),
        ('prompt: p, model: m, loop_budget: "{{ 0 }}"', "`loop_budget` must be at least 1, not 0"),
        ("prompt: p, model: m, budget: {usd: 1}", "there is a ceiling on usd"),
        ("prompt: p, model: m, budget: {calls: \"{{ 'x' }}\"}", "`budget`, calls: 'x' is no number"),
    ],
)
def test_a_step_that_cannot_begin_says_why(lab, flow, serve, fields, words):
    server = serve(Say("x"))
    lab.write("act.py", "async def make(attempt):\n    return 'x'\n")
    assert flow(f"steps:\n  - {{id: ask, type: sample, {fields}}}\n").status == 1
    assert words in flow.step("ask")["error"]
    assert server.seen == []


def test_models_that_cannot_be_asked_are_named_before_anything_is_paid(lab, flow, serve):
    serve(Say("x"))
    said = flow(
        """
        inputs: {which: {type: string, default: mm}}
        steps:
          - {id: a, type: shell, run: exit 1}
          - id: b
            type: fan-out
            items: [1]
            step: {id: c, type: sample, prompt: p, model: "{{ inputs.which }}", judge: "{{ steps.a.output.stdout }}"}
          - {id: d, type: sample, prompt: p, judge: "openai:gpt"}
          - {id: e, type: sample, action: "act:make"}
        """
    )
    assert said.status == 1
    warned = [line for line in said.err.splitlines() if line.startswith("! step")]
    assert [line.split(":")[0].split(" (")[0] for line in warned] == ["! step c", "! step d", "! step d"]
    assert "no model is called 'mm'. Did you mean m?" in warned[0]
    assert "no model is named for this step" in warned[1]
    assert "the variable OPENAI_API_KEY is not set" in warned[2]


def test_a_permanent_error_has_its_kind(lab, flow, serve):
    serve(Status(401))
    assert flow("steps:\n  - {id: ask, type: sample, model: m, prompt: p}\n").status == 1
    assert flow.step("ask")["kind"] == "auth"


def test_retry_makes_the_step_try_again_and_not_the_model(lab, flow, serve):
    server = serve(Status(429, retry_after=0), Say("good"))
    said = flow(
        """
        steps:
          - {id: ask, type: sample, model: m, prompt: p, loop_budget: 1, retry: {attempts: 2, delay: 0, on: [rate-limit]}}
        """
    )
    assert said.status == 0, said
    assert len(server.seen) == 2
    assert flow.step("ask/attempt:1/generate")["attempts"] == 2


def test_budgets_of_the_step_and_of_the_run(lab, flow, serve):
    server = serve(Say("bad"))
    text = """
        inputs: {calls: {type: number, default: 1}}
        steps:
          - id: ask
            type: sample
            model: m
            prompt: p
            loop_budget: 5
            requirements: [{regex: good}]
            budget: {calls: "{{ inputs.calls }}"}
        """
    assert flow(text).status == 1
    assert flow.step("ask")["kind"] == "budget"
    assert len(server.seen) == 1
    assert flow.resume("-i", "calls=2").status == 1
    assert len(server.seen) == 2
    lab("clean", "r")
    assert (
        flow(
            "budget: {calls: 2}\n"
            + "steps:"
            + text.partition("steps:")[2].replace('{calls: "{{ inputs.calls }}"}', "{}")
        ).status
        == 4
    )


@pytest.mark.parametrize("bad", [Cut(), Garbage()])
def test_answers_that_may_be_billed_are_tried_again_only_as_the_budget_has_room(lab, flow, serve, bad):
    server = serve(bad, bad, bad, Say("good"))
    step = "steps:\n  - {id: ask, type: sample, model: m, prompt: p, loop_budget: 1}\n"
    said = flow("budget: {calls: 2}\n" + step)
    assert said.status == 4, said
    assert len(server.seen) == 2
    assert "the budget has no room for another call" in flow.step("ask/attempt:1/generate")["error"]
    assert flow.step("ask/attempt:1/generate")["usage"]["calls"] == 2
    lab("clean", "r")
    said = flow("budget: {calls: 9}\n" + step)
    assert said.status == 0, said
    assert len(server.seen) == 4
    assert flow.step("ask/attempt:1/generate")["usage"]["calls"] == 2


def test_what_was_turned_away_costs_no_call(lab, flow, serve):
    server = serve(Status(429, retry_after=0), Status(503, retry_after=0), Say("good"))
    said = flow("budget: {calls: 1}\nsteps:\n  - {id: ask, type: sample, model: m, prompt: p, loop_budget: 1}\n")
    assert said.status == 0, said
    assert len(server.seen) == 3
    assert flow.step("ask/attempt:1/generate")["usage"]["calls"] == 1


def test_a_judge_that_is_cut_off_is_asked_again_only_as_the_budget_has_room(lab, flow, serve):
    serve(Say("good"))
    judge = serve(Cut(), Cut(), Say("yes"), name="j")
    said = flow(
        "budget: {calls: 3}\nsteps:\n"
        "  - {id: ask, type: sample, model: m, judge: j, prompt: p, loop_budget: 1, requirements: [it is polite]}\n"
    )
    assert said.status != 0, said
    assert len(judge.seen) == 2


def test_many_items_share_a_model_and_the_bound(lab, flow, serve):
    server = serve(Say("good"))
    said = flow(
        """
        steps:
          - id: fan
            type: fan-out
            items: [1, 2, 3, 4, 5, 6]
            max_concurrency: 6
            step: {id: ask, type: sample, model: m, prompt: "{{ item }}", requirements: [{check: sleep 0.02}]}
        """,
        "--max-parallel",
        "2",
    )
    assert said.status == 0, said
    assert peak(flow.history) <= 2
    assert sorted(seen.body["messages"][0]["content"] for seen in server.seen) == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    "how", ["SIGKILL", *(pytest.param(how, marks=pytest.mark.soak(only=True)) for how in ("SIGINT", "cancel"))]
)
def test_stopped_in_the_middle_nothing_is_asked_twice(lab, flow, serve, how):
    server = serve(script=in_order(Say("bad"), Stall(), Say("good")))
    path = flow.write(
        """
        inputs: {what: {type: string, default: write}}
        steps:
          - {id: ask, type: sample, model: m, prompt: "{{ inputs.what }}", loop_budget: 4, requirements: [{regex: good}, {check: "true"}]}
        """
    )
    process = lab.spawn("run", str(path), "--run-id", "r", stdin=subprocess.DEVNULL)
    until(lambda: len(server.seen) == 2)
    if how == "cancel":
        assert lab("cancel", "r").status == 0
    else:
        process.send_signal(getattr(signal, how))
    process.communicate(timeout=60)
    assert server.seen[1].left.wait(60)
    until(lambda: lab.left() == [])
    server.release.set()
    said = flow.resume("-i", "what=else")
    assert said.status == 0, said
    assert len(server.seen) == 3
    # What was asked for is decided when the step begins.
    assert said_to(server) == "write"
    assert flow.output("ask")["winner"] == 2


def test_an_edited_file_keeps_the_answers_that_it_still_asks_for(lab, flow, serve):
    server = serve(Say("bad"), Say("good"))
    text = "steps:\n  - {id: ask, type: sample, model: m, prompt: p, loop_budget: 1, requirements: [{regex: good}]}\n"
    assert flow(text).status == 1
    more = text.replace("loop_budget: 1", "loop_budget: 2").replace("id: ask", "id: asked")
    out = lab("resume", "r", "--edit", str(flow.write(more)), "--explain").out
    assert "asked" in out
    assert "run" in out
    assert flow.edit(more).status == 0
    assert len(server.seen) == 2
    assert flow.output("asked")["winner"] == 2
    after = more + "  - {id: after, type: shell, run: echo after}\n"
    plan = json.loads(lab("resume", "r", "--edit", str(flow.write(after)), "--explain", "--json").out)["steps"]
    assert [(row["path"], row["action"]) for row in plan] == [("asked", "reuse"), ("after", "run")]
    assert flow.edit(after).status == 0
    assert len(server.seen) == 2


def test_a_long_answer_is_kept_in_a_file(lab, flow, serve):
    serve(Say("x" * 40_000))
    assert (
        flow(
            "steps:\n  - {id: ask, type: sample, model: m, prompt: p}\n  - {id: n, type: shell, run: 'echo {{ steps.ask.output.text | length }}'}\n"
        ).status
        == 0
    )
    assert flow.stdout("n") == "40000\n"


def test_commands_that_judge_badly(lab, flow, serve):
    serve(Say("text"))
    flow(
        """
        steps:
          - id: ask
            type: sample
            model: m
            prompt: p
            loop_budget: 1
            requirements: [{check: sleep 20, timeout: 0.3}, {check: 'kill -9 $$'}]
        """
    )
    verdicts = {one["check"]: one for one in flow.output("ask")["verdicts"]}
    assert verdicts["sleep 20"]["error"] == "timeout"
    lab("clean", "r")
    flow("steps:\n  - {id: ask, type: sample, model: m, prompt: p, loop_budget: 1, score: echo 5 >&2}\n")
    assert flow.output("ask")["verdicts"][0]["error"] == "no score"
    lab("clean", "r")
    flow(
        "steps:\n  - {id: ask, type: sample, model: m, prompt: p, loop_budget: 1, requirements: [{check: 'yes | head -c 100000; exit 1'}]}\n"
    )
    assert "y\ny\n" in lab("logs", "r").out


@pytest.mark.parametrize(
    ("fields", "words", "place"),
    [
        ("prompt: p, action: a", "has a `prompt` or an `action`, one of them", ":3:5"),
        ("prompt: p, strategy: escalation", "`slow` names the model", ":3:"),
        ("action: a, strategy: escalation, slow: m", "so it takes a `prompt`", ":3:"),
        ("prompt: p, slow: m", "`slow` names the model", ":3:"),
        ("prompt: p, requirements: [{regex: a, check: b}]", "this one has `regex` and `check`", ":3:"),
        ("prompt: p, requirements: [{}]", "this one has none", ":3:"),
        ("prompt: p, requirements: [{regx: a}]", "did you mean `regex`", ":3:"),
        ("prompt: p, requirements: [5]", "must be a mapping", ":3:"),
        ("prompt: p, strategy: rejecton", "did you mean `rejection`", ":3:"),
        ("prompt: p, loop_budget: 0", "a whole number of at least 1, or an expression", ":3:"),
        ("prompt: p, loop_bugdet: 2", "did you mean `loop_budget`", ":3:"),
        ("prompt: p, budget: {calls: 0}", "a number above 0, or an expression, not the number 0", ":3:"),
        ("prompt: p, budget: {usd: -1}", "a number above 0, or an expression, not the number -1", ":3:"),
        ("prompt: p, budget: {euros: 1}", "unknown key `euros`", ":3:"),
        ("prompt: '{{ steps.nope.output }}'", "nope", ":3:"),
    ],
)
def test_validation(lab, flow, fields, words, place):
    said = lab("validate", "--strict", str(flow.write(f"steps:\n  - {{id: a, type: sample, {fields}}}\n")))
    assert said.status == 1
    assert words in said.out, said
    assert place in said.out


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("task: t", "there is nothing to judge by"),
        ("task: t, check: c, attempts: 2, concurrency_budget: 2", "say the same; take one out"),
        ("task: t, check: c, repair: 1, loop_budget: 2", "say the same; take one out"),
        ("task: t, check: c, attempts: 10001", "it may make 10,001 calls of the agent; 10,000 are the most of one run"),
        ("task: t, check: c, attempts: 101, repair: 99", "it may make 10,100 calls of the agent"),
        ("task: t, check: c, cwd: sub", "`cwd` has no effect here"),
        ("task: t, check: c, with_tests: true", "`with_tests` means nothing without `apply`"),
        ("task: t, chek: c", "did you mean `check`"),
        ("task: t, check: c, attempts: -1", "a whole number of at least 1"),
        ("task: t, check: c, attempts: two", "a whole number of at least 1"),
        ("task: t, check: c, max_cost: -0.5", "a number above 0"),
        ("task: t, check: c, max_cost: 0", "a number above 0, or an expression, not the number 0"),
        ("task: t, check: c, max_calls: 0", "a number above 0, or an expression, not the number 0"),
        ("task: t, check: c, max_tokens: 0", "a number above 0, or an expression, not the number 0"),
        ("check: c", "`task` is missing"),
        ("task: t, check: c, agent: nobody", "no agent is called `nobody`"),
    ],
)
def test_validation_of_attempts(lab, flow, fields, words):
    said = lab("validate", "--strict", str(flow.write(f"steps:\n  - {{id: a, type: attempt, {fields}}}\n")))
    assert said.status == 1
    assert words in said.out, said
    assert ":3:" in said.out


@pytest.mark.parametrize("given", ["0", "-2"])
@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            "type: attempt, task: t, check: 'true', max_calls: '{{ inputs.most }}'",
            "`max_calls` must be a number above 0",
        ),
        ("type: attempt, task: t, check: 'true', max_cost: '{{ inputs.most }}'", "`max_cost` must be a number above 0"),
        ("type: attempt, task: t, check: 'true', max_tokens: '{{ inputs.most }}'", "`max_tokens` must be"),
        (
            "type: sample, model: m, prompt: p, budget: {calls: '{{ inputs.most }}'}",
            "`budget`, calls, must be a number",
        ),
        ("type: sample, model: m, prompt: p, max_tokens: '{{ inputs.most }}'", "`max_tokens` must be at least 1"),
        ("type: optimize, target: 'calc.py:add', seconds: '{{ inputs.most }}'", "`seconds` must be a number above 0"),
    ],
)
def test_a_ceiling_of_nothing_is_refused_whatever_it_comes_from(lab, flow, serve, step, said, given):
    server = serve(Say("x"))
    lab.agent("exit 1")
    text = f"inputs: {{most: {{type: number}}}}\nsteps:\n  - {{id: a, {step}}}\n"
    failed = flow(text, "-i", f"most={given}")
    assert failed.status == 1, failed
    shown = failed.out + failed.err
    assert said in shown, failed
    assert f"not {given}" in shown, failed
    assert "step a" in shown, failed
    assert (lab.calls, server.seen) == ([], [])


def test_untrusted_text_in_a_check_is_refused(lab, flow):
    text = """
        workflow: {id: f, name: F, version: "1.0.0", integration: codex}
        steps:
          - {id: ask, type: prompt, prompt: p}
          - {id: a, type: attempt, task: "{{ steps.ask.output.text }}", check: "grep {{ steps.ask.output.text }} x"}
          - {id: b, type: sample, model: local, prompt: p, requirements: [{check: "grep {{ steps.a.output.text }} x"}]}
          - {id: c, type: shell, run: "git show {{ steps.a.output.commit }} {{ steps.a.output.winner }}"}
        """
    said = lab("validate", str(flow.write(text)))
    assert said.status == 1
    assert said.out.count("pastes text that nobody has read") == 2, said
    assert lab("validate", str(flow.write(text.replace("text }}", "text | sh }}")))).status == 0


def test_the_schema_knows_them(lab, flow):
    import jsonschema
    import yaml

    schema = json.loads(lab("schema").out)
    for text, valid in [
        ("{id: a, type: attempt, task: t, check: [c], attempts: '{{ 3 }}', apply: true}", True),
        ("{id: a, type: attempt, task: t, check: [c], attempts: 0}", False),
        ("{id: a, type: attempt, check: c}", False),
        ("{id: a, type: sample, prompt: p, requirements: [{regex: x}], loop_budget: 3}", True),
        ("{id: a, type: sample, prompt: p, requirements: [{regx: x}]}", False),
        ("{id: a, type: shell, run: ls, workspace: slot}", True),
        ("{id: a, type: shell, run: ls, workspace: {base: HEAD}}", True),
        ("{id: a, type: shell, run: ls, workspace: yes}", False),
    ]:
        data = yaml.safe_load('workflow: {id: f, name: F, version: "1.0.0"}\nsteps: [' + text + "]")
        assert jsonschema.Draft202012Validator(schema).is_valid(data) is valid, text


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("requirements: [{check: pytset -q}]", "check `pytset -q` cannot judge: its program was not found"),
        ("requirements: [{check: python nope.py}]", "can't open file"),
        ("score: no-such-scorer", "score `no-such-scorer` cannot judge: its program was not found"),
    ],
)
def test_a_command_that_cannot_judge_is_not_paid_for(lab, flow, serve, field, said):
    server = serve(Say("Ada"), Say("Bob"))
    step = f"{{id: ask, type: sample, model: m, prompt: x, loop_budget: 2, {field}}}"
    failed = flow(f"steps:\n  - {step}\n")
    assert failed.status == 1, failed
    assert said in failed.out + failed.err
    assert "nothing was paid" in failed.out + failed.err
    assert server.seen == []
    flow.edit(f"steps:\n  - {{preflight: false, {step[1:]}\n")
    assert len(server.seen) == 2


def test_a_command_that_needs_a_text_is_asked_later(lab, flow, serve):
    serve(Say("def f(): return 1"))
    check = "cat > m.py; python -c 'import m; m.f()' && ! [ -z \"$(cat m.py)\" ]"
    said = flow(
        f"""
        steps:
          - id: ask
            type: sample
            model: m
            prompt: x
            requirements:
              - check: {json.dumps(check)}
        """
    )
    assert said.status == 0, said
