"""`[tool.bakeoff.endpoints.NAME]`: endpoints that agents' CLIs are set up for, and that bakeoff asks itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import close_to
from bakeoff.options.option import option

from .checks import SettingsError, checked, checked_value, checks_of, table, text, url, whole


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Settings of one endpoint."""

    url: str = option(..., url, "Its address, as clients of the OpenAI API are given it, `/v1` included.")
    model: str = option(..., text, "The model's name there.")
    key_env: str | None = option(None, text, "Variable that holds the key; None for an endpoint that wants none.")
    context: int | None = option(
        None, whole, "Tokens that the model takes, input and output together; None where the CLI is to know."
    )


def endpoint_settings(name: str, body: Any, where: str) -> EndpointSettings:
    """Settings of endpoint `name`, checked; `where` names the table.

    Raises:
        SettingsError: it is wrong.
    """
    given = checked(checked_value(table, body, where), checks_of(EndpointSettings), f"{where}.")
    for needed in ("url", "model"):
        if needed not in given:
            raise SettingsError(f"{where} has no {needed}: an endpoint has url and model")
    if name == "local":
        raise SettingsError(f"{where}: `local` is the built-in local model; give yours another name")
    return EndpointSettings(**given)


def named_endpoint(name: str, known: Mapping[str, EndpointSettings], where: str) -> EndpointSettings:
    """The endpoint called `name`; `where` is what names it, for messages.

    Raises:
        SettingsError: there is none.
    """
    if name not in known:
        there = f"known are {', '.join(known)}" if known else "none is defined"
        raise SettingsError(
            f"{where}: no endpoint is called {name!r}{close_to(name, tuple(known))}; {there}. Define it: "
            'url = "http://HOST/v1", model = "MODEL" in [tool.bakeoff.endpoints.NAME] of pyproject.toml, '
            "or in [endpoints.NAME] of bakeoff.toml where you have that"
        )
    return known[name]
