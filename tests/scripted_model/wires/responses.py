"""OpenAI Responses."""

from __future__ import annotations

import json
from typing import Any

from scripted_model.script import Say, Shell
from scripted_model.tools import Tool
from scripted_model.wires import Call, halves, sse

NAME = "responses"


def matches(path: str) -> bool:
    return path.endswith("/responses")


def tools(body: dict[str, Any]) -> list[Tool]:
    return [
        Tool(tool.get("name") or tool.get("type", ""), tool.get("parameters") or {}) for tool in body.get("tools") or []
    ]


def results(body: dict[str, Any]) -> list[str]:
    items = body.get("input")
    items = items if isinstance(items, list) else []
    return [json.dumps(item.get("output")) for item in items if str(item.get("type")).endswith("_call_output")]


def streams(path: str, body: dict[str, Any]) -> bool:
    return bool(body.get("stream"))


def _item(reply: Say | Shell, call: Call) -> dict[str, Any]:
    if isinstance(reply, Shell):
        name, given = call or ("", {})
        return {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": name,
            "arguments": json.dumps(given),
        }
    part = (
        {"type": "refusal", "refusal": reply.text}
        if reply.refusal
        else {"type": "output_text", "text": reply.text, "annotations": []}
    )
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def whole(reply: Say | Shell, call: Call) -> dict[str, Any]:
    usage = {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "scripted",
        "output": [_item(reply, call)],
        "usage": usage,
    }


def events(reply: Say | Shell, call: Call) -> list[bytes]:
    response = whole(reply, call)
    item = _item(reply, call)
    sent: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": [], "usage": None}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": item if isinstance(reply, Shell) else {**item, "content": []},
        },
    ]
    if isinstance(reply, Say) and not reply.refusal:
        sent += [
            {
                "type": "response.output_text.delta",
                "item_id": "msg_1",
                "output_index": 0,
                "content_index": 0,
                "delta": piece,
            }
            for piece in halves(reply.text)
        ]
    sent += [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [sse({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(sent)]
