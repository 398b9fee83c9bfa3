"""Attempts by the real codex CLI against a scripted model: no key, no network, an empty home."""

from __future__ import annotations

import json
import os

import pytest

from agent.real import CODEX_PROVIDER, KEY, TOOLS
from attempt.conftest import FIX, FIXED
from scripted_model import Say, ScriptedModel, Shell, in_order

pytestmark = [pytest.mark.agents, pytest.mark.skipif(not (TOOLS / ".ready").exists(), reason="run `make agents-cli`")]


@pytest.fixture
def codex(lab, monkeypatch):
    monkeypatch.setenv("PATH", f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def point(url: str) -> None:
        provider = CODEX_PROVIDER.format(url=url, retries=0)
        args = ["--ignore-user-config", "-c", "model_provider=scripted", "-c", provider]
        lab.settings(
            f'[agents.codex]\nmodel = "scripted"\nargs = {json.dumps(args)}\nenv = {{SCRIPTED_KEY = "{KEY}"}}\n'
        )

    return point


def test_a_repair_goes_on_in_the_session(lab, codex):
    turns = in_order(Shell("echo '# try' >> calc.py"), Say("I tried"), Shell(FIX), Say("now it adds"))
    with ScriptedModel(turns) as model:
        codex(model.url)
        check = f"{FIXED} || {{ echo it still subtracts; exit 1; }}"
        said = lab("attempt", "make add add", "--agent", "codex", "--repair", "1", "--check", check, "--json")
    assert said.status == 0, said
    first, second = said.json["attempts"]
    assert (first["status"], second["status"]) == ("failed", "passed")
    assert first["receipt"]["session_id"] == second["receipt"]["session_id"]
    assert model.seen[2].says("I tried")
    assert model.seen[2].says("it still subtracts")
    assert len(model.seen) == 4
