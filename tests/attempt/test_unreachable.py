"""Agents whose model cannot be reached, or takes less than it is asked: said, and not repeated."""

from __future__ import annotations

import json
import socket

import pytest

from attempt.conftest import FIX

LONG = "Error: 400 This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."
REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:1"


@pytest.fixture
def closed(lab, monkeypatch):
    """An endpoint at which nobody listens, and a codex that would tell that it was started."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    program = lab.place / "codex"
    program.write_text(f"#!/bin/sh\necho started >> {lab.place}/calls\n")
    program.chmod(0o755)
    lab.settings(f'[endpoints.box]\nurl = "{url}"\nmodel = "m"\n[agents.codex]\nexecutable = "{program}"\n')
    return url


def test_attempts_at_a_closed_endpoint(lab, closed):
    said = lab.attempt("--agent", "codex", "--endpoint", "box", "--attempts", "3", "--repair", "1", "--json")
    assert said.status == 1, said
    assert f"endpoint box at {closed}: connection refused: nothing listens there" in said.json["error"]
    assert said.json["usage"].get("calls", 0) == 0
    assert lab.calls == []


def test_a_step_at_a_closed_endpoint(lab, closed):
    step = {"id": "ask", "type": "prompt", "prompt": "hello"}
    flow = {"id": "flow", "name": "Flow", "version": "1.0.0", "integration": "codex"}
    lab.write("flow.yml", json.dumps({"workflow": flow, "steps": [step]}))
    said = lab("run", "flow.yml", "--endpoint", "box", "--run-id", "r", "--json")
    assert (said.status, lab.calls) == (1, [])
    assert f"endpoint box at {closed}: connection refused" in said.json["error"]
    shown = lab("show", "r", "--json").json
    assert shown["usage"].get("calls", 0) == 0


@pytest.mark.parametrize(("words", "kind", "counted"), [(LONG, "context_length", 1), (REFUSED, "connection", 0)])
def test_what_every_attempt_would_meet_is_met_once(lab, words, kind, counted):
    lab.agent(f'echo "{words}" >&2; exit 1')
    lab.settings("lanes = {agents = 1}\n")
    said = lab.attempt("--attempts", "3", "--repair", "1", "--json")
    assert said.status == 1, said
    assert kind in said.json["error"]
    assert words in said.json["error"]
    assert lab.calls == ["1"]
    assert said.json["usage"].get("calls", 0) == counted


def test_a_conversation_that_grew_too_long_is_its_attempts_own(lab):
    grows = f'touch work; echo "{LONG}" >&2; exit 1'
    lab.agent(f'if [ "$BAKEOFF_ATTEMPT" = 1 ]; then {grows}; fi; {FIX}')
    lab.settings("lanes = {agents = 1}\n")
    said = lab.attempt("--attempts", "2", "--json")
    assert said.status == 0, said
    assert [attempt["status"] for attempt in said.json["attempts"]] == ["error", "passed"]
