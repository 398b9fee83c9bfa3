"""`[tool.bakeoff.models.NAME]`: models behind HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import Choice
from bakeoff.options.option import option

from .checks import (
    SettingsError,
    above,
    amount,
    both_prices,
    checked,
    checked_value,
    checks_of,
    table,
    text,
    url,
    whole,
)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Settings of one model that is behind HTTP."""

    api: str = option(
        "chat",
        Choice(("chat", "responses", "completions", "messages")),
        "Wire format: `chat`, `responses`, `completions` or `messages`.",
    )
    base_url: str | None = option(None, url, "The endpoint; the inventor's own one of the format where it is not set.")
    key_env: str | None = option(None, text, "Variable that holds the key.")
    model: str | None = option(None, text, "Its name at the endpoint; the name of these settings where it is not set.")
    max_tokens: int | None = option(None, whole, "Tokens of output for requests that name no limit.")
    requests_per_minute: float | None = option(None, above, "The endpoint's limit.")
    tokens_per_minute: float | None = option(None, above, "The endpoint's limit, input and output.")
    max_in_flight: int | None = option(None, whole, "Requests at once.")
    timeout: float | None = option(None, above, "Seconds that the endpoint may be silent.")
    price_in: float | None = option(None, amount, "USD for a million tokens of input.")
    price_out: float | None = option(None, amount, "USD for a million tokens of output.")


def model_settings(name: str, body: Any, where: str) -> ModelSettings:
    """Settings of model `name`, checked; `where` names the table.

    Raises:
        SettingsError: it is wrong.
    """
    model = ModelSettings(**checked(checked_value(table, body, where), checks_of(ModelSettings), f"{where}."))
    if name == "local":
        raise SettingsError(f"{where}: `local` is the built-in local model; give yours another name")
    both_prices(model.price_in, model.price_out, where)
    return model
