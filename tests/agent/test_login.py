"""An agent without login is refused before anything is begun; one that may have its login elsewhere is not."""

from __future__ import annotations

import os
from dataclasses import replace
from fnmatch import fnmatch

import pytest

from bakeoff.agent.clis import entry_of
from bakeoff.agent.entry import AgentError
from bakeoff.agent.login import check_login
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, check_request
from bakeoff.settings import BUILT_IN, AgentSettings, Settings

NEED = sorted(name for name in BUILT_IN if entry_of(name).needs_login)


@pytest.fixture
def check(monkeypatch, tmp_path):
    """Sees that an agent by its built-in name, with settings of the user's, can be asked."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("sys.platform", "linux")
    for name in BUILT_IN:
        entry = find_entry(name, Settings())
        path = tmp_path / "bin" / entry.executables[0]
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("/bin/true")  # no script
        patterns = (*entry.login_variables, *entry.config_variables, entry.home_variable or "")
        for variable in [variable for variable in os.environ if any(fnmatch(variable, one) for one in patterns)]:
            monkeypatch.delenv(variable)

    def ask(name: str, model: str | None = None, **custom: object) -> None:
        settings = Settings(agents={name: AgentSettings(**custom)} if custom else {})
        check_request(find_entry(name, settings), AgentRequest("hello", model=model), tmp_path)

    return ask


def test_who_needs_a_login():
    assert {"aider", "claude", "codex", "copilot", "cursor-agent", "gemini", "mini", "qwen"} <= set(NEED)


@pytest.mark.parametrize("name", NEED)
def test_who_needs_a_login_and_has_none_is_refused(check, name):
    with pytest.raises(AgentError, match=r"no login was seen: start .* once and log in.*nothing was begun") as raised:
        check(name)
    assert raised.value.kind == "auth"


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - set(NEED)))
def test_who_may_call_a_model_that_needs_none_is_not(check, name):
    check(name)


def test_a_script_of_its_name_may_bring_a_login_to_a_step_and_not_to_paid_attempts(check, tmp_path, program):
    (tmp_path / "bin" / "codex").unlink()
    program("codex", 'exec env CODEX_API_KEY="$(cat key)" /opt/codex "$@"')
    check_login(find_entry("codex", Settings()), str(tmp_path), {})
    with pytest.raises(AgentError, match="no login was seen"):
        check("codex")


def test_clis_that_name_providers_may_ask_one_that_needs_no_login(check, monkeypatch, tmp_path):
    for name in ("aider", "mini"):
        with pytest.raises(AgentError, match="or set OPENAI_API_KEY"):
            check(name, model="gpt-5")
        check(name, model="ollama/qwen3-coder")
        monkeypatch.setenv("OLLAMA_API_BASE", "http://127.0.0.1:11434")
        check(name)
        monkeypatch.delenv("OLLAMA_API_BASE")
    (tmp_path / ".aider.conf.yml").touch()
    check("aider")


def test_what_counts_as_a_login(check, monkeypatch, tmp_path):
    (tmp_path / "home" / ".codex").mkdir(parents=True)
    for file in ("auth.json", "config.toml"):  # where an endpoint may stand that needs none
        with pytest.raises(AgentError):
            check("codex")
        (tmp_path / "home" / ".codex" / file).touch()
        check("codex")
        (tmp_path / "home" / ".codex" / file).unlink()
    check("claude", env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"})
    check("codex", args=("-c", "model_provider=mine"))
    check("gemini", argv=("/bin/sh", "-c", "{prompt}"))
    check("gemini", executable="/bin/sh")
    monkeypatch.setenv("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:1")
    check("copilot")
    (tmp_path / ".env").touch()
    check("qwen")
    monkeypatch.setenv("SPECKIT_INTEGRATION_CURSOR_AGENT_EXTRA_ARGS", "--endpoint x")
    check("cursor-agent")
    monkeypatch.setattr("sys.platform", "darwin")
    check("codex")
    assert not replace(find_entry("claude", Settings()), env={}).configured
