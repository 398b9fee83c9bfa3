"""`plan --by agent` and `--by model` to the end: the proposal is made once, counts, is shown, and is carried out."""

from __future__ import annotations

import os
import signal

import jsonschema
import pytest

from bakeoff.cli.schema import output_schema
from bakeoff.engine.events import Event, NodeStarted, RunChanged
from bakeoff.engine.record import RunStatus
from bakeoff.plan.events import PlanBegun
from bakeoff.plan.run.lines import as_plan
from bakeoff.workspace.errors import GitError, SlotError
from bakeoff.workspace.workspace import Workspace
from crash.laboratory import Zygote
from plan.run.conftest import states
from plan.run.test_asking import subplans
from plan.run.test_asking_model import Serve, serve  # noqa: F401
from plan.run.test_crash import until
from scripted_model.script import Say
from steps.conftest import Flow, flow  # noqa: F401

ARGS = ("plan", "tidy up", "--agent", "fake", "--check", "true", "--by", "agent", "--agent-sandbox", "none",
        "--sandbox", "none", "--run-id", "r", "--json")  # fmt: skip
GOOD = subplans(("hub", "the hub", ["hub.txt"]), ("parts", "the parts", ["a/x.txt", "b/x.txt"]))


def splitter(plans, *answers: str, work: str = ":", more: str = "") -> None:
    """An agent that answers so when it is asked to split, the last answer again and again, and else does some work."""
    place = plans.lab.place
    for number, answer in enumerate(answers, 1):
        (place / f"answer-{number}").write_text(answer)
    plans.lab.agent(
        f"""
        case "$1" in *"Do not do this yet"*)
            echo >> {place}/splits
            n=$(grep -c "" {place}/splits)
            test -e {place}/answer-$n || n={len(answers)}
            echo spoiled > a/x.txt
            cat {place}/answer-$n
            exit;;
        esac
        {work}
        for f in hub.txt a/x.txt; do [ "$1" = "${{1#*  $f}}" ] || echo new > $f; done
        """,
        more=more,
    )


def splits(plans) -> int:
    """How often somebody was asked to split."""
    file = plans.lab.place / "splits"
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_what_an_agent_proposes_is_shown_and_carried_out_in_the_same_run(plans):
    splitter(plans, "well", GOOD)
    before = plans.lab.digest()
    said = plans.lab(*ARGS, "--max-calls", "9")
    assert said.status == 0, said
    shown = said.json
    jsonschema.validate(shown, output_schema("plan-run"))
    assert states(shown) == {"parts": "landed", "hub": "landed"}
    assert shown["split"] == {"by": "agent", "name": "fake", "calls": 2, "tokens": None, "usd": None}
    assert shown["usage"]["calls"] == 4
    assert plans.result("a/x.txt") == "new\n"
    for text in (
        "at most 3 calls of fake to split it; budget: 9 calls",
        "fake proposed what cannot be used: there is no JSON object",
        "split by fake: 2 calls, tokens not known, usd not known; 2 subplans",
        "parts (2 files: a/x.txt, b/x.txt): the parts",
        "2 subplans, at most",
    ):
        assert text in said.err, text
    assert "split by fake: 2 calls" in plans.lab("show", "r").out
    assert plans.lab("show", "r", "--json").json["split"]["calls"] == 2
    assert "split by<dd>fake: 2 calls" in plans.lab("report", "r", "-o", "-").out
    assert "+new" in plans.lab("diff", "r", "hub").out
    assert plans.lab.digest() == before
    assert plans.lab.slots() == []


def test_a_resumed_or_changed_run_does_not_ask_again(plans):
    able = plans.lab.place / "able"
    splitter(plans, GOOD, work=f"test -e {able} || exit 1")
    said = plans.lab(*ARGS)
    assert said.status == 1, said
    able.touch()
    said = plans.lab("plan", "retry", "r", "hub", "--json")
    assert states(said.json) == {"parts": "failed", "hub": "landed"}, said
    assert splits(plans) == 1
    assert said.json["split"]["calls"] == 1


@pytest.mark.parametrize("moment", ["while it is asked", "after it"])
def test_a_run_that_is_killed_asks_again_only_where_it_has_no_answer(plans, moment):
    go = plans.lab.place / "go"
    waits = f"until test -e {go}; do sleep 0.02; done"
    splitter(plans, GOOD, work=waits if moment == "after it" else ":")
    if moment != "after it":
        script = plans.lab.place / "fake.sh"
        script.write_text(script.read_text().replace("echo spoiled", f"{waits}; echo spoiled"))
    process = plans.lab.spawn(*ARGS)
    until(lambda: splits(plans) == 1 and len(plans.lab.calls) == (2 if moment == "after it" else 0))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    shown = plans.lab("show", "r")
    assert shown.status == 0
    assert ("fake has not split it yet" in shown.out) == (moment != "after it")
    assert plans.lab("show", "r", "--json").json["subplans"] == [] or moment == "after it"
    go.touch()
    said = plans.lab("resume", "r", "--json")
    assert states(said.json) == {"parts": "landed", "hub": "landed"}, said
    assert splits(plans) == (1 if moment == "after it" else 2)


def test_what_cannot_be_used_fails_the_run_and_a_resumed_one_asks_anew(plans):
    splitter(plans, "no", "no", "no", GOOD)
    said = plans.lab(*ARGS)
    assert said.status == 1, said
    assert said.json["error"].startswith("fake proposed nothing usable in 3 tries")
    assert said.json["subplans"] == []
    jsonschema.validate(said.json, output_schema("plan-run"))
    assert plans.lab("report", "r", "-o", "-").status == 0
    assert "there is no subplan 'hub'" in plans.lab("diff", "r", "hub").err
    assert "there are: none, for it is not split yet" in plans.lab("plan", "skip", "r", "hub").err
    said = plans.lab("resume", "r", "--json")
    assert states(said.json) == {"parts": "landed", "hub": "landed"}, said
    assert splits(plans) == 4
    assert said.json["usage"]["calls"] == 6


def test_the_budget_holds_for_splitting_and_work_together(plans):
    splitter(plans, "no", GOOD)
    said = plans.lab(*ARGS, "--max-calls", "1")
    assert said.status == 4, said
    assert "fake was not asked to the end: the budget is spent" in said.json["error"]
    said = plans.lab("resume", "r", "-i", "max_calls=3", "--json")
    assert said.status == 4, said
    assert splits(plans) == 2
    assert sum(one["landed"] for one in said.json["subplans"]) == 1
    said = plans.lab("resume", "r", "-i", "max_calls=4", "--json")
    assert said.status == 0, said
    assert splits(plans) == 2


def test_nothing_is_begun_where_nobody_could_be_asked(plans):
    splitter(plans, GOOD)
    assert "git knows no file at nowhere" in plans.lab(*ARGS[:2], "nowhere", *ARGS[2:]).err
    assert plans.lab(*ARGS, "--max-cost", "1").status == 1
    assert plans.lab("show", "r").status == 1
    assert splits(plans) == 0


def test_killed_when_the_agent_has_answered_it_is_not_asked_again(plans):
    splitter(plans, GOOD)
    streams = {"stdout": str(plans.lab.place / "out"), "stderr": str(plans.lab.place / "err")}
    crash = {"in": "bakeoff.engine.run:Run.checkpoint", "when": "after"}
    zygote = Zygote()
    try:
        asked = {"cwd": str(plans.lab.root), "argv": list(ARGS), "env": dict(os.environ), **streams, "crash": crash}
        assert zygote.call(asked) == -signal.SIGKILL, (plans.lab.place / "err").read_text()
    finally:
        zygote.close()
    said = plans.lab("resume", "r", "--json")
    assert said.status == 0, said
    assert splits(plans) == 1
    assert plans.lab("show", "r", "--json").json["split"]["calls"] == 1


def test_the_agent_is_asked_within_the_limits_given(plans):
    splitter(plans, GOOD, subplans(("one", "", ["a/x.txt"]), ("two", "", ["hub.txt"])))
    said = plans.lab(*ARGS, "--max-files", "1")
    assert said.status == 0, said
    assert splits(plans) == 2
    assert set(states(said.json)) == {"one", "two"}


def test_what_a_model_proposes_is_carried_out_in_the_same_run(plans, serve):  # noqa: F811
    splitter(plans, GOOD, more="price_in = 1\nprice_out = 1")
    server = serve(Say("well"), Say(GOOD))
    by_model = (*ARGS[:7], "model", *ARGS[8:], "--model", "m")
    said = plans.lab(*by_model)
    assert said.status == 0, said
    assert said.json["split"] == {"by": "model", "name": "m", "calls": 2, "tokens": 36, "usd": pytest.approx(0.05)}
    assert said.json["usage"]["usd"] == pytest.approx(0.05)
    assert said.json["usage"]["calls"] == 4
    assert len(server.seen) == 2
    assert plans.lab("plan", "retry", "r", "hub").status == 0
    assert len(server.seen) == 2
    assert "no model is called 'n'" in plans.lab(*by_model[:-1], "n").err
    # Who cannot do the work is known before the model is asked.
    plans.lab("clean", "r")
    splitter(plans, GOOD)
    serve(Say(GOOD))
    said = plans.lab(*by_model, "--max-cost", "5")
    assert said.status == 1
    assert "fake does not report what it costs" in said.err
    assert not plans.lab.run.root.exists()


STEP = """
steps:
  - {id: split, type: plan, goal: renew, by: agent, agent: fake, check: "true"}
  - {id: last, type: shell, run: test -e go}
"""


def test_a_step_has_the_agent_split_once_and_its_calls_are_the_runs(plans, flow):  # noqa: F811
    splitter(plans, "well", GOOD)
    plans.lab.settings("sandbox = 'none'\nagent_sandbox = 'none'\n")
    said = flow(STEP)
    assert said.status == 1, said
    assert "step split: at most 3 calls of fake to split it" in said.err
    assert "step split: split by fake: 2 calls" in said.err
    assert flow.output("split")["landed"] == ["parts", "hub"]
    assert plans.lab("show", "r", "--json").json["usage"]["calls"] == 4
    (plans.lab.root / "go").touch()
    assert flow.resume().status == 0
    assert splits(plans) == 2


def test_the_budget_of_a_workflow_holds_for_the_agent_that_splits(plans, flow):  # noqa: F811
    splitter(plans, "well", GOOD)
    plans.lab.settings("sandbox = 'none'\nagent_sandbox = 'none'\n")
    said = flow(STEP + "budget: {calls: 1}\n")
    assert said.status == 4, said
    assert splits(plans) == 1


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (SlotError("no slot can be made"), "slots: no slot can be made"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (GitError("the index is odd"), "fake could not say how to split it: workspace: the index is odd"),
    ],
)
def test_a_slot_that_cannot_be_had_fails_the_run_and_a_resumed_one_goes_on(plans, monkeypatch, failure, message):
    splitter(plans, GOOD)
    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "lease", lambda *_: (_ for _ in ()).throw(failure))
        said = plans.lab(*ARGS, "--no-preflight")
    assert said.status == 1, said
    assert message in said.json["error"]
    assert splits(plans) == 0
    said = plans.lab("resume", "r", "--json")
    assert said.status == 0, said
    assert splits(plans) == 1


def test_a_dry_run_counts_too(plans):
    splitter(plans, "no", GOOD)
    args = [arg for arg in ARGS if arg not in ("--run-id", "r", "--json")]
    said = plans.lab(*args, "--dry-run", "-o", "-", "--max-calls", "1")
    assert said.status == 4, said
    assert "fake was not asked to the end" in said.err
    said = plans.lab(*args, "--dry-run", "-o", "-", "--max-calls", "1")
    assert said.status == 0, said
    assert "max_calls: 1" in said.out
    assert not plans.lab.run.root.exists()


def test_who_follows_hears_of_the_subplans_when_there_are_some(plans):
    go = plans.lab.place / "go"
    splitter(plans, GOOD)
    script = plans.lab.place / "fake.sh"
    script.write_text(
        script.read_text().replace("echo spoiled", f"until test -e {go}; do sleep 0.02; done; echo spoiled")
    )
    told: list[Event] = []
    with plans.lab.spawn(*ARGS) as process:
        until(lambda: splits(plans) == 1)
        tell = as_plan(plans.lab.run, told.append)
        tell(RunChanged(1.0, "r", RunStatus.RUNNING))
        go.touch()
        process.communicate()
    started = next(path for path in plans.lab.run.history().starts if path.startswith("subplan:hub:"))
    for at in (2.0, 3.0):
        tell(NodeStarted(at, started.partition("/")[0], "subplan"))
    begun = [event.tree for event in told if isinstance(event, PlanBegun)]
    assert begun == [(), ((0, "parts", True), (0, "hub", True))]
