"""Gemini CLI."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

ENTRY = Entry(
    name="gemini",
    executables=("gemini",),
    install="npm install -g @google/gemini-cli",
    argv=(
        "--output-format=stream-json",
        "--approval-mode=yolo",
        "--skip-trust",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--prompt={prompt}",
    ),
    # Without NO_RELAUNCH it starts itself a second time, which costs a second.
    env={**QUIET, "GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_TELEMETRY_ENABLED": "false"},
    login_files=("~/.gemini/oauth_creds.json",),
    login_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"),
    home_variable="GEMINI_CLI_HOME",
    events="gemini",
    reports_usage=True,
)
