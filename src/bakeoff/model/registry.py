"""Registry of models: the one that a name stands for, from settings, from the environment, or the local one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from bakeoff.engine.retry import Retry
from bakeoff.errors import BakeoffError
from bakeoff.model.client import Deadlines, Endpoint, HttpModel
from bakeoff.model.protocol import Model
from bakeoff.model.rate.controller import Limits
from bakeoff.model.rate.gate import gate_for
from bakeoff.model.retrying import RETRY
from bakeoff.settings import ModelSettings, Settings

VENDORS = {
    "openai": ("chat", "https://api.openai.com/v1", "OPENAI"),
    "anthropic": ("messages", "https://api.anthropic.com", "ANTHROPIC"),
}
"""Wire format, endpoint, and the start of the names of the two variables that change it."""
_VENDOR_OF = {"chat": "openai", "responses": "openai", "completions": "openai", "messages": "anthropic"}


class UnknownModelError(BakeoffError):
    """No model has that name, or what it needs is not there; the message says what to do."""


def model_for(
    name: str, settings: Settings, environ: Mapping[str, str] | None = None, *, retry: Retry = RETRY
) -> Model:
    """The model that `name` stands for; enter it before use.

    Args:
        name: a name of `[tool.bakeoff.models]` or `[tool.bakeoff.endpoints]`; `local`, or `local:FILE` with other
            weights; `openai:MODEL` or `anthropic:MODEL`; the address of an endpoint with the model behind a hash,
            `http://127.0.0.1:8000/v1#MODEL`, asked in the chat format and without a key; or `PROVIDER:MODEL` as
            pydantic-ai names it, which needs `bakeoff[providers]`.
        settings: the user's.
        environ: this process's environment by default.
        retry: how an HTTP model tries again; `engine.retry.ONCE` for never.

    Raises:
        UnknownModelError: there is no such model, or its key or its file is missing.
    """
    environ = os.environ if environ is None else environ
    if (own := _own(name, settings)) is not None:
        return _http(_configured(name, own, environ), environ, retry)
    if name == "local":
        from bakeoff.model.local import LocalModel

        return LocalModel()
    if re.match(r"https?://", name):
        return _http(_at(name), environ, retry)
    vendor, colon, model = name.partition(":")
    if colon and vendor == "local":
        from bakeoff.model.local import LocalModel

        return LocalModel(weights=_weights(model))
    if colon and model and vendor in VENDORS:
        return _http(_configured(name, ModelSettings(api=VENDORS[vendor][0], model=model), environ), environ, retry)
    if colon and model and vendor:
        from bakeoff.model.providers import PROVIDERS, ProviderModel

        if vendor in PROVIDERS:
            return ProviderModel(name, retry=retry)
    raise UnknownModelError(_unknown(name, settings))


def missing(name: str, settings: Settings, environ: Mapping[str, str] | None = None) -> str | None:
    """Why `model_for` would find no model of that name; None where it would. Nothing is opened."""
    environ = os.environ if environ is None else environ
    vendor, colon, model = name.partition(":")
    try:
        if (own := _own(name, settings)) is not None:
            _configured(name, own, environ)
        elif re.match(r"https?://", name):
            _at(name)
        elif colon and model and vendor in VENDORS:
            _configured(name, ModelSettings(api=VENDORS[vendor][0], model=model), environ)
        elif colon and vendor == "local":
            _weights(model)
        elif name != "local":
            from bakeoff.model.providers import PROVIDERS

            if not (colon and model and vendor in PROVIDERS):
                return _unknown(name, settings)
    except UnknownModelError as failure:
        return str(failure)
    return None


def _own(name: str, settings: Settings) -> ModelSettings | None:
    """The user's settings of a model, or of the one at an endpoint, which is asked in the chat format."""
    endpoint = settings.endpoints.get(name)
    if endpoint is None:
        return settings.models.get(name)
    return ModelSettings(base_url=endpoint.url, key_env=endpoint.key_env, model=endpoint.model)


def _http(endpoint: Endpoint, environ: Mapping[str, str], retry: Retry) -> HttpModel:
    gate = gate_for(endpoint.base_url, endpoint.key, endpoint.limits, environ)
    return HttpModel(endpoint, gate=gate, retry=retry)


def _configured(name: str, own: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    _, address, prefix = VENDORS[_VENDOR_OF[own.api]]
    base_url, key_env = own.base_url, own.key_env
    if base_url is None:
        # The vendor's own key goes to the vendor's own endpoint, or to where its own variable points; nowhere else.
        base_url = environ.get(f"{prefix}_BASE_URL") or address
        key_env = key_env or f"{prefix}_API_KEY"
    key = environ.get(key_env, "") if key_env else ""
    if key_env and not key and (own.key_env or base_url == address):
        raise UnknownModelError(f"model {name!r}: the variable {key_env} is not set; put the key of {base_url} there")
    if not key.isascii() or not key.isprintable():
        raise UnknownModelError(f"model {name!r}: the variable {key_env} holds characters that no key has")
    deadlines = Deadlines()
    if own.timeout is not None:
        deadlines = Deadlines(min(own.timeout, deadlines.connect), own.timeout, own.timeout)
    return Endpoint(
        name=name,
        base_url=base_url,
        model=own.model or name,
        api=own.api,
        key=key,
        max_tokens=own.max_tokens,
        limits=Limits(own.requests_per_minute, own.tokens_per_minute, own.max_in_flight),
        deadlines=deadlines,
        price=(own.price_in, own.price_out),
    )


def _at(name: str) -> Endpoint:
    """The endpoint that an address names.

    Raises:
        UnknownModelError: it names no model, or holds a key.
    """
    base_url, _, model = name.partition("#")
    if not model or "@" in base_url or "?" in base_url:
        raise UnknownModelError(
            "an address of a model reads http://HOST/v1#MODEL, and holds no key; for an endpoint with a key write "
            '[tool.bakeoff.models.NAME] base_url = "http://HOST/v1", key_env = "VARIABLE"'
        )
    return Endpoint(name=model, base_url=base_url, model=model)


def _weights(file: str) -> Path:
    """The file of weights that a name gives.

    Raises:
        UnknownModelError: it is none.
    """
    path = Path(file).expanduser().absolute()  # the model's process works elsewhere
    if path.suffix != ".gguf" or not path.is_file():
        raise UnknownModelError(f"local:FILE names a file of weights, FILE.gguf: there is no {file!r}")
    return path


def _unknown(name: str, settings: Settings) -> str:
    forms = ["local", "local:FILE.gguf", "openai:MODEL", "anthropic:MODEL", "http://HOST/v1#MODEL"]
    known = [*settings.models, *settings.endpoints, *forms]
    close = get_close_matches(name, [*settings.models, *settings.endpoints, "local"], 1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return (
        f"no model is called {name!r}.{hint} Known are {', '.join(known)}. Define it: "
        'base_url = "http://HOST/v1", model = "MODEL" in [tool.bakeoff.models.NAME] of pyproject.toml, '
        "or in [models.NAME] of bakeoff.toml where you have that"
    )
