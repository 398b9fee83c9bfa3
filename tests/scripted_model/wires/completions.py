"""Raw completions: a text that the model goes on with."""

from __future__ import annotations

from typing import Any

from scripted_model.script import Say, Shell
from scripted_model.tools import Tool
from scripted_model.wires import Call, halves, sse
from scripted_model.wires.chat import _usage

NAME = "completions"


def matches(path: str) -> bool:
    return path.endswith("/completions") and not path.endswith("/chat/completions")


def tools(body: dict[str, Any]) -> list[Tool]:
    return []


def results(body: dict[str, Any]) -> list[str]:
    return []


def streams(path: str, body: dict[str, Any]) -> bool:
    return bool(body.get("stream"))


def _text(reply: Say | Shell) -> str:
    return reply.text if isinstance(reply, Say) else reply.command


def whole(reply: Say | Shell, call: Call) -> dict[str, Any]:
    choice = {"index": 0, "text": _text(reply), "finish_reason": "stop"}
    return {"id": "p1", "object": "text_completion", "model": "scripted", "choices": [choice], "usage": _usage(reply)}


def events(reply: Say | Shell, call: Call) -> list[bytes]:
    base = {"id": "p1", "object": "text_completion", "model": "scripted"}
    chunks = [
        {**base, "choices": [{"index": 0, "text": piece, "finish_reason": None}]} for piece in halves(_text(reply))
    ]
    chunks.append({**base, "choices": [{"index": 0, "text": "", "finish_reason": "stop"}], "usage": _usage(reply)})
    return [*map(sse, chunks), sse("[DONE]")]
