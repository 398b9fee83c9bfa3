"""mini-swe-agent. It prints for people; what counts is the trajectory file it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading, count, money, part, parts, words


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """The variables of its client. It takes no heed of how much a model takes."""
    return SetUp({"OPENAI_API_BASE": endpoint.url, "OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": key})


ENTRY = Entry(
    name="mini",
    executables=("mini",),
    install="pip install mini-swe-agent",
    argv=(
        "--yolo",
        "--exit-immediately",
        "--output={artifact}",
        ("--model={model}",),
        ("--cost-limit={max_usd}",),
        "{extra}",
        "--task={prompt}",
    ),
    env={
        **QUIET,
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    },
    login_files=("~/.config/mini-swe-agent/.env",),
    login_variables=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MSWEA_MODEL_API_KEY"),
    config_variables=(
        "MSWEA_MODEL_*",
        "*_API_KEY",
        "*_API_BASE",
        "*_BASE_URL",
        "AWS_*",
        "AZURE_*",
        "VERTEX*",
        "GOOGLE_*",
    ),
    names_providers=True,
    needs_login=True,
    home_variable="MSWEA_GLOBAL_CONFIG_DIR",
    events="mini",
    reports_usage=True,
    reports_cost=True,
    aim=aim,
    aimed_model="openai/{model}",
    version=("--help",),
    artifact="trajectory.json",
)


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take the trajectory, which is one document."""
    info = part(event, "info")
    if not info:
        return
    statistics = part(info, "model_stats")
    messages = parts(event, "messages")
    usages = [part(message, "extra", "response", "usage") for message in messages]
    if any(usages):
        reading.spend(
            input_tokens=sum(count(usage.get("prompt_tokens")) or 0 for usage in usages),
            output_tokens=sum(count(usage.get("completion_tokens")) or 0 for usage in usages),
        )
    reading.price(money(statistics.get("instance_cost")))
    reading.turns = count(statistics.get("api_calls"))
    status = words(info.get("exit_status")) or "no exit status"
    said = [words(message.get("content")) for message in messages if message.get("role") == "assistant"]
    # Its models may call tools and never say a word.
    reading.text = words(info.get("submission")) or next(filter(None, reversed(said)), status)
    reading.end(status == "Submitted", f"it ended with {status}", "budget" if status == "LimitsExceeded" else None)


FORMAT = EventFormat(read, from_artifact=True)
