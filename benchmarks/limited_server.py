"""A model endpoint with a rate limit: `python -m benchmarks.limited_server RATE BURST LATENCY RETRY_AFTER [AT LATER]`.

LATER is the rate from AT seconds after its first request on. It prints its port. A request whose model is `hold` is
answered never; it tells when the client of such a one left.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from dataclasses import dataclass, field
from typing import Any

ANSWER = {"id": "1", "model": "limited", "choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}


@dataclass
class Limited:
    rate: float
    burst: float
    latency: float
    retry_after: float
    change: float = math.inf
    later: float = 0.0
    first: float | None = None
    left: float = 0.0
    at: float = 0.0
    answered: int = 0
    rejected: int = 0
    held: int = 0
    gone: list[float] = field(default_factory=list)

    def admits(self) -> bool:
        now = time.monotonic()
        self.first = self.first or now
        if now - self.first >= self.change:
            self.rate = self.later
        self.left = min(self.burst, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            self.rejected += 1
            return False
        self.left -= 1
        self.answered += 1
        return True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
                )
                body = json.loads(await reader.readexactly(int(length.partition(b":")[2])) or b"{}")
                if head.startswith(b"GET"):
                    facts = {name: getattr(self, name) for name in ("answered", "rejected", "held", "gone")}
                    writer.write(_http(200, json.dumps(facts).encode()))
                elif body.get("model") == "hold":
                    self.held += 1
                    await reader.read(1)
                    self.held -= 1
                    self.gone.append(time.monotonic())
                    break
                else:
                    admitted = self.admits()
                    await asyncio.sleep(self.latency)
                    writer.write(_stream() if admitted else _http(429, b"{}", f"Retry-After: {self.retry_after:g}"))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _http(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def _stream() -> bytes:
    events = [*(f"data: {json.dumps(event)}\n\n" for event in (ANSWER, USAGE)), "data: [DONE]\n\n"]
    chunks = "".join(f"{len(event):x}\r\n{event}\r\n" for event in events)
    head = "HTTP/1.1 200 x\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return f"{head}{chunks}0\r\n\r\n".encode()


async def main(numbers: list[Any]) -> None:
    limited = Limited(*map(float, numbers))
    limited.left, limited.at = limited.burst, time.monotonic()
    server = await asyncio.start_server(limited.serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
