"""opencode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import KEY, Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading, count, money, part, session, words

_REASONS = {
    "length": ("the answer was cut at the model's output limit", None),
    "content-filter": ("the model refused", "refusal"),
    "error": (None, None),
}
"""Reasons after which it ends and has failed; after others, such as `tool-calls` and `unknown`, it goes on."""

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


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event of `opencode run --format=json`."""
    reading.session_id = session(event.get("sessionID")) or reading.session_id
    body = part(event, "part")
    match event.get("type"):
        case "text":
            said = words(body.get("text"))
            if said is not None:
                reading.add(f"\n{said}" if reading.text or reading.more else said)
        case "tool_use":
            reading.say("")
        case "step_finish":
            _finish(body, reading)
        case "error":
            error = part(event, "error")
            reading.end(False, words(part(error, "data").get("message")) or words(error.get("name")))


def _finish(body: Mapping[str, Any], reading: Reading) -> None:
    """A step ended; every step tells its own tokens and cost."""
    tokens = part(body, "tokens")
    cache = part(tokens, "cache")
    before = reading.usage or {}
    step = {
        "input_tokens": [tokens.get("input"), cache.get("read"), cache.get("write")],
        "cached_input_tokens": [cache.get("read")],
        "cache_write_input_tokens": [cache.get("write")],
        "output_tokens": [tokens.get("output"), tokens.get("reasoning")],
        "reasoning_output_tokens": [tokens.get("reasoning")],
    }
    if tokens:
        reading.spend(**{name: before.get(name, 0) + sum(count(n) or 0 for n in found) for name, found in step.items()})
    reading.price((reading.usd or 0.0) + (money(body.get("cost")) or 0.0))
    reading.turns = (reading.turns or 0) + 1
    reason = body.get("reason")
    if reason == "stop":
        reading.end(True)
    elif isinstance(reason, str) and reason in _REASONS:
        reading.end(False, *_REASONS[reason])


FORMAT = EventFormat(read)
