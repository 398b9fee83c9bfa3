"""aider. It prints text only, so success is judged by its exit status and the errors it prints."""

from __future__ import annotations

import json
from pathlib import Path

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """Its own variables, which come before the user's configuration file; and what it would look up of the model."""
    env = {"AIDER_OPENAI_API_BASE": endpoint.url, "AIDER_OPENAI_API_KEY": key}
    name = "models.json"
    known: dict[str, object] = {"litellm_provider": "openai", "mode": "chat"}
    if endpoint.context is not None:
        known["max_input_tokens"] = endpoint.context
    metadata = json.dumps({f"openai/{endpoint.model}": known})
    return SetUp(env, (f"--model-metadata-file={folder / name}",), {name: metadata})


ENTRY = Entry(
    name="aider",
    executables=("aider",),
    install="pip install aider-chat",
    argv=(
        "--yes-always",
        "--no-auto-commits",
        "--no-stream",
        "--no-pretty",
        "--no-gitignore",
        "--no-check-update",
        "--no-analytics",
        "--no-show-model-warnings",
        "--no-detect-urls",
        "--no-show-release-notes",
        "--chat-history-file=/dev/null",
        "--input-history-file=/dev/null",
        ("--model={model}",),
        "{extra}",
        "--message={prompt}",
    ),
    env={**QUIET, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    login_files=("~/.aider.conf.yml", "~/.aider/oauth-keys.env"),
    own=("~/.aider",),
    litter=(".aider.chat.history.md", ".aider.input.history", ".aider.llm.history", ".aider.tags.cache.v*"),
    login_variables=(
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "DEEPSEEK_API_KEY",
    ),
    config_files=("~/.aider.conf.yml", "~/.env", ".aider.conf.yml", ".env", ".aider.model.settings.yml"),
    config_variables=("AIDER_*", "*_API_KEY", "*_API_BASE", "*_BASE_URL", "AWS_*", "AZURE_*", "VERTEX*", "GOOGLE_*"),
    names_providers=True,
    needs_login=True,
    events="aider",
    reports_usage=True,
    reports_cost=True,
    aim=aim,
    aimed_model="openai/{model}",
)
