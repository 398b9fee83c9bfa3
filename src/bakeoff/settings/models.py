"""`[tool.bakeoff.models.NAME]`: models behind HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import Choice

from .checks import (
    Check,
    SettingsError,
    above,
    amount,
    both_prices,
    checked,
    checked_value,
    table,
    text,
    url,
    whole,
)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of one model that is behind HTTP.

    Attributes:
        api: wire format: `chat`, `responses`, `completions` or `messages`.
        base_url: the endpoint; the inventor's own one of the format where it is not set.
        key_env: variable that holds the key.
        model: its name at the endpoint; the name of these settings where it is not set.
        max_tokens: tokens of output for requests that name no limit.
        requests_per_minute: the endpoint's limit.
        tokens_per_minute: the endpoint's limit, input and output.
        max_in_flight: requests at once.
        timeout: seconds that the endpoint may be silent.
        price_in: USD for a million tokens of input.
        price_out: USD for a million tokens of output.
    """

    api: str = "chat"
    base_url: str | None = None
    key_env: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_in_flight: int | None = None
    timeout: float | None = None
    price_in: float | None = None
    price_out: float | None = None


_APIS = ("chat", "responses", "completions", "messages")
_MODEL: Mapping[str, Check] = {
    "api": Choice(_APIS),
    "base_url": url,
    "key_env": text,
    "model": text,
    "max_tokens": whole,
    "requests_per_minute": above,
    "tokens_per_minute": above,
    "max_in_flight": whole,
    "timeout": above,
    "price_in": amount,
    "price_out": amount,
}


def model_settings(name: str, body: Any, where: str) -> ModelSettings:
    """Settings of model `name`, checked; `where` names the table.

    Raises:
        SettingsError: it is wrong.
    """
    model = ModelSettings(**checked(checked_value(table, body, where), _MODEL, f"{where}."))
    if name == "local":
        raise SettingsError(f"{where}: `local` is the built-in local model; give yours another name")
    both_prices(model.price_in, model.price_out, where)
    return model
