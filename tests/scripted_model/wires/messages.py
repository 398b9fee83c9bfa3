"""Anthropic Messages."""

from __future__ import annotations

import json
from typing import Any

from scripted_model.script import Say, Shell
from scripted_model.tools import Tool
from scripted_model.wires import Call, halves, sse

NAME = "messages"


def matches(path: str) -> bool:
    return path.endswith("/messages")


def tools(body: dict[str, Any]) -> list[Tool]:
    return [Tool(tool.get("name", ""), tool.get("input_schema") or {}) for tool in body.get("tools") or []]


def results(body: dict[str, Any]) -> list[str]:
    contents = [message.get("content") for message in body.get("messages") or []]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [json.dumps(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def streams(path: str, body: dict[str, Any]) -> bool:
    return bool(body.get("stream"))


def _block(reply: Say | Shell, call: Call) -> dict[str, Any]:
    if isinstance(reply, Say):
        return {"type": "text", "text": reply.text}
    name, given = call or ("", {})
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": given}


def _reason(reply: Say | Shell) -> str:
    return "tool_use" if isinstance(reply, Shell) else "refusal" if reply.refusal else "end_turn"


def whole(reply: Say | Shell, call: Call) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [_block(reply, call)],
        "stop_reason": _reason(reply),
        "stop_sequence": None,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens},
    }


def events(reply: Say | Shell, call: Call) -> list[bytes]:
    message = whole(reply, call)
    block = _block(reply, call)
    if isinstance(reply, Say):
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in halves(reply.text)]
    else:
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in halves(json.dumps(block["input"]))]
    start = {
        **message,
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": 0},
    }
    sent = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": _reason(reply), "stop_sequence": None},
            "usage": {"output_tokens": reply.output_tokens},
        },
        {"type": "message_stop"},
    ]
    return [sse(event, str(event["type"])) for event in sent]
