"""GitHub Copilot CLI."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading, part, session, words

PROMPT_SHARE = 3 / 4
"""The part of a context that it may fill with its prompt; the rest is for output."""


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """Variables; it then needs no login."""
    env = {
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": endpoint.url,
        "COPILOT_PROVIDER_API_KEY": key,
        "COPILOT_PROVIDER_BEARER_TOKEN": None,
        "COPILOT_MODEL": endpoint.model,
    }
    if endpoint.context is not None:
        env["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"] = str(int(endpoint.context * PROMPT_SHARE))
    return SetUp(env)


ENTRY = Entry(
    name="copilot",
    executables=("copilot",),
    install="npm install -g @github/copilot",
    argv=(
        "--output-format=json",
        "--yolo",
        "--no-auto-update",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--prompt={prompt}",
    ),
    slash="/speckit-{command}",
    joint="-",
    env=QUIET,
    login_files=("~/.copilot/config.json",),
    own=("~/.cache/copilot",),
    login_variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_*"),
    home_variable="COPILOT_HOME",
    events="copilot",
    needs_login=True,
    aim=aim,
)


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event of `--output-format=json`."""
    data = part(event, "data")
    match event.get("type"):
        case "assistant.message":
            reading.text = words(data.get("content")) or reading.text
        case "session.error" | "model.call_failure":
            reading.warn(words(data.get("message")) or words(data.get("errorMessage")) or "error")
        case "result":
            reading.session_id = session(event.get("sessionId")) or reading.session_id
            reading.end(event.get("exitCode") == 0)


FORMAT = EventFormat(read)
