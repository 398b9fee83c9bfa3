"""Qwen Code. Its events are Claude Code's, but a failed request ends as a success whose text is the error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.clis import claude
from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading

_FAILED = "[API Error: "


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """Variables; and a settings file above the user's own, which tells how much the model takes."""
    name = "settings.json"
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "model": {} if endpoint.context is None else {"generationConfig": {"contextWindowSize": endpoint.context}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    env = {
        "OPENAI_BASE_URL": endpoint.url,
        "OPENAI_API_KEY": key,
        "OPENAI_MODEL": endpoint.model,
        "QWEN_CODE_SYSTEM_SETTINGS_PATH": str(folder / name),
    }
    return SetUp(env, ("--auth-type=openai",), {name: json.dumps(settings)})


ENTRY = Entry(
    name="qwen",
    executables=("qwen",),
    install="npm install -g @qwen-code/qwen-code",
    argv=(
        "--output-format=stream-json",
        "--approval-mode=yolo",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--prompt={prompt}",
    ),
    env={**QUIET, "QWEN_CODE_NO_RELAUNCH": "1"},
    login_files=("~/.qwen/oauth_creds.json",),
    login_variables=("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "QWEN_API_KEY", "OPENAI_BASE_URL"),
    config_files=("~/.qwen/settings.json", "~/.qwen/.env", "~/.env", ".qwen/settings.json", ".qwen/.env", ".env"),
    events="qwen",
    reports_usage=True,
    needs_login=True,
    aim=aim,
)


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    claude.read(event, reading)
    _, failed, why = reading.text.rstrip().partition(_FAILED)
    if failed and why.endswith("]") and reading.succeeded and event.get("type") == "result":
        reading.end(False, f"API Error: {why[:-1]}")


FORMAT = EventFormat(read)
