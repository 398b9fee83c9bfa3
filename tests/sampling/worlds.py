"""Backends that count what they see, a server that does, and virtual time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import trio
import trio.testing

from bakeoff.model.protocol import Message, ModelError, Reply, Request, Usage

Script = Callable[[int], tuple[float, Any]]
"""What call `n`, from 1, does: seconds it takes, then a text, a Reply, or an exception to raise."""

USED = Usage(10, 100)


def virtual(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run on trio, in virtual time: exact, and over at once."""
    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def real(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run on asyncio, in real time."""
    return anyio.run(main)


class Backend:
    """A model that counts. This one awaits its work, and is cancelled with its caller."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.started = self.completed = self.aborted = self.peak = 0
        self.requests: list[Request] = []

    @property
    def in_flight(self) -> int:
        return self.started - self.completed - self.aborted

    def begin(self, request: Request) -> int:
        self.started += 1
        self.requests.append(request)
        self.peak = max(self.peak, self.in_flight)
        return self.started

    async def work(self, number: int) -> Reply:
        seconds, said = self.script(number)
        try:
            await anyio.sleep(seconds)
        except BaseException:
            self.aborted += 1
            raise
        self.completed += 1
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else Reply(said, USED, "stop", f"r{number}", "fake")

    async def generate(self, request: Request) -> Reply:
        return await self.work(self.begin(request))


class Detached(Backend):
    """A model that works in tasks of its own, which its caller's cancellation does not reach; it offers `cancel`."""

    detached = True

    def __init__(self, script: Script, tasks: anyio.abc.TaskGroup) -> None:
        super().__init__(script)
        self.tasks = tasks
        self.open: dict[int, tuple[anyio.CancelScope, anyio.Event]] = {}

    async def generate(self, request: Request) -> Reply:
        found: list[Any] = []
        scope, ended = anyio.CancelScope(), anyio.Event()
        self.open[id(request)] = scope, ended
        number = self.begin(request)

        async def apart() -> None:
            try:
                with scope:
                    found.append(await self.work(number))
            except Exception as failure:
                found.append(failure)
            finally:
                ended.set()

        self.tasks.start_soon(apart)
        await ended.wait()
        del self.open[id(request)]
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    async def cancel(self, request: Request) -> None:
        scope, ended = self.open.pop(id(request))
        scope.cancel()
        await ended.wait()


class Deaf(Detached):
    """One that detaches and offers nothing."""

    cancel = None  # type: ignore[assignment]


class Over(Backend):
    """A client of a real server on loopback that does the counting."""

    def __init__(self, script: Script, tasks: anyio.abc.TaskGroup) -> None:
        super().__init__(script)
        self.tasks = tasks
        self.port = 0

    async def serve(self) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)

        async def host() -> None:
            async with listener:
                await listener.serve(self.handle)

        self.tasks.start_soon(host)

    async def handle(self, stream: anyio.abc.SocketStream) -> None:
        async with stream, anyio.create_task_group() as group:
            _, _, body = (await self.received(stream)).partition(b"\r\n\r\n")
            prompt = json.loads(body)["prompt"]

            async def gone() -> None:
                try:
                    while True:
                        await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    group.cancel_scope.cancel()

            group.start_soon(gone)
            try:
                reply = await self.work(self.begin(Request((Message("user", prompt),))))
                status, data = 200, {"text": reply.text}
            except ModelError as failure:
                status, data = failure.status or 500, {"kind": failure.kind, "transient": failure.transient}
            text = json.dumps(data).encode()
            await stream.send(b"HTTP/1.1 %d x\r\ncontent-length: %d\r\n\r\n%s" % (status, len(text), text))
            group.cancel_scope.cancel()

    async def received(self, stream: anyio.abc.ByteReceiveStream) -> bytes:
        data = b""
        while True:
            data += await stream.receive()
            head, _, body = data.partition(b"\r\n\r\n")
            if b"content-length: " in head and len(body) == int(head.split(b"content-length: ")[1].split(b"\r\n")[0]):
                return data

    async def generate(self, request: Request) -> Reply:
        body = json.dumps({"prompt": request.messages[-1].content}).encode()
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            await stream.send(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            head, _, text = (await self.received(stream)).partition(b"\r\n\r\n")
        data = json.loads(text)
        if not head.startswith(b"HTTP/1.1 200"):
            raise ModelError("refused", data["kind"], transient=data["transient"], status=int(head.split()[1]))
        return Reply(data["text"], USED)


@asynccontextmanager
async def backend(kind: str, script: Script) -> AsyncIterator[Any]:
    """A backend of a kind: `inline`, `detached`, `deaf` or `http`."""
    if kind == "inline":
        yield Backend(script)
        return
    async with anyio.create_task_group() as tasks:
        model = {"detached": Detached, "deaf": Deaf, "http": Over}[kind](script, tasks)
        if kind == "http":
            await model.serve()
        yield model
        tasks.cancel_scope.cancel()


async def says_pass(text: str) -> bool:
    """The requirement of most tests."""
    return text == "pass"


def rate_limited() -> ModelError:
    return ModelError("too many requests", "rate_limit", transient=True, status=429)


def unauthorised() -> ModelError:
    return ModelError("the key is wrong", "auth", status=401)
