"""A workflow's agents that have no login are told of before anything is paid for."""

from __future__ import annotations

import json
import os
import sys

import pytest

from attempt.conftest import Lab, lab

__all__ = ["lab"]

EVENTS = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}},
    {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
]
LOGIN = {"id": "login", "type": "shell", "run": "mkdir -p ~/.codex && touch ~/.codex/auth.json"}
LOOK = {"id": "look", "type": "shell", "run": "true"}


@pytest.fixture(autouse=True)
def codex(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A codex that is not logged in, and would tell that it was started."""
    program = lab.place / "bin" / "codex"
    program.parent.mkdir()
    said = "".join(f"{json.dumps(event)}\n" for event in EVENTS)
    body = f"open({f'{lab.place}/calls'!r}, 'a').write('started\\n')\nprint({said!r})\n"
    program.write_text(f"#!{sys.executable}\n{body}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("sys.platform", "linux")
    for variable in ("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)


def ask(name: str = "ask", **more: object) -> dict[str, object]:
    return {"id": name, "type": "prompt", "integration": "codex", "prompt": "hello", **more}


def flow(lab: Lab, *steps: dict[str, object]) -> None:
    head = {"id": "flow", "name": "Flow", "version": "1.0.0"}
    lab.write("flow.yml", json.dumps({"workflow": head, "steps": steps}))


def test_the_run_is_refused_where_the_first_steps_ask_one(lab):
    lab.agent("true")
    flow(lab, ask("first", integration="fake"), ask("second"))
    said = lab("run", "flow.yml", "--run-id", "r")
    assert said.status == 1
    assert "agent codex: no login was seen: start codex once and log in" in said.err
    assert "nothing was begun" in said.err
    assert (lab.calls, lab.run.root.exists()) == ([], False)


@pytest.mark.parametrize(
    "steps",
    [
        (LOGIN, ask()),
        (ask(env={"CODEX_API_KEY": "key"}),),
        (ask(integration_args=["--config=of my own"]), LOGIN),
    ],
    ids=["a step logs in", "the step has the key", "it is given arguments"],
)
def test_who_may_have_one_when_it_is_asked_is_asked(lab, steps):
    flow(lab, *steps)
    said = lab("run", "flow.yml", "--run-id", "r", "--json")
    assert said.status == 0, said
    assert lab.calls == ["started"]


def test_a_later_step_is_refused_when_it_is_its_turn(lab):
    flow(lab, LOOK, ask())
    said = lab("run", "flow.yml", "--run-id", "r", "--json")
    assert said.status == 1
    assert "no login was seen" in said.json["error"]
    step = lab("show", "r", "--json").json["steps"]["ask"]
    assert (step["status"], step["output"]["dispatched"], lab.calls) == ("failed", False, [])
