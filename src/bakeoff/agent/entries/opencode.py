"""opencode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import KEY, Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry

OUTPUT_SHARE = 4
"""The part of a context that it may fill with output: one in so many."""


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """Configuration in a variable, on top of the user's own; titles and summaries come from the same model."""
    model: dict[str, Any] = {"name": endpoint.model}
    if endpoint.context is not None:
        model["limit"] = {"context": endpoint.context, "output": max(1, endpoint.context // OUTPUT_SHARE)}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": endpoint.name,
        "options": {"baseURL": endpoint.url, "apiKey": f"{{env:{KEY}}}"},
        "models": {endpoint.model: model},
    }
    config = {"provider": {"bakeoff": provider}, "small_model": f"bakeoff/{endpoint.model}", "share": "disabled"}
    return SetUp({KEY: key, "OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"})


ENTRY = Entry(
    name="opencode",
    executables=("opencode",),
    install="npm install -g opencode-ai",
    # It runs a command by flag, with the command's arguments as the message.
    argv=(
        "run",
        "--format=json",
        "--auto",
        ("--model={model}",),
        ("--session={session}",),
        ("--command={command}",),
        "{extra}",
        ("--", "{prompt}"),
    ),
    slash="speckit.{command}",
    env={**QUIET, "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    login_files=("~/.local/share/opencode/auth.json",),
    own=("~/.config/opencode", "~/.cache/opencode", "~/.local/state/opencode"),
    login_variables=("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"),
    events="opencode",
    reports_usage=True,
    reports_cost=True,
    aim=aim,
    aimed_model="bakeoff/{model}",
)
