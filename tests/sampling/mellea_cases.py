"""Run by an interpreter that has mellea: its own OpenAI backend, a real server on loopback, bakeoff's strategies."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from mellea import MelleaSession
from mellea.backends.openai import OpenAIBackend
from mellea.core import Requirement
from mellea.stdlib.context import ChatContext
from mellea.stdlib.requirements import simple_validate

from bakeoff import MultiTurnStrategy, RejectionSamplingStrategy, RepairTemplateStrategy
from bakeoff.sampling.mellea import for_mellea


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100
    script = staticmethod(lambda n: (0.0, "no"))
    lock = threading.Lock()

    def reset(self, script) -> None:
        self.script, self.started, self.completed, self.aborted = script, 0, 0, 0
        self.asked: list[str] = []

    def handle_error(self, request, address) -> None:
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server = self.server
        with server.lock:
            server.started += 1
            number = server.started
            server.asked.append(json.dumps(body["messages"]))
        seconds, text = server.script(number)
        end = time.monotonic() + seconds
        self.connection.settimeout(0.002)
        while time.monotonic() < end:
            try:
                if self.connection.recv(1) == b"":
                    with server.lock:
                        server.aborted += 1
                    self.close_connection = True
                    return
            except TimeoutError:
                pass
        self.connection.settimeout(None)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 10, "completion_tokens": 100, "total_tokens": 110}
        reply = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        with server.lock:
            server.completed += 1


async def ask(port: int, strategy, requirement) -> object:
    backend = OpenAIBackend(model_id="m", base_url=f"http://127.0.0.1:{port}/v1", api_key="k")
    session = MelleaSession(backend, ChatContext())
    return await session.ainstruct("go", requirements=[requirement], strategy=strategy, return_sampling_results=True)


def passes() -> Requirement:
    return Requirement("says pass", validation_fn=simple_validate(lambda text: text == "pass"))


async def main() -> None:
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    found = {}

    server.reset(lambda n: (0.4, "pass") if n == 1 else (2.0, "no"))
    strategy = RejectionSamplingStrategy(loop_budget=5, concurrency_budget=8, mode="fastest")
    result = await ask(port, for_mellea(strategy), passes())
    await asyncio.sleep(0.02)
    in_flight = server.started - server.completed - server.aborted
    found["early"] = [result.success, str(result.result), server.started, server.completed, in_flight]
    found["not_stopped"] = result.bakeoff.not_stopped

    said = ["no", "nearly", "pass"]
    for name, kind in (("template", RepairTemplateStrategy), ("conversation", MultiTurnStrategy)):
        server.reset(lambda n: (0.0, said[n - 1]))
        result = await ask(port, for_mellea(kind(loop_budget=3)), passes())
        found[name] = [result.success, str(result), len(result.sample_generations), server.asked]

    server.reset(lambda n: (0.0, ["text", "no", "text", "yes"][n - 1]))
    result = await ask(port, for_mellea(RejectionSamplingStrategy(loop_budget=2)), Requirement("is polite"))
    found["judged"] = [result.success, server.started, [[bool(v) for _, v in row] for row in result.sample_validations]]

    server.reset(lambda n: (0.0, "no"))
    result = await ask(port, for_mellea(RejectionSamplingStrategy(loop_budget=2)), passes())
    found["failed"] = [result.success, result.result_index]
    print(json.dumps(found))


asyncio.run(main())
