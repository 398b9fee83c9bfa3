from __future__ import annotations

import os

import pytest

from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.executable import extra_arguments, find_executable
from bakeoff.agent.registry import find_entry
from bakeoff.settings import AgentSettings, Settings


def generic(*argv):
    return find_entry("mine", Settings(agents={"mine": AgentSettings(argv=argv)}))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude", "/speckit-plan fast"),
        ("codex", "$speckit-plan fast"),
        ("gemini", "/speckit.plan fast"),
        ("qwen", "/speckit.plan fast"),
        ("copilot", "/speckit-plan fast"),
        ("cursor-agent", "/speckit-plan fast"),
    ],
)
def test_slash_forms(name, expected):
    entry = find_entry(name, Settings())
    assert entry.slash_text("speckit.plan", "fast") == expected
    assert entry.slash_text("plan", "") == expected.removesuffix(" fast")
    assert entry.slash_text("/review", "x y") == "/review x y"


def test_parts_of_a_command_are_joined_as_the_cli_wants():
    assert find_entry("claude", Settings()).slash_text("speckit.git.commit", "") == "/speckit-git-commit"
    assert find_entry("gemini", Settings()).slash_text("git.commit", "") == "/speckit.git.commit"


def test_placeholders_are_filled_once_and_groups_left_out():
    entry = generic("tool", ("-m", "{model}"), "--p={prompt}", '{"a": "{unknown}"}')
    assert entry.arguments({"prompt": "{model}"}) == ["--p={model}", '{"a": "{unknown}"}']
    assert entry.arguments({"prompt": "x", "model": "m"}, ("e",)) == ["-m", "m", "--p=x", '{"a": "{unknown}"}', "e"]


def test_value_missing_outside_a_group_is_said():
    with pytest.raises(AgentError, match=r"needs a model.*group"):
        generic("tool", "--model={model}", "{prompt}").arguments({"prompt": "x"})


def test_settings_change_built_in_entries():
    custom = AgentSettings(executable="/opt/c", args=("--bare",), env={"A": "b"}, model="m", install="ask IT")
    entry = find_entry("claude", Settings(agents={"claude": custom}))
    assert (entry.executables, entry.env["A"], entry.env["TERM"], entry.model) == (("/opt/c",), "b", "dumb", "m")
    arguments = entry.arguments({"prompt": "p"}, ("--extra",))
    assert arguments[arguments.index("--extra") + 1] == "--bare"
    assert arguments[-1] == "p"
    assert entry.install == "ask IT"


def test_variant_and_replacement():
    agents = {"opus": AgentSettings(like="claude", model="opus"), "codex": AgentSettings(argv=("c2", "{prompt}"))}
    settings = Settings(agents=agents, integration="opus")
    assert (find_entry(None, settings).name, find_entry(None, settings).events) == ("opus", "claude")
    assert find_entry("codex", settings).arguments({"prompt": "p"}, ("x",)) == ["p", "x"]


def test_unknown_and_unnamed_agents_are_explained():
    with pytest.raises(AgentError, match=r"'claud'\. Did you mean claude\? Known are .*aider.*\[tool\.bakeoff\.agents"):
        find_entry("claud", Settings())
    with pytest.raises(AgentError, match="no agent is named"):
        find_entry(None, Settings())


def test_executable_is_found_overridden_or_explained(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    entry = Entry("my-tool", ("nothing", "tool"), "pip install it", ("{prompt}",))
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_executable(entry, "/", {}) == str(program)
    with pytest.raises(
        AgentError, match=r"'nothing' or 'tool'.*pip install it.*SPECKIT_INTEGRATION_MY_TOOL_EXEC"
    ) as caught:
        find_executable(entry, "/", {"PATH": "/nowhere"})
    assert caught.value.kind == "missing"
    monkeypatch.setenv("SPECKIT_INTEGRATION_MY_TOOL_EXECUTABLE", "./bin/tool")
    assert find_executable(entry, str(tmp_path), {}) == str(program)
    with pytest.raises(AgentError, match=r"'\./gone' \(named by SPECKIT"):
        find_executable(entry, "/", {"SPECKIT_INTEGRATION_MY_TOOL_EXECUTABLE": "./gone"})
    assert find_executable(entry, "/", {"SPECKIT_INTEGRATION_MY_TOOL_EXECUTABLE": None}) == str(program)
    assert os.environ["PATH"] == str(program.parent)


def test_extra_arguments_are_split_as_by_a_shell():
    entry = Entry("cursor-agent", ("x",), "i", ("{prompt}",))
    assert extra_arguments(entry, {"SPECKIT_INTEGRATION_CURSOR_AGENT_EXTRA_ARGS": "-a 'b c'"}) == ("-a", "b c")
    assert extra_arguments(entry, {}) == ()
    with pytest.raises(AgentError, match="EXTRA_ARGS cannot be split"):
        extra_arguments(entry, {"SPECKIT_INTEGRATION_CURSOR_AGENT_EXTRA_ARGS": "'"})
