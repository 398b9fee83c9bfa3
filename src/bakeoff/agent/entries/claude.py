"""Claude Code."""

from __future__ import annotations

from pathlib import Path

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry


def aim(endpoint: Endpoint, key: str, folder: Path) -> SetUp:
    """Variables, those of other ways to a model taken out. The endpoint has to speak the format `messages`."""
    env = {
        "ANTHROPIC_BASE_URL": endpoint.root,
        "ANTHROPIC_AUTH_TOKEN": key,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": endpoint.model,
        "ANTHROPIC_SMALL_FAST_MODEL": endpoint.model,
        "ANTHROPIC_API_KEY": None,
        "CLAUDE_CODE_OAUTH_TOKEN": None,
        "CLAUDE_CODE_USE_BEDROCK": None,
        "CLAUDE_CODE_USE_VERTEX": None,
    }
    return SetUp(env)


ENTRY = Entry(
    name="claude",
    executables=("claude",),
    install="npm install -g @anthropic-ai/claude-code",
    # Root may not skip permissions wholesale, so edits and the shell are allowed by name.
    argv=(
        "-p",
        "--output-format=stream-json",
        "--verbose",
        "--permission-mode=acceptEdits",
        "--allowedTools=Bash",
        ("--model={model}",),
        ("--resume={session}",),
        ("--max-budget-usd={max_usd}",),
        "{extra}",
        "--",
        "{prompt}",
    ),
    slash="/speckit-{command}",
    joint="-",
    env={
        **QUIET,
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    },
    login_files=("~/.claude/.credentials.json",),
    own=("~/.claude.json", "~/.cache/claude-cli-nodejs"),
    login_variables=(
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "ANTHROPIC_BASE_URL",
    ),
    config_files=("~/.claude/settings.json", ".claude/settings.json", ".claude/settings.local.json"),
    home_variable="CLAUDE_CONFIG_DIR",
    events="claude",
    reports_usage=True,
    reports_cost=True,
    needs_login=True,
    aim=aim,
)
