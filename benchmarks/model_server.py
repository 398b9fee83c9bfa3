"""A model's server that counts what it sees: `python -m benchmarks.model_server`; prints its port.

POST /v1/chat/completions answers as OpenAI does. The first request after a reset takes FIRST milliseconds and says
"pass", all others take REST and say "no": GET /reset/FIRST/REST. GET /stats gives what was started, completed and
aborted (the client went away), and what is in flight.
"""

from __future__ import annotations

import asyncio
import json

COUNTS = {"started": 0, "completed": 0, "aborted": 0}
TIMES = {"first": 50, "rest": 2000}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
            await reader.readexactly(int(fields.get("content-length", 0)))
            method, path, _ = lines[0].split()
            asked = method == "POST" or path.startswith(("/stats", "/reset/"))  # some clients look at the server first
            found = await answer(path, reader) if asked else {}
            data = json.dumps(found).encode()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode()
            writer.write(head + data)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(path: str, reader: asyncio.StreamReader) -> dict:
    if path == "/stats":
        return {**COUNTS, "in_flight": COUNTS["started"] - COUNTS["completed"] - COUNTS["aborted"]}
    if path.startswith("/reset/"):
        TIMES["first"], TIMES["rest"] = map(int, path.split("/")[2:])
        COUNTS.update(started=0, completed=0, aborted=0)
        return {}
    COUNTS["started"] += 1
    first = COUNTS["started"] == 1
    gone = asyncio.ensure_future(reader.read(1))
    done, _ = await asyncio.wait([gone], timeout=TIMES["first" if first else "rest"] / 1e3)
    if done:
        COUNTS["aborted"] += 1
        raise ConnectionResetError
    gone.cancel()
    await asyncio.wait([gone])
    COUNTS["completed"] += 1
    message = {"role": "assistant", "content": "pass" if first else "no"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
