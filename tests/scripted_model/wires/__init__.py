"""The wire formats. Each module has `matches(path)`, `tools(body)`, `results(body)`, `streams(path, body)`,

`whole(reply, call)`, the JSON of a plain answer, and `events(reply, call)`, the pieces of a streamed one. `call` is
the name and the arguments of the tool call, where the reply is one.
"""

from __future__ import annotations

import json
from typing import Any

Call = tuple[str, dict[str, Any]] | None


def sse(data: Any, event: str | None = None) -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def halves(text: str) -> list[str]:
    """`text` in two pieces, so that streams have something to put together."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
