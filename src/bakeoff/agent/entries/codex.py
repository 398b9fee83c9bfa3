"""OpenAI Codex."""

from __future__ import annotations

import json
from pathlib import Path

from bakeoff.agent.endpoint import KEY, Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry


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
