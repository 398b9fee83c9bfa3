"""`[tool.bakeoff.agents.NAME]`: coding agents, known ones changed and new ones added."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import Choice, close_to
from bakeoff.options.option import option

from .checks import (
    SettingsError,
    amount,
    both_prices,
    checked,
    checked_value,
    checks_of,
    table,
    text,
    texts,
    variables,
)

Argv = tuple["str | tuple[str, ...]", ...]

_CLIS = {
    "claude": True,
    "codex": True,
    "gemini": True,
    "copilot": True,
    "opencode": True,
    "qwen": True,
    "cursor-agent": False,
    "aider": True,
    "mini": False,
}
"""Coding-agent CLIs that are built in, each with a file in `agent/clis/`; whether `events` may name it: True where that
file has a FORMAT of its own that reads standard output. Here because settings may import no agent."""

BUILT_IN = tuple(_CLIS)
EVENTS = (*(name for name, has_format in _CLIS.items() if has_format), "text")


_PLACEHOLDERS = ("prompt", "model", "session", "max_usd", "command", "extra")


def _argv(value: Any) -> Argv:
    if not isinstance(value, list) or not value or not isinstance(value[0], str) or not value[0].strip():
        raise ValueError("a list whose first item is the program")
    argv: Argv = tuple(texts(item) if isinstance(item, list) else item for item in value)
    flat = [text for item in argv for text in (item if isinstance(item, tuple) else (item,))]
    if not all(isinstance(text, str) for text in flat):
        raise ValueError("a list of texts, and of lists of texts for what is optional")
    names = re.findall(r"\{([a-z_]+)\}", " ".join(flat))
    for name in names:
        if name not in _PLACEHOLDERS:
            known = ", ".join(f"{{{known}}}" for known in _PLACEHOLDERS)
            raise ValueError(
                f"a list with no other placeholders than {known} (there is {{{name}}}{close_to(name, _PLACEHOLDERS)})"
            )
    if any("{extra}" in text and text != "{extra}" for text in flat):
        raise ValueError('a list in which "{extra}", where it is used, stands alone')
    if "prompt" not in names:
        raise ValueError('a list with "{prompt}" where the prompt goes')
    return argv


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Settings of one coding agent: a change to a known one, or a new one by `argv`."""

    argv: Argv | None = option(
        None,
        _argv,
        "Program and arguments, `{prompt}` among them; a list inside it is left out when a placeholder in"
        ' it has no value, as in `["tool", ["--model", "{model}"], "{prompt}"]`.',
    )
    executable: str | None = option(None, text, "Another program for the same arguments.")
    like: str | None = option(None, Choice(BUILT_IN), "Name of the built-in agent that a new one is a variant of.")
    args: tuple[str, ...] = option((), texts, "Arguments added to every call.")
    env: Mapping[str, str] = option(dict, variables, "Variables set for it.")
    model: str | None = option(None, text, "Its model where a workflow names none.")
    price_in: float | None = option(
        None, amount, "USD for a million tokens of input, for a CLI that tells tokens and no cost."
    )
    price_out: float | None = option(None, amount, "USD for a million tokens of output.")
    events: str | None = option(
        None, Choice(EVENTS), "How its output is read: the name of a built-in agent's format, or `text`."
    )
    slash: str | None = option(None, text, "How a command is asked for, with `{command}`.")
    install: str | None = option(None, text, "What to tell a person who does not have it.")
    endpoint: str | None = option(None, text, "Name of the endpoint that it is set up for.")
    writes: tuple[str, ...] = option(
        (), texts, "Files and folders that it may write besides its slot and what is known to be its own."
    )


def agent_settings(name: str, body: Any, where: str) -> AgentSettings:
    """Settings of agent `name`, checked; `where` names the table.

    Raises:
        SettingsError: it is wrong.
    """
    agent = AgentSettings(**checked(checked_value(table, body, where), checks_of(AgentSettings), f"{where}."))
    both_prices(agent.price_in, agent.price_out, where)
    if name not in BUILT_IN and agent.argv is None and agent.like is None:
        raise SettingsError(
            f"{where} is no agent that bakeoff knows{close_to(name, BUILT_IN)}: give it an argv with "
            '"{prompt}" where the prompt goes, or `like` with the name of a known one'
        )
    if name in BUILT_IN and agent.like is not None:
        raise SettingsError(f"{where}.like is for agents of your own; {name} is a built-in one")
    return agent
