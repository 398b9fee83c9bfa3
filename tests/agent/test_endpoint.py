"""Endpoints of the user's that CLIs are set up for; what real CLIs make of that is in `test_real_jobs`."""

from __future__ import annotations

import json
import socket

import pytest

from bakeoff.agent.clis import entry_of
from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import AgentError
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, check_request, run_agent
from bakeoff.cli.doctor import _endpoints
from bakeoff.model.registry import missing, model_for
from bakeoff.settings import BUILT_IN, AgentSettings, EndpointSettings, Settings, SettingsError, load_settings

pytestmark = pytest.mark.anyio

BOX = EndpointSettings("http://127.0.0.1:8000/v1", "coder", "BOX_KEY", 16384)
NO_CONTEXT = ("claude", "gemini", "mini")
"""CLIs that cannot be told how much a model takes."""
SETTINGS = Settings(
    model="gpt-5",
    endpoints={"box": BOX, "other": EndpointSettings("http://127.0.0.1:8001/v1", "small")},
    agents={
        "mine": AgentSettings(argv=("sh", "{prompt}")),
        "near": AgentSettings(like="codex", endpoint="box", model="big"),
        "codex": AgentSettings(model="gpt-5-codex"),
    },
)


def test_which_endpoint_and_which_model_an_agent_asks():
    plain = find_entry("codex", SETTINGS)
    assert (plain.endpoint, plain.named(None), find_entry("qwen", SETTINGS).named(None)) == (
        None,
        "gpt-5-codex",
        "gpt-5",
    )
    asked = find_entry("codex", SETTINGS, "box")
    assert asked.endpoint == Endpoint(BOX.url, "coder", "BOX_KEY", 16384, name="box")
    assert (asked.named(None), asked.named("huge")) == ("coder", "huge")
    near = find_entry("near", SETTINGS)
    assert (near.endpoint.name, near.named(None)) == ("box", "big")
    # The command line's goes first, and a model that was meant for another endpoint is not asked for there.
    assert find_entry("near", SETTINGS.at("other")).named(None) == "small"
    assert find_entry("opencode", SETTINGS, "box").named(None) == "bakeoff/coder"
    assert find_entry("mini", SETTINGS, "box").named("qwen/x") == "openai/qwen/x"
    for name in ("cursor-agent", "mine"):
        with pytest.raises(AgentError, match=rf"agent {name} cannot be set up for an endpoint"):
            find_entry(name, SETTINGS, "box")
    with pytest.raises(
        SettingsError, match=r"--endpoint: no endpoint is called 'bx' \(did you mean box\?\); known are"
    ):
        find_entry("codex", SETTINGS, "bx")


@pytest.mark.parametrize("name", sorted(name for name in BUILT_IN if entry_of(name).aim))
def test_how_each_is_set_up(name, tmp_path):
    entry = find_entry(name, SETTINGS, "box")
    made = entry.aim(entry.endpoint, "secret", tmp_path)
    said = json.dumps([*made.arguments, *made.files.values(), *map(str, made.env.values())])
    assert "127.0.0.1:8000" in said, f"aim() of {name} must tell the endpoint's address"
    assert "secret" in made.env.values(), f"aim() of {name} must hand the key over in a variable"
    assert not any("secret" in text for text in (*made.arguments, *made.files.values())), (
        f"aim() of {name}: others can read arguments and files; the key goes in a variable alone"
    )
    tells_context = "16384" in said or "12288" in said
    assert tells_context == (name not in NO_CONTEXT), (
        f"aim() of {name} must hand `endpoint.context` over; where the CLI has no place for it, add {name} to "
        "NO_CONTEXT and say so in docs/endpoints.md"
    )
    unlimited = find_entry(name, SETTINGS, "other")
    arguments = unlimited.aim(unlimited.endpoint, "none", tmp_path).arguments
    assert "None" not in json.dumps([*arguments]), f"aim() of {name}: `endpoint.context` may be None; leave it out then"


def test_its_files_are_made_once_and_mended(tmp_path):
    made = SetUp({}, (), {"below/settings.json": "{}"})
    made.write(tmp_path / "home")
    file = tmp_path / "home" / "below" / "settings.json"
    before = file.stat().st_ino
    made.write(tmp_path / "home")
    assert file.stat().st_ino == before
    file.write_text("changed by an agent")
    made.write(tmp_path / "home")
    assert (file.read_text(), [path.name for path in file.parent.iterdir()]) == ("{}", ["settings.json"])


def test_two_endpoints_of_one_name_share_no_folder():
    box = find_entry("gemini", SETTINGS, "box").endpoint
    other = Endpoint(BOX.url, "another", "BOX_KEY", 16384, name="box")
    assert box.folder("gemini") != other.folder("gemini")
    assert box.folder("gemini") == find_entry("gemini", SETTINGS, "box").endpoint.folder("gemini")


def test_a_key_that_is_not_there_is_told_before_anything(monkeypatch, program, tmp_path):
    monkeypatch.setenv("PATH", str(program("codex", "exit 9").parent))
    monkeypatch.delenv("BOX_KEY", raising=False)
    with pytest.raises(AgentError, match=r"endpoint box: the variable BOX_KEY is not set") as raised:
        check_request(find_entry("codex", SETTINGS, "box"), AgentRequest("hello"), tmp_path)
    assert raised.value.kind == "auth"
    check_request(find_entry("codex", SETTINGS, "other"), AgentRequest("hello"), tmp_path)


async def test_nobody_listens_there(spawner, fake_cli, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    script = str(tmp_path / "bin" / "codex")
    fake_cli("codex", "touch started")
    settings = Settings(
        endpoints={"box": EndpointSettings(url, "coder")}, agents={"codex": AgentSettings(executable=script)}
    )
    async with spawner:
        result = await run_agent(find_entry("codex", settings, "box"), AgentRequest("hello"), spawner, cwd=tmp_path)
    assert (result.ok, result.kind, result.unbegun, result.uncharged) == (False, "connection", True, True)
    assert result.error.startswith(
        f"endpoint box at {url}: connection refused: nothing listens there; start the server"
    )
    assert not (tmp_path / "started").exists()


def test_an_endpoint_is_a_model_too():
    model = model_for("box", SETTINGS, {"BOX_KEY": "k"})
    assert (model.endpoint.base_url, model.endpoint.model, model.endpoint.key) == (BOX.url, "coder", "k")
    assert "BOX_KEY is not set" in missing("box", SETTINGS, {})
    assert missing("other", SETTINGS, {}) is None
    assert "box, other" in missing("bxo", SETTINGS, {})
    assert (SETTINGS.asked_model, SETTINGS.at("box").asked_model) == ("gpt-5", "box")


def test_settings(tmp_path):
    file = tmp_path / "bakeoff.toml"
    file.write_text(
        'endpoint = "box"\n[endpoints.box]\nurl = "http://h/v1"\nmodel = "m"\nkey_env = "K"\ncontext = 8192\n'
    )
    settings = load_settings(tmp_path, {})
    assert settings.endpoints == {"box": EndpointSettings("http://h/v1", "m", "K", 8192)}
    assert settings.endpoint == "box"
    with pytest.raises(
        SettingsError, match=r"environment: BAKEOFF_ENDPOINT: no endpoint is called 'no'; known are box"
    ):
        load_settings(tmp_path, {"BAKEOFF_ENDPOINT": "no"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[endpoints.box]\nurl = 'http://h/v1'", "endpoints.box has no model: an endpoint has url and model"),
        ("[endpoints.box]\nurl = 'h/v1'\nmodel = 'm'", "endpoints.box.url must be an address such as"),
        ("[endpoints.box]\nurl = 'http://h'\nmodel = 'm'\ncontext = 0", "context must be a whole number from 1"),
        ("[endpoints.local]\nurl = 'http://h'\nmodel = 'm'", "`local` is the built-in local model"),
        ("[endpoints.a]\nurl = 'http://h'\nmodel = 'm'\n[models.a]\nmodel = 'm'", "a model has that name, too"),
        ("[agents.codex]\nendpoint = 'box'", "agents.codex.endpoint: no endpoint is called 'box'; none is defined"),
        ("endpoint = 'box'", "endpoint: no endpoint is called 'box'; none is defined"),
    ],
)
def test_mistakes_are_named(tmp_path, text, said):
    (tmp_path / "bakeoff.toml").write_text(text)
    with pytest.raises(SettingsError) as raised:
        load_settings(tmp_path, {})
    assert said in str(raised.value)


def test_doctor_says_who_listens():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = server.getsockname()[1], closed.getsockname()[1]
        up = EndpointSettings(f"http://127.0.0.1:{ports[0]}/v1", "m")
        down = EndpointSettings(f"http://127.0.0.1:{ports[1]}/v1", "m", "NO_KEY")
        found = _endpoints(Settings(endpoints={"up": up, "down": down}))
    assert [(check.name, check.ok) for check in found] == [("endpoint up", True), ("endpoint down", True)]
    assert (found[0].found, found[0].advice) == (f"{up.url}, model m", None)
    assert "connection refused" in found[1].advice
    assert "the variable NO_KEY is not set" in found[1].advice
