from __future__ import annotations

import random

import pytest

from bakeoff.engine.retry import ONCE
from bakeoff.model.client import Deadlines, Endpoint, HttpModel
from bakeoff.model.protocol import Message, Request
from bakeoff.model.rate.gate import Gate

ASK = Request(messages=(Message("system", "Be short."), Message("user", "Say it.")), max_tokens=50)
GO_ON = Request(prompt="def add(a, b):", max_tokens=50)
KEY = "sk-very-secret-key"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def open_model(server, api="chat", *, retry=ONCE, gate=None, deadlines=Deadlines(), key=KEY, **more) -> HttpModel:  # noqa: B008
    base_url = server if isinstance(server, str) else server.url
    endpoint = Endpoint(
        name="m", base_url=base_url + "/v1" * (api != "messages"), model="scripted", api=api, key=key,
        deadlines=deadlines, **more,
    )  # fmt: skip
    return HttpModel(endpoint, gate=Gate() if gate is None else gate, retry=retry, chance=random.Random(1))


def ask_for(api: str) -> Request:
    return GO_ON if api == "completions" else ASK
