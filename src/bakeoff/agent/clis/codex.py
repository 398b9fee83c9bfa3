"""OpenAI Codex."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import KEY, Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import USAGE_KEYS, EventFormat, Reading, count, part, session, words


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """A provider of its own; the endpoint has to speak the format `responses`."""
    provider = {"name": endpoint.name, "base_url": endpoint.url, "env_key": KEY, "wire_api": "responses"}
    settings = [f"model_providers.bakeoff.{name}={json.dumps(value)}" for name, value in provider.items()]
    settings.append('model_provider="bakeoff"')
    if endpoint.context is not None:
        settings.append(f"model_context_window={endpoint.context}")
    return SetUp({KEY: key}, tuple(part for setting in settings for part in ("-c", setting)))


ENTRY = Entry(
    name="codex",
    executables=("codex",),
    install="npm install -g @openai/codex",
    argv=(
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--sandbox=workspace-write",
        ("--model={model}",),
        "{extra}",
        ("resume", "{session}"),
        "--",
        "{prompt}",
    ),
    slash="$speckit-{command}",
    joint="-",
    env=QUIET,
    login_files=("~/.codex/auth.json",),
    login_variables=("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    config_files=("~/.codex/config.toml", ".codex/config.toml"),
    home_variable="CODEX_HOME",
    events="codex",
    inside={"--sandbox=workspace-write": "--sandbox=danger-full-access"},
    reports_usage=True,
    needs_login=True,
    aim=aim,
)


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event of `codex exec --json`."""
    match event.get("type"):
        case "thread.started":
            reading.session_id = session(event.get("thread_id")) or reading.session_id
        case "turn.started":  # what an earlier turn said of its end is not the end
            reading.succeeded = None
        case "item.completed":
            item = part(event, "item")
            if item.get("type") == "agent_message":
                reading.text = words(item.get("text")) or reading.text
        case "error":  # also said of each reconnection, after which the turn may well complete
            reading.warn(words(event.get("message")) or "error")
        case "turn.completed":
            usage = part(event, "usage")
            reading.spend(**{name: count(usage.get(name)) for name in USAGE_KEYS})
            reading.turns = (reading.turns or 0) + 1
            reading.end(True)
        case "turn.failed":
            reading.end(False, words(part(event, "error").get("message")))


FORMAT = EventFormat(read)
