"""OpenAI Chat Completions."""

from __future__ import annotations

import json
from typing import Any

from scripted_model.script import Say, Shell
from scripted_model.tools import Tool
from scripted_model.wires import Call, halves, sse

NAME = "chat"


def matches(path: str) -> bool:
    return path.endswith("/chat/completions")


def tools(body: dict[str, Any]) -> list[Tool]:
    offered = [tool.get("function") or {} for tool in body.get("tools") or []]
    return [Tool(tool.get("name", ""), tool.get("parameters") or {}) for tool in offered]


def results(body: dict[str, Any]) -> list[str]:
    return [
        json.dumps(message.get("content")) for message in body.get("messages") or [] if message.get("role") == "tool"
    ]


def streams(path: str, body: dict[str, Any]) -> bool:
    return bool(body.get("stream"))


def _usage(reply: Say | Shell) -> dict[str, int]:
    total = reply.input_tokens + reply.output_tokens
    return {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens, "total_tokens": total}


def _calls(call: Call) -> list[dict[str, Any]]:
    name, given = call or ("", {})
    return [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
    ]


def _reason(reply: Say | Shell) -> str:
    return "tool_calls" if isinstance(reply, Shell) else "content_filter" if reply.refusal else "stop"


def whole(reply: Say | Shell, call: Call) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(reply, Say):
        message["content"] = reply.text
    else:
        message["tool_calls"] = _calls(call)
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
        "usage": _usage(reply),
    }


def events(reply: Say | Shell, call: Call) -> list[bytes]:
    if isinstance(reply, Say):
        deltas = [{"role": "assistant", "content": piece} for piece in halves(reply.text)]
    else:
        deltas = [{"role": "assistant", "content": None, "tool_calls": _calls(call)}]
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(reply)}]})
    chunks.append({**base, "choices": [], "usage": _usage(reply)})
    return [*map(sse, chunks), sse("[DONE]")]
