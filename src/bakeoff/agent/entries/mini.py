"""mini-swe-agent. It prints for people; what counts is the trajectory file it leaves."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

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
    home_variable="MSWEA_GLOBAL_CONFIG_DIR",
    events="mini",
    reports_usage=True,
    reports_cost=True,
    version=("--help",),
    artifact="trajectory.json",
)
