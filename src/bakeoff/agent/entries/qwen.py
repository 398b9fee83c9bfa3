"""Qwen Code."""

from __future__ import annotations

from bakeoff.agent.entry import QUIET, Entry

ENTRY = Entry(
    name="qwen",
    executables=("qwen",),
    install="npm install -g @qwen-code/qwen-code",
    argv=(
        "--output-format=stream-json",
        "--approval-mode=yolo",
        ("--model={model}",),
        ("--resume={session}",),
        "{extra}",
        "--prompt={prompt}",
    ),
    env={**QUIET, "QWEN_CODE_NO_RELAUNCH": "1"},
    login_files=("~/.qwen/oauth_creds.json",),
    login_variables=("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "QWEN_API_KEY"),
    events="qwen",
    reports_usage=True,
)
