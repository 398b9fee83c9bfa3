"""mini-swe-agent. It prints for people; what counts is the trajectory file it leaves."""

from __future__ import annotations

from pathlib import Path

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry


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
