"""Cursor's CLI. Its events have the shape of Claude Code's, without usage."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

ENTRY = Entry(
    name="cursor-agent",
    executables=("cursor-agent",),
    install="the installer on Cursor's web site (cursor.com/cli)",
    argv=(
        "-p",
        "--force",
        "--output-format=stream-json",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--",
        "{prompt}",
    ),
    slash="/speckit-{command}",
    joint="-",
    env=QUIET,
    login_files=("~/.cursor/cli-config.json",),
    own=("~/.config/cursor",),
    login_variables=("CURSOR_API_KEY",),
    config_files=("~/.config/cursor/auth.json", "~/.cursor/auth.json"),
    events="claude",
    needs_login=True,
)
