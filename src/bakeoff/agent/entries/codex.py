"""OpenAI Codex."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

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
    login_variables=("CODEX_API_KEY", "OPENAI_API_KEY"),
    home_variable="CODEX_HOME",
    events="codex",
    inside={"--sandbox=workspace-write": "--sandbox=danger-full-access"},
    reports_usage=True,
)
