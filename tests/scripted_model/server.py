"""The server: one thread a connection, any free port, requests recorded, stalls that tests release."""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from scripted_model.script import Cut, Garbage, Raw, Reply, Say, Script, Shell, Stall, Status, in_order
from scripted_model.tools import Tool, arguments, shell_tool
from scripted_model.wires import chat, completions, gemini, messages, responses

WIRES = (chat, completions, responses, messages, gemini)
SMALL_TALK = Say("ok")


@dataclass
class Seen:
    """One request. `left` is set when the client goes away while the server stalls."""

    wire: str
    path: str
    body: dict[str, Any]
    tools: list[Tool]
    tool_results: list[str]
    headers: dict[str, str] = field(default_factory=dict)
    reply: Reply | None = None
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def model(self) -> str:
        return str(self.body.get("model") or self.path.rpartition("/models/")[2].partition(":")[0])

    def says(self, text: str) -> bool:
        """Whether `text` stands anywhere in the request."""
        return json.dumps(text)[1:-1] in json.dumps(self.body)


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024  # many clients connect at once


class ScriptedModel:
    """A model server that does what `script` says. A context manager; also a program, see `__main__`.

    `aside` answers requests that offer no shell tool: titles, summaries and the like. With `tools=False` the script
    answers those too, for agents that use no tools. With `tls` it speaks HTTPS.
    """

    def __init__(
        self,
        script: Script | Reply,
        *,
        tools: bool = True,
        aside: Reply = SMALL_TALK,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script = script if callable(script) else in_order(script)
        self.needs_tools = tools
        self.aside = aside
        self.seen: list[Seen] = []
        self.asides: list[Seen] = []
        self.release = threading.Event()
        self.in_flight = 0
        self._scheme = "https" if tls else "http"
        self._changed = threading.Condition()
        self._closing = False
        self._server = _Server(("127.0.0.1", port), _handler(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path and without a slash at its end."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self, condition: Callable[[list[Seen]], bool], timeout: float = 30) -> bool:
        """Wait until the recorded requests fulfil `condition`."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self.seen), timeout)

    def choose(self, seen: Seen) -> Reply:
        """Record a request and take its reply from the script."""
        main = not self.needs_tools or shell_tool(seen.tools) is not None
        with self._changed:
            (self.seen if main else self.asides).append(seen)
            seen.reply = self.script(seen) if main else self.aside
            self._changed.notify_all()
        return seen.reply

    def count(self, change: int) -> None:
        """Requests come and go."""
        with self._changed:
            self.in_flight += change
            self._changed.notify_all()

    def stall(self, seen: Seen, connection: socket.socket) -> bool:
        """Hold a request; whether it was released while the client is still there."""
        while not self.release.wait(0.02):
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and not _peek(connection):
                seen.left.set()
                return False
        return not self._closing


def _peek(connection: socket.socket) -> bytes:
    try:
        # TLS cannot look ahead, but a client that waits for an answer says nothing more.
        return connection.recv(1) if isinstance(connection, ssl.SSLSocket) else connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return b""


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, TimeoutError, ssl.SSLError):
                pass  # the client went away; that is recorded where it matters

        def do_GET(self) -> None:
            self._json(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            wire = next((wire for wire in WIRES if wire.matches(path)), None)
            try:
                body = json.loads(raw)
            except ValueError:
                body = None
            if wire is None or not isinstance(body, dict):
                counts = path.endswith(("/count_tokens", ":countTokens"))
                self._json(200 if counts else 404, {"input_tokens": 1, "totalTokens": 1} if counts else {})
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(wire.NAME, path, body, wire.tools(body), wire.results(body), headers)
            model.count(1)
            try:
                self._answer(wire, seen, model.choose(seen))
            except (ConnectionError, ssl.SSLError):
                seen.left.set()
                self.close_connection = True
            finally:
                model.count(-1)

        def _answer(self, wire: Any, seen: Seen, reply: Reply) -> None:
            streams = wire.streams(seen.path, seen.body)
            match reply:
                case Status():
                    self._fail(reply)
                case Garbage():
                    self._send(200, reply.body, reply.content_type)
                case Raw():
                    self._raw(seen, reply)
                case Stall():
                    if reply.headers_first:
                        self._stream_headers()
                    if model.stall(seen, self.connection) and not reply.headers_first:
                        self._answer(wire, seen, reply.then)
                    else:
                        self.close_connection = True
                case Cut():
                    self._cut(wire, seen, reply, streams)
                case Say() | Shell():
                    call = _call(reply, seen)
                    if streams:
                        self._stream_headers()
                        for event in wire.events(reply, call):
                            self.wfile.write(event)
                            self.wfile.flush()
                        self.close_connection = True
                    else:
                        self._json(200, wire.whole(reply, call))

        def _cut(self, wire: Any, seen: Seen, reply: Cut, streams: bool) -> None:
            call = _call(reply.reply, seen)
            if streams:
                body = b"".join(wire.events(reply.reply, call))
            else:
                body = json.dumps(wire.whole(reply.reply, call)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
            # Announced whole and sent in part, so that every client can see that something is missing.
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: int(len(body) * reply.share)])
            self.wfile.flush()
            self.close_connection = True

        def _raw(self, seen: Seen, reply: Raw) -> None:
            self.send_response(reply.code)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            for chunk in reply.chunks:
                self.wfile.write(chunk)
                self.wfile.flush()
            if reply.stall:
                model.stall(seen, self.connection)
            self.close_connection = True

        def _fail(self, reply: Status) -> None:
            kinds = {
                429: "rate_limit_error",
                401: "authentication_error",
                529: "overloaded_error",
                503: "overloaded_error",
            }
            kind = kinds.get(reply.code, "api_error")
            message = reply.message or kind.replace("_", " ")
            states = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 401: "UNAUTHENTICATED"}
            error = {"type": kind, "message": message, "code": reply.code, "status": states.get(reply.code, "INTERNAL")}
            self._json(reply.code, {"type": "error", "error": error}, reply.retry_after)

        def _stream_headers(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.flush()

        def _json(self, status: int, body: Any, retry_after: float | None = None) -> None:
            self._send(status, json.dumps(body).encode(), "application/json", retry_after)

        def _send(self, status: int, body: bytes, kind: str, retry_after: float | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if retry_after is not None:
                self.send_header("Retry-After", f"{retry_after:g}")
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _call(reply: Say | Shell, seen: Seen) -> tuple[str, dict[str, Any]] | None:
    if isinstance(reply, Say):
        return None
    tool = shell_tool(seen.tools) or Tool("bash")
    return tool.name, arguments(tool, reply.command)
