"""Every coding-agent CLI that installs, in a job, and codex in all: a scripted model's turn, by `--endpoint` alone.

Every CLI in every job takes minutes of CPU: that is run by `make soak`.
"""

from __future__ import annotations

import json
import os
import re

import pytest

from agent.real import KEY, installed
from attempt.conftest import ADD, FIXED, Lab, lab
from bakeoff.agent.registry import find_entry
from bakeoff.settings import Settings
from scripted_model import Say, ScriptedModel, Shell, by_turn

__all__ = ["lab"]

NAMES = ("codex", "gemini", "qwen", "opencode", "aider", "mini", "claude", "copilot")
pytestmark = pytest.mark.agents

TASK = "make add add"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What ends mini's work."""
WHOLE = "calc.py\n```\ndef add(a, b):\n    return a {} b\n```\n"
"""What aider takes for a new version of a file, from a model that it does not know."""


def in_turn(job: int) -> pytest.MarkDecorator:
    """All CLIs. Those that have another of the four jobs are left to `make soak`; codex, which is quick, has each."""
    return pytest.mark.parametrize(
        "name",
        [
            name if name == "codex" or index % 4 == job else pytest.param(name, marks=pytest.mark.soak(only=True))
            for index, name in enumerate(NAMES)
        ],
    )


@pytest.fixture(autouse=True)
def path(name: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", installed(name, bool(os.environ.get("CI"))))
    monkeypatch.setenv("SCRIPTED_KEY", KEY)


def scripted(lab: Lab, name: str, operator: str = "+") -> ScriptedModel:
    """A model that has the CLI write the operator into `add`; the settings name where it is, and its key's variable."""
    if name == "aider":
        model = ScriptedModel(Say(WHOLE.format(operator)), tools=False)
    else:
        write = f"sed -i 's/a [-+] b/a {operator} b/' calc.py"
        model = ScriptedModel(by_turn(Shell(write), Shell(SUBMIT) if name == "mini" else Say("I made add add")))
    lab.settings(f'[endpoints.here]\nurl = "{model.url}/v1"\nmodel = "scripted"\nkey_env = "SCRIPTED_KEY"\n')
    return model


@in_turn(0)
def test_a_step(lab: Lab, name: str) -> None:
    step = {"id": "fix", "type": "prompt", "prompt": TASK}
    lab.write(
        "flow.yml",
        json.dumps(
            {"workflow": {"id": "flow", "name": "Flow", "version": "1.0.0", "integration": name}, "steps": [step]}
        ),
    )
    lab.commit()
    with scripted(lab, name) as model:
        said = lab("run", "flow.yml", "--endpoint", "here", "--run-id", "r", "--json")
        step = lab("show", "r", "--json").json["steps"]["fix"]
    assert said.status == 0, said
    assert step["output"]["text"]
    entry = find_entry(name, Settings())
    assert bool(step["output"]["session_id"]) == entry.can_resume
    if entry.reports_usage:
        assert (step["usage"]["input_tokens"], step["usage"]["output_tokens"]) == (22, 14)
    assert model.seen[0].says(TASK)
    assert model.seen[0].model == "scripted"
    assert KEY in "".join(model.seen[0].headers.values())
    assert lab.git("status", "--porcelain") == "M calc.py"  # and nothing that the CLI keeps for itself
    assert "a + b" in (lab.root / "calc.py").read_text()


@in_turn(1)
def test_an_attempt(lab: Lab, name: str) -> None:
    was = lab.digest
    with scripted(lab, name):
        before = was()
        said = lab.attempt("--agent", name, "--endpoint", "here", "--json")
        diff = lab("diff", "r").out
    assert said.status == 0, said
    assert was() == before
    assert re.findall(r"^diff --git .*$", diff, re.M) == ["diff --git a/calc.py b/calc.py"]
    assert lab.left() == []


@in_turn(2)
def test_an_optimisation(lab: Lab, name: str) -> None:
    lab.write("calc.py", ADD.replace("-", "+"))
    lab.commit()
    with scripted(lab, name, "-"):
        asked = ("--agent", name, "--endpoint", "here", "--repairs", "0", "--refinements", "0")
        said = lab("optimize", "--bench", "true", "--check", FIXED, *asked, "--run-id", "r", "--json")
    assert said.status == 3, said
    (candidate,) = said.json["candidates"]
    assert (candidate["origin"], candidate["reason"]) == (f"agent/{name}/propose/1", "check-failed")


@in_turn(3)
def test_a_plan(lab: Lab, name: str) -> None:
    with scripted(lab, name):
        asked = ("--agent", name, "--endpoint", "here", "--repair", "0", "--check", FIXED)
        said = lab("plan", TASK, "calc.py", *asked, "--run-id", "r", "--json")
    assert said.status == 0, said
    (subplan,) = said.json["subplans"]
    assert (subplan["landed"], subplan["wrote"]) == (True, ["calc.py"])
