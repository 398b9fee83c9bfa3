"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

import json
from typing import Any

from scripted_model.script import Say, Shell
from scripted_model.tools import Tool
from scripted_model.wires import Call, halves, sse

NAME = "gemini"


def matches(path: str) -> bool:
    return path.endswith((":generateContent", ":streamGenerateContent"))


def tools(body: dict[str, Any]) -> list[Tool]:
    declared = [one for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []]
    return [
        Tool(one.get("name", ""), one.get("parametersJsonSchema") or one.get("parameters") or {}) for one in declared
    ]


def results(body: dict[str, Any]) -> list[str]:
    parts = [part for content in body.get("contents") or [] for part in content.get("parts") or []]
    return [json.dumps(part["functionResponse"]) for part in parts if "functionResponse" in part]


def streams(path: str, body: dict[str, Any]) -> bool:
    return path.endswith(":streamGenerateContent")


def _chunk(reply: Say | Shell, part: dict[str, Any], last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if last:
        candidate["finishReason"] = "SAFETY" if isinstance(reply, Say) and reply.refusal else "STOP"
    total = reply.input_tokens + reply.output_tokens
    usage = {
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.output_tokens,
        "totalTokenCount": total,
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def _parts(reply: Say | Shell, call: Call) -> list[dict[str, Any]]:
    if isinstance(reply, Say):
        return [{"text": piece} for piece in halves(reply.text)]
    name, given = call or ("", {})
    return [{"functionCall": {"name": name, "args": given}}]


def whole(reply: Say | Shell, call: Call) -> dict[str, Any]:
    answer = _chunk(reply, {}, True)
    answer["candidates"][0]["content"]["parts"] = (
        [{"text": reply.text}] if isinstance(reply, Say) else _parts(reply, call)
    )
    return answer


def events(reply: Say | Shell, call: Call) -> list[bytes]:
    parts = _parts(reply, call)
    return [sse(_chunk(reply, part, number == len(parts))) for number, part in enumerate(parts, 1)]
