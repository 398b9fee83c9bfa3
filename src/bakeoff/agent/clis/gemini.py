"""Gemini CLI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading, count, part, session, words


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """Variables; and a home of its own, as the user's settings may name a login that would be used instead.

    The endpoint has to speak Gemini's own format.
    """
    env = {
        "GOOGLE_GEMINI_BASE_URL": endpoint.root,
        "GEMINI_API_KEY": key,
        "GEMINI_CLI_HOME": str(folder),
        "GOOGLE_API_KEY": None,
        "GOOGLE_GENAI_USE_VERTEXAI": None,
        "GOOGLE_GENAI_USE_GCA": None,
    }
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    return SetUp(env, files={".gemini/settings.json": json.dumps(settings)})


ENTRY = Entry(
    name="gemini",
    executables=("gemini",),
    install="npm install -g @google/gemini-cli",
    argv=(
        "--output-format=stream-json",
        "--approval-mode=yolo",
        "--skip-trust",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--prompt={prompt}",
    ),
    # Without NO_RELAUNCH it starts itself a second time, which costs a second.
    env={**QUIET, "GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_TELEMETRY_ENABLED": "false"},
    login_files=("~/.gemini/oauth_creds.json",),
    login_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_*_BASE_URL"),
    config_files=(
        "~/.gemini/settings.json",
        "~/.gemini/.env",
        "~/.env",
        ".gemini/settings.json",
        ".gemini/.env",
        ".env",
    ),
    home_variable="GEMINI_CLI_HOME",
    events="gemini",
    reports_usage=True,
    needs_login=True,
    aim=aim,
)


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event of `stream-json`, or the one document of `json`."""
    reading.session_id = session(event.get("session_id")) or reading.session_id
    match event.get("type"):
        case "message" if event.get("role") == "assistant":
            content = event.get("content")
            if isinstance(content, str):
                (reading.add if event.get("delta") else reading.say)(content)
        case "tool_use":
            reading.say("")
            reading.turns = (reading.turns or 0) + 1
        case "error":
            reading.warn(words(event.get("message")) or "error")
        case "result":
            _stats(part(event, "stats"), reading)
            error = part(event, "error")
            reading.end(event.get("status") == "success", words(error.get("message")))
        case None if "response" in event or "error" in event:
            _document(event, reading)


def _stats(stats: Mapping[str, Any], reading: Reading) -> None:
    reading.spend(
        input_tokens=count(stats.get("input_tokens")),
        cached_input_tokens=count(stats.get("cached")),
        output_tokens=count(stats.get("output_tokens")),
    )


def _document(event: Mapping[str, Any], reading: Reading) -> None:
    """The one document of `--output-format=json`, where tokens stand by model."""
    text = words(event.get("response"))
    error = part(event, "error")
    reading.say(text or "")
    for model in part(event, "stats", "models").values():
        tokens = part(model, "tokens")
        before = reading.usage or {}
        reading.spend(
            input_tokens=before.get("input_tokens", 0) + (count(tokens.get("prompt")) or 0),
            cached_input_tokens=before.get("cached_input_tokens", 0) + (count(tokens.get("cached")) or 0),
            output_tokens=before.get("output_tokens", 0) + (count(tokens.get("candidates")) or 0),
        )
    reading.end(text is not None and not error, words(error.get("message")))


FORMAT = EventFormat(read)
