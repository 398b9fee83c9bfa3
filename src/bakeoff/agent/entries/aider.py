"""aider. It prints text only, so success is judged by its exit status and the errors it prints."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

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
        ("--model={model}",),
        "{extra}",
        "--message={prompt}",
    ),
    env={**QUIET, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    login_files=("~/.aider.conf.yml", "~/.aider/oauth-keys.env"),
    own=("~/.aider",),
    login_variables=(
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "DEEPSEEK_API_KEY",
    ),
    events="aider",
    reports_usage=True,
    reports_cost=True,
)
