"""aider. It prints text, with usage, cost and errors in lines of their own. Its exit status is 0 also after errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading, no_events

_TOKENS = re.compile(r"Tokens: ([\d.,]{1,20}[kM]?) sent,[^\n]{0,200}?(?<![\d.,])([\d.,]{1,20}[kM]?) received")
_COST = re.compile(r"Cost: \$[\d.,]{1,20} message, \$([\d.,]{1,20}) session")
_ERROR = re.compile(r"^.*\blitellm\.\w*(?:Error|Exception)\b.*$", re.MULTILINE)
_TOO_LONG = re.compile(r"^Model .* has hit a token limit!$", re.MULTILINE)
_SCALE = {"k": 1_000, "M": 1_000_000}


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
    leftovers=(".aider.chat.history.md", ".aider.input.history", ".aider.llm.history", ".aider.tags.cache.v*"),
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


def read_text(text: str, reading: Reading) -> None:
    """Take all that was printed (or the end of it)."""
    tokens = _TOKENS.findall(text)
    if tokens:
        reading.spend(
            input_tokens=round(sum(_number(sent) for sent, _ in tokens)),
            output_tokens=round(sum(_number(received) for _, received in tokens)),
        )
    costs = _COST.findall(text)
    if costs:
        reading.price(_number(costs[-1]))
    errors = _ERROR.findall(text)
    if errors and (not tokens or text.rfind(errors[-1]) > text.rfind("Tokens:")):
        reading.end(False, errors[-1].strip())
    too_long = _TOO_LONG.findall(text)
    if too_long:
        reading.end(False, too_long[-1], "context-length")


def _number(text: str) -> float:
    """A number as it prints them; 0 for what is none."""
    try:
        return float(text.rstrip("kM").replace(",", "")) * _SCALE.get(text[-1], 1)
    except ValueError:
        return 0.0


FORMAT = EventFormat(no_events, has_final=False, read_text=read_text)
