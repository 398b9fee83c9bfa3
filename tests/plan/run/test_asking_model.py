"""A model on loopback is asked how to split a goal: what it says is checked, it is told what is wrong, calls count."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import anyio
import jsonschema
import pytest
import yaml

from bakeoff.api.durable import DurableRun, durable
from bakeoff.cli.schema import output_schema
from bakeoff.model.registry import model_for
from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.split import splitting
from bakeoff.plan.run.split.by_model import ModelQuestion, ask_model
from bakeoff.plan.run.split.question import MOST_LISTED
from bakeoff.settings import ModelSettings, Settings
from plan.run.test_asking import subplans
from scripted_model.script import Raw, Reply, Say, Stall, Status, in_order
from scripted_model.server import ScriptedModel
from steps.conftest import Flow, flow  # noqa: F401

ARGS = ("--agent", "fake", "--check", "true", "--by", "model", "--model", "m", "--dry-run")
GOOD = subplans(("hub", "the hub", ["hub.txt"]), ("parts", "the parts", ["a/x.txt", "b/x.txt"]))
TWICE = subplans(("one", "", ["a/x.txt"]), ("two two", "", ["a/x.txt", "zz"]))

Serve = Callable[..., ScriptedModel]


@pytest.fixture
def serve(lab) -> Iterator[Serve]:
    """Starts the server of the model `m`, which has a price unless it is told otherwise."""
    servers = []

    def start(*replies: Reply, prices: str = "price_in = 1000\nprice_out = 2000", more: str = "") -> ScriptedModel:
        server = ScriptedModel(in_order(*replies), tools=False).__enter__()
        servers.append(server)
        lab.settings(
            f'sandbox = "none"\nagent_sandbox = "none"\n{more}\n[models.m]\nbase_url = "{server.url}/v1"\n{prices}\n'
        )
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def test_what_a_model_proposes_becomes_a_plan_and_what_it_took_is_said(plans, serve):
    server = serve(Say(f"Let me think.\n```json\n{TWICE}\n```"), Say(GOOD), more="[plan]\nmax_files_per_subplan = 7")
    before = plans.lab.digest()
    file = plans.lab.place / "written.yml"
    said = plans.lab("plan", "tidy up", *ARGS, "-o", str(file), "--json")
    assert said.status == 0, said
    document = yaml.safe_load(file.read_text())
    assert [(part["name"], part["goal"], part["files"]) for part in document["subplans"]] == [
        ("parts", "the parts", ["a/x.txt", "b/x.txt"]),
        ("hub", "the hub", ["hub.txt"]),
    ]
    assert "model" not in document
    first, second = (seen.body for seen in server.seen)
    for part in ("tidy up", "a/x.txt 1", "hub.txt ", "at most 7 files", "at most 100000"):
        assert part in first["messages"][0]["content"], part
    assert first["response_format"]["json_schema"]["schema"]["required"] == ["subplans"]
    assert second["messages"][1] == {"role": "assistant", "content": f"Let me think.\n```json\n{TWICE}\n```"}
    for wrong in ("a/x.txt is in 'one', too", "zz is not among", "'two two' cannot be the name"):
        assert wrong in second["messages"][2]["content"], wrong
    assert "at most 3 calls of m to split it; no budget is set" in said.err
    assert "split by m: 2 calls, 36 tokens, 0.05 usd" in said.err
    jsonschema.validate(said.json, output_schema("plan-run"))
    assert said.json["split"] == {"calls": 2, "tokens": 36, "usd": pytest.approx(0.05)}
    assert plans.lab.digest() == before
    assert plans.lab.calls == []


def test_a_model_that_says_nothing_usable_is_given_up_on_after_three_calls(plans, serve):
    server = serve(Say("no idea"), Say(subplans()), Say("{}"), Say(GOOD))
    said = plans.lab("plan", "tidy up", *ARGS)
    assert said.status == 1
    assert "m proposed nothing usable in 3 tries; the last time:\n- there is no JSON object" in said.err
    assert len(server.seen) == 3
    chunk = {"choices": [{"index": 0, "delta": {"content": '{"subpl'}, "finish_reason": "length"}]}
    serve(Raw((f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(),)))
    assert "in 3 tries; the last time (it was cut off at max_tokens):" in plans.lab("plan", "tidy up", *ARGS).err
    serve(Say("I will not", refusal=True))
    assert "m could not say how to split it: refusal" in plans.lab("plan", "tidy up", *ARGS).err


def test_no_files_and_too_many_files_are_refused():
    many = [SourceFile(f"{number}.py", 1) for number in range(MOST_LISTED + 1)]
    for files, message in ((many, "there are 4001 files, and a model can be told of 4000"), ([], "there are no files")):
        with pytest.raises(PlanError, match=message):
            ModelQuestion("m", "tidy up", files, {}, Settings())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_the_request_is_closed(serve, backend):
    server = serve(Stall())
    settings = Settings(models={"m": ModelSettings(base_url=f"{server.url}/v1")})
    question = ModelQuestion("m", "tidy up", [SourceFile("a.py", 1)], {}, settings)

    async def main(run: DurableRun) -> None:
        async with model_for("m", settings) as model:
            await ask_model(question, model, run)

    async def cancelled() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(durable, main)
            await anyio.to_thread.run_sync(server.wait, lambda seen: len(seen) == 1)
            tasks.cancel_scope.cancel()

    anyio.run(cancelled, backend=backend)
    assert server.seen[0].left.wait(60)


@pytest.mark.parametrize(
    ("ceiling", "asked", "why"),
    [
        (("--max-calls", "1"), 1, '1 calls asked for, 0 of 1 left; before that: there is no JSON object {"subplans"'),
        (("--max-tokens", "100"), 0, "tokens asked for, 100 of 100 left\n"),
        (("--max-cost", "0.0001"), 0, "usd asked for, 0.0001 of 0.0001 left\n"),
    ],
)
def test_ceilings_hold_for_the_model_that_splits(plans, serve, ceiling, asked, why):
    server = serve(Say("no idea"), Say(GOOD))
    said = plans.lab("plan", "tidy up", *ARGS, *ceiling)
    assert said.status == 4, said
    assert "m was not asked to the end: the budget is spent: " in said.err
    assert why in said.err
    assert len(server.seen) == asked


def test_it_is_said_how_a_model_failed_that_the_budget_allows_no_further_call_of(plans, serve, monkeypatch):
    monkeypatch.setattr(splitting, "RETRY", replace(splitting.RETRY, attempts=1))
    serve(Status(500), Status(500), Status(500))
    said = plans.lab("plan", "tidy up", *ARGS, "--max-calls", "1")
    assert said.status == 4, said
    assert "0 of 1 left; before that: server: m at " in said.err
    assert "HTTP 500" in said.err


def test_without_a_price_there_is_no_ceiling_on_money(plans, serve):
    server = serve(Say(GOOD), prices="max_tokens = 500")
    said = plans.lab("plan", "tidy up", *ARGS, "--max-cost", "5")
    assert said.status == 1
    assert "the price of m is not known" in said.err
    assert server.seen == []
    said = plans.lab("plan", "tidy up", *ARGS, "--max-tokens", "5000", "-o", "-")
    assert said.status == 0, said
    assert server.seen[0].body["max_tokens"] == 500
    assert "split by m: 1 call, 18 tokens, usd not known" in said.err


def test_an_endpoint_without_json_schema_is_asked_once_more(plans, serve):
    server = serve(Status(400, message="no response_format here"), Say(GOOD))
    said = plans.lab("plan", "tidy up", *ARGS, "-o", "-")
    assert said.status == 0, said
    assert "asked again without a JSON Schema" in said.err
    assert "response_format" not in server.seen[1].body
    assert "split by m: 2 calls" in said.err
    serve(Status(400, message="nothing pleases me"))
    assert "m could not say how to split it" in plans.lab("plan", "tidy up", *ARGS).err
    serve(Status(401, message="who are you"))
    assert "m could not say how to split it" in plans.lab("plan", "tidy up", *ARGS).err


def test_what_is_asked_wrongly_is_refused(plans, serve):
    serve(Say(GOOD))
    goal = ("plan", "tidy up", "--agent", "fake", "--check", "true", "--by", "model")
    assert "say --model NAME" in plans.lab(*goal, "--dry-run").err
    assert "no model is called 'n'" in plans.lab(*goal, "--dry-run", "--model", "n").err


STEP = """
steps:
  - {id: split, type: plan, goal: renew, by: model, splitter: "{{ inputs.who }}", agent: fake, check: "true"}
  - {id: last, type: shell, run: test -e go}
inputs: {who: {type: string, default: m}}
"""


def test_a_step_has_a_model_split_once_and_its_calls_are_the_runs(plans, flow, serve):  # noqa: F811
    plans.lab.agent('for f in hub.txt a/x.txt; do [ "$1" = "${1#*  $f}" ] || echo new > $f; done')
    server = serve(Say("well"), Say(GOOD))
    said = flow(STEP)
    assert said.status == 1, said
    assert "step split: at most 3 calls of m to split it" in said.err
    assert flow.output("split")["landed"] == ["parts", "hub"]
    assert plans.lab.content(flow.output("split")["commit"], "a/x.txt") == "new\n"
    usage = plans.lab("show", "r", "--json").json["usage"]
    assert usage["calls"] == 4
    assert usage["usd"] >= 0.05
    assert "✓ split:" in plans.lab("show", "r", "--all").out
    assert plans.lab("report", "r", "-o", "-").status == 0
    (plans.lab.root / "go").touch()
    assert flow.resume().status == 0
    assert len(server.seen) == 2


def test_a_step_that_begins_again_asks_only_where_there_is_no_answer_yet(plans, flow, serve):  # noqa: F811
    able = plans.lab.place / "able"
    plans.lab.agent(
        f'test -e {able} || exit 1; for f in hub.txt a/x.txt; do [ "$1" = "${{1#*  $f}}" ] || echo new > $f; done'
    )
    server = serve(Say("one"), Say("two"), Say("three"), Say(GOOD))
    said = flow(STEP)
    assert said.status == 1, said
    assert "m proposed nothing usable in 3 tries" in flow.step("split")["error"]
    assert plans.lab.calls == []
    said = flow.resume()
    assert said.status == 1, said
    assert "0 of 2 subplans landed" in flow.step("split")["error"]
    able.touch()
    (plans.lab.root / "go").touch()
    said = flow.resume()
    assert said.status == 0, said
    assert len(server.seen) == 4


def test_the_budget_of_a_workflow_holds_for_the_model_that_splits(plans, flow, serve):  # noqa: F811
    server = serve(Say("well"), Say(GOOD))
    said = flow(STEP + "budget: {calls: 1}\n")
    assert said.status == 4, said
    assert len(server.seen) == 1
    assert plans.lab.calls == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("splitter: m", "`splitter` goes with `by: model`"),
        ("by: model", "needs to know which"),
        ("by: model, splitter: n", "no model is called 'n'"),
        ("by: model, splitter: m, paths: [c], max_parallel: '{{ 0 }}'", "max_parallel must be at least 1, not 0"),
    ],
)
def test_what_a_step_asks_wrongly_is_said(plans, flow, serve, fields, message):  # noqa: F811
    server = serve(Say(GOOD))
    said = flow(f'steps:\n  - {{id: split, type: plan, goal: x, agent: fake, check: "true", {fields}}}\n')
    assert said.status == 1, said
    assert message in said.err
    assert server.seen == []


def test_a_splitter_that_is_unknown_is_said_before_anything_is_done(flow, serve):  # noqa: F811
    serve(Say(GOOD))
    said = flow("steps:\n  - {id: first, type: shell, run: exit 1}\n" + STEP.partition("steps:\n")[2], "-i", "who=n")
    assert said.status == 1, said
    assert "no model is called 'n'" in said.err
    assert "at most 3 calls" not in said.err
