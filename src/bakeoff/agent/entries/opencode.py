"""opencode."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

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
    home_variable="XDG_DATA_HOME",
    events="opencode",
    reports_usage=True,
    reports_cost=True,
)
