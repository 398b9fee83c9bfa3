from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from bakeoff.engine.retry import ONCE
from bakeoff.model.client import Deadlines, Endpoint
from bakeoff.model.protocol import Message, Request
from bakeoff.model.rate.controller import Limits
from bakeoff.model.registry import UnknownModelError, missing, model_for
from bakeoff.settings import ModelSettings, Settings, SettingsError, load_settings
from scripted_model import Say, ScriptedModel

ENV = {"OPENAI_API_KEY": "sk-openai-key", "ANTHROPIC_API_KEY": "sk-anthropic-key", "MINE": "sk-my-own-key"}


def endpoint(name, environ=ENV, **models) -> Endpoint:
    found = model_for(name, Settings(models=models), environ)
    return found.endpoint


def test_vendors_by_prefix():
    found = endpoint("openai:gpt-x")
    assert (found.api, found.base_url, found.model, found.key) == (
        "chat", "https://api.openai.com/v1", "gpt-x", "sk-openai-key",
    )  # fmt: skip
    found = endpoint("anthropic:claude-x")
    assert (found.api, found.base_url, found.model, found.key) == (
        "messages", "https://api.anthropic.com", "claude-x", "sk-anthropic-key",
    )  # fmt: skip
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    assert (endpoint("openai:m", environ).base_url, endpoint("openai:m", environ).key) == ("http://127.0.0.1:1/v1", "")


def test_an_address_gets_no_key():
    found = endpoint("http://127.0.0.1:8000/v1#qwen")
    assert (found.base_url, found.model, found.key, found.api) == ("http://127.0.0.1:8000/v1", "qwen", "", "chat")


@pytest.mark.parametrize("name", ["http://h/v1", "http://key@h/v1#m", "https://h/v1?key=1#m"])
def test_addresses_without_a_model_or_with_a_key_are_refused(name):
    with pytest.raises(UnknownModelError, match="key_env"):
        endpoint(name)


def test_settings_name_everything():
    own = ModelSettings("responses", "http://h/v1", "MINE", "big", 100, 60.0, 9000.0, 4, 7.0, 1.0, 2.0)
    found = endpoint("mine", mine=own)
    assert found == Endpoint(
        "mine", "http://h/v1", "big", "responses", "sk-my-own-key", 100, Limits(60.0, 9000.0, 4),
        Deadlines(7.0, 7.0, 7.0), (1.0, 2.0),
    )  # fmt: skip
    assert "sk-my" not in repr(found)
    with pytest.raises(FrozenInstanceError):
        found.key = "x"


def test_the_vendors_key_goes_to_no_other_place():
    assert endpoint("mine", mine=ModelSettings(base_url="http://h/v1")).key == ""
    assert endpoint("mine", mine=ModelSettings()).key == "sk-openai-key"
    assert endpoint("mine", mine=ModelSettings(api="messages")).key == "sk-anthropic-key"
    assert endpoint("mine", mine=ModelSettings()).model == "mine"


def test_a_missing_key_is_said():
    for name, variable in (("openai:m", "OPENAI_API_KEY"), ("anthropic:m", "ANTHROPIC_API_KEY")):
        with pytest.raises(UnknownModelError, match=f"the variable {variable} is not set"):
            endpoint(name, {})
    with pytest.raises(UnknownModelError, match="the variable MINE is not set"):
        endpoint("mine", {}, mine=ModelSettings(base_url="http://h/v1", key_env="MINE"))
    with pytest.raises(UnknownModelError, match="characters that no key has"):
        endpoint("mine", {"MINE": "a\nb"}, mine=ModelSettings(key_env="MINE"))


@pytest.mark.parametrize("name", ["", "gpt", ":", "openai:", "nobody:x", "locl"])
def test_unknown_names_list_the_known_ones(name):
    with pytest.raises(UnknownModelError) as caught:
        endpoint(name, mine=ModelSettings())
    assert "Known are mine, local, local:FILE.gguf, openai:MODEL" in str(caught.value)
    assert ("Did you mean local?" in str(caught.value)) == (name == "locl")


def test_a_name_of_the_users_own_comes_first():
    assert endpoint("openai:x", **{"openai:x": ModelSettings(base_url="http://h/v1")}).base_url == "http://h/v1"


def test_local(monkeypatch):
    from bakeoff.model import local

    monkeypatch.setattr(local, "find_weights", lambda: "w.gguf")
    assert isinstance(model_for("local", Settings(), {}), local.LocalModel)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("local", None),
        ("mine", None),
        ("http://127.0.0.1:1/v1#m", None),
        ("groq:m", None),
        ("openai:m", "OPENAI_API_KEY is not set"),
        ("http://127.0.0.1:1/v1", "an address of a model reads"),
        ("min", "Did you mean mine?"),
        ("groq", "no model is called 'groq'"),
    ],
)
def test_what_is_missing_is_said_without_opening_anything(name, words):
    found = missing(name, Settings(models={"mine": ModelSettings(base_url="http://h/v1")}), {})
    assert found is None if words is None else words in str(found)


def test_other_providers_go_through_pydantic_ai(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.setitem(sys.modules, "pydantic_ai.exceptions", None)
    with pytest.raises(Exception, match=r"needs pydantic-ai: pip install 'bakeoff\[providers\]'"):
        model_for("groq:m", Settings(), {})


@pytest.mark.anyio
async def test_from_settings_to_an_answer(anyio_backend, tmp_path):
    with ScriptedModel(Say("hello"), tools=False) as server:
        (tmp_path / "bakeoff.toml").write_text(
            f'[models.mine]\nbase_url = "{server.url}/v1"\nprice_in = 1\nprice_out = 2\n'
        )
        model = model_for("mine", load_settings(tmp_path, {}), retry=ONCE)
        async with model:
            reply = await model.generate(Request(messages=(Message("user", "hi"),)))
    assert reply.text == "hello"
    assert reply.usage.usd == pytest.approx(25e-6)
    assert list((tmp_path / "cache" / "bakeoff" / "rates").iterdir())


WRONG = {
    'api = "soap"': r"models\.m\.api must be one of chat, responses, completions, messages",
    'base_url = "h/v1"': "an address such as",
    'base_url = "http://key@h/v1"': "without a key in it",
    'base_url = "http://h/v1?key=1"': "without a key in it",
    "max_tokens = 0": "a whole number from 1",
    "requests_per_minute = 0": "a number above 0",
    "tokens_per_minute = true": "a number above 0",
    "timeout = -1": "a number above 0",
    "price_in = 1": "price_in and price_out go together",
    'modle = "x"': r"did you mean model\?",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_settings_are_refused(tmp_path, line):
    (tmp_path / "bakeoff.toml").write_text(f"[models.m]\n{line}\n")
    with pytest.raises(SettingsError, match=WRONG[line]):
        load_settings(tmp_path, {})


def test_local_is_no_name_of_the_users_own(tmp_path):
    (tmp_path / "bakeoff.toml").write_text("[models.local]\n")
    with pytest.raises(SettingsError, match="another name"):
        load_settings(tmp_path, {})


def test_the_protocol_is_light():
    """Nothing heavy is imported: of the standard library little, of others nothing."""
    program = "import sys, dataclasses, typing; before = {*sys.modules}; import bakeoff.model.protocol; "
    program += "print(*({*sys.modules} - before))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in loaded} <= {"bakeoff", *sys.stdlib_module_names}
    assert len(loaded) < 20
    program = "import sys, bakeoff.model.registry; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "httpx", "genai_prices", "pydantic_ai", "yaml"} & set(loaded)


def test_a_local_model_with_another_file(tmp_path, monkeypatch):
    (tmp_path / "coder.gguf").touch()
    monkeypatch.chdir(tmp_path)
    assert model_for("local:coder.gguf", Settings())._weights == tmp_path / "coder.gguf"
    assert missing("local:coder.gguf", Settings()) is None


@pytest.mark.parametrize("file", ["", "none.gguf", "notes.txt"])
def test_a_local_model_without_its_file_is_refused(file, tmp_path, monkeypatch):
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownModelError, match=r"FILE\.gguf: there is no"):
        model_for(f"local:{file}", Settings())
    assert "FILE.gguf" in str(missing(f"local:{file}", Settings()))
