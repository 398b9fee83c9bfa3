"""Qwen Code."""

from __future__ import annotations

import json
from pathlib import Path

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry


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
