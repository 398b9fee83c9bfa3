"""Gemini CLI."""

from __future__ import annotations

import json
from pathlib import Path

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry


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
