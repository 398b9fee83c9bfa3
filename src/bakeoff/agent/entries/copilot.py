"""GitHub Copilot CLI."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

ENTRY = Entry(
    name="copilot",
    executables=("copilot",),
    install="npm install -g @github/copilot",
    argv=(
        "--output-format=json",
        "--yolo",
        "--no-auto-update",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--prompt={prompt}",
    ),
    slash="/speckit-{command}",
    joint="-",
    env=QUIET,
    login_files=("~/.copilot/config.json",),
    login_variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    home_variable="COPILOT_HOME",
    events="copilot",
)
