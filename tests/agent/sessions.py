"""Sample sessions: what each built-in CLI that has a FORMAT prints in one call that succeeds, from first to last.

A session is a list of events as the real CLI prints them, one dictionary each, cut down to what tells something: some
words, a tool call, the final event with usage and cost. For a CLI that prints text (`read_text`) it is that text.
`test_sessions.py` takes fields out of them and puts odd values in, and no `read` may raise.
"""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]

CLAUDE: list[Event] = [
    {"type": "system", "subtype": "init", "session_id": "s-1"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "let me see"}]}, "session_id": "s-1"},
    {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result"}]}},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 2,
        "result": "done é",
        "total_cost_usd": 0.25,
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 2,
            "output_tokens": 3,
        },
    },
]
QWEN: list[Event] = [
    *CLAUDE[:-1],
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 2,
        "result": "done",
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 3, "total_tokens": 12},
    },
]
CODEX: list[Event] = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"type": "error", "message": "Model metadata not found"}},
    {"type": "error", "message": "Reconnecting... 1/5"},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "first"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "last"}},
    {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}},
]
GEMINI: list[Event] = [
    {"type": "init", "session_id": "g-1"},
    {"type": "message", "role": "user", "content": "q"},
    {"type": "message", "role": "assistant", "content": "let me", "delta": True},
    {"type": "tool_use", "tool_name": "run_shell_command"},
    {"type": "error", "severity": "warning", "message": "loop"},
    {"type": "message", "role": "assistant", "content": "all ", "delta": True},
    {"type": "message", "role": "assistant", "content": "done", "delta": True},
    {"type": "result", "status": "success", "stats": {"input_tokens": 4, "output_tokens": 2, "cached": 1}},
]
OPENCODE: list[Event] = [
    {"type": "text", "sessionID": "o", "part": {"text": "first"}},
    {"type": "tool_use", "sessionID": "o", "part": {"tool": "bash"}},
    {
        "type": "step_finish",
        "sessionID": "o",
        "part": {
            "reason": "tool-calls",
            "tokens": {"input": 5, "output": 2, "reasoning": 1, "cache": {"read": 3, "write": 1}},
            "cost": 0.1,
        },
    },
    {"type": "text", "sessionID": "o", "part": {"text": "done"}},
    {
        "type": "step_finish",
        "sessionID": "o",
        "part": {
            "reason": "stop",
            "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "cost": 0.2,
        },
    },
]
COPILOT: list[Event] = [
    {"type": "assistant.message", "data": {"content": "", "toolRequests": [{}]}},
    {"type": "model.call_failure", "data": {"errorMessage": "429"}},
    {"type": "assistant.message", "data": {"content": "done"}},
    {"type": "result", "sessionId": "c-1", "exitCode": 0},
]
AIDER = (
    "hi\nTokens: 1.2k sent, 30 received. Cost: $0.01 message, $0.01 session.\n"
    "Tokens: 800 sent, 100 cache hit, 1.5k received. Cost: $0.02 message, $0.03 session.\n"
)


def trajectory(status: str, cost: float = 0.5) -> Event:
    """The result file of mini-swe-agent."""
    usage = {"extra": {"response": {"usage": {"prompt_tokens": 4, "completion_tokens": 2}}}}
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "ran it", **usage}]
    info = {"exit_status": status, "submission": "", "model_stats": {"instance_cost": cost, "api_calls": 3}}
    return {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}


SESSIONS: dict[str, list[Event] | str] = {
    "aider": AIDER,
    "claude": CLAUDE,
    "codex": CODEX,
    "copilot": COPILOT,
    "gemini": GEMINI,
    "mini": [trajectory("Submitted")],
    "opencode": OPENCODE,
    "qwen": QWEN,
}
"""By the name of the format."""
