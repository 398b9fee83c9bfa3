"""Claude Code; the shape of its events is shared by Cursor, and nearly by Qwen Code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.agent.endpoint import Endpoint, SetUp
from bakeoff.agent.entry import QUIET, Entry
from bakeoff.agent.events import EventFormat, Reading, count, money, part, parts, session, words

_BUDGET = {"error_max_budget_usd": "budget", "error_max_turns": "turns"}


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


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event of `stream-json`, or of `json`."""
    reading.session_id = session(event.get("session_id")) or reading.session_id
    match event.get("type"):
        case "assistant":
            _assistant(event, reading)
        case "system" if event.get("subtype") == "api_retry":
            reading.warn(f"API error {event.get('error_status')} ({event.get('error')}), trying again")
        case "result":
            _result(event, reading)


def _assistant(event: Mapping[str, Any], reading: Reading) -> None:
    message = part(event, "message")
    said = [words(block.get("text")) for block in parts(message, "content") if block.get("type") == "text"]
    text = "\n".join(filter(None, said))
    if text:
        reading.text = text
    if message.get("stop_reason") == "refusal":
        reading.kind = "refusal"


def _result(event: Mapping[str, Any], reading: Reading) -> None:
    text = words(event.get("result"))
    usage = part(event, "usage")
    fresh = count(usage.get("input_tokens"))
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    # Anthropic counts cached input apart. Qwen Code has a `total_tokens` and counts it in, as OpenAI does.
    apart = 0 if "total_tokens" in usage else (cached or 0) + (written or 0)
    reading.spend(
        input_tokens=None if fresh is None else fresh + apart,
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        output_tokens=count(usage.get("output_tokens")),
    )
    reading.price(money(event.get("total_cost_usd")))
    reading.turns = count(event.get("num_turns"))
    subtype = event.get("subtype")
    if subtype == "success" and event.get("is_error") in (False, None):
        reading.text = text or reading.text
        refused = reading.kind == "refusal" or event.get("stop_reason") == "refusal"
        reading.end(not refused, text or "the model refused", "refusal")
        return
    error = text or _errors(event) or words(part(event, "error").get("message")) or words(subtype)
    reading.end(False, error, _BUDGET.get(subtype) if isinstance(subtype, str) else None)


def _errors(event: Mapping[str, Any]) -> str | None:
    errors = event.get("errors")
    return "; ".join(str(error) for error in errors) if isinstance(errors, list) else None


FORMAT = EventFormat(read)
