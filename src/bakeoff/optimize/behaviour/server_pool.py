"""Pool of warm servers of one interpreter, one a hash seed, and the sandboxed processes that they fork in slots."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from bakeoff.engine.failures import work_group
from bakeoff.optimize.behaviour.evaluation import ProcessConfig, is_below
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.warm_server import WarmServer
from bakeoff.optimize.errors import BehaviourError
from bakeoff.process.command import Command
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.sandbox.policy import Limits, SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import Sandbox, sandbox
from bakeoff.workspace.sandbox.variables import scrubbed
from bakeoff.workspace.slots.environment import search_path
from bakeoff.workspace.slots.slot import Slot

TESTS_MEMORY, DATA = 8 << 30, 16 << 30
"""Bytes that the tests' process may have resident; that any process may reserve."""
OWN_MEMORY = 2 << 30
"""Bytes that the original's own process may have resident."""
TESTS_OUTPUT = 256 << 20
PROCESSES = 128
DESCRIPTORS, TESTS_DESCRIPTORS = 256, 1024
FIRST_SEED = 0
"""Of the hashes of the server that an interpreter is tried with."""


@dataclass(frozen=True, slots=True)
class ProcessPair:
    """Configurations of both processes of the original in one slot: the tests', and the function's own."""

    tests: ProcessConfig
    function: ProcessConfig


@dataclass(slots=True)
class ServerPool:
    """Warm servers and sandboxes of one job; `close` ends the servers.

    Attributes:
        options: see there.
        preload: modules that servers import.
        facts: what a server told of its interpreter.
    """

    options: BehaviourOptions
    preload: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    _python: str | None = None
    _variables: dict[str, str] = field(default_factory=dict)
    _servers: dict[int, WarmServer] = field(default_factory=dict)
    _starting: anyio.Lock = field(default_factory=anyio.Lock)
    _boxes: dict[str, tuple[Slot, Sandbox[Slot]]] = field(default_factory=dict)

    async def ready(self, slot: Slot) -> None:
        """Find the interpreter, once: its first server is started.

        Raises:
            BehaviourError: there is none, or this is not Linux.
        """
        if not sys.platform.startswith("linux"):
            raise BehaviourError("candidates are judged on Linux only, so far")
        async with self._starting:
            if self._python is None:
                await self._find(slot)

    async def _find(self, slot: Slot) -> None:
        self._variables = {
            name: value
            for name, value in scrubbed({}, (), {}, "/tmp").items()  # noqa: S108 - the sandbox's own
            if name != "PYTHONHASHSEED"
        }
        root = str(slot.base.project.root)
        self._variables["PYTHONPATH"] = os.pathsep.join(search_path(slot.base.project.root)[1])
        self._python, server = await find_interpreter(root, self.options.python, self._variables)
        self.facts = server.facts
        if self.options.cold:
            with anyio.CancelScope(shield=True):
                await in_thread(server.close)
        else:
            self._servers[FIRST_SEED] = server

    @asynccontextmanager
    async def server(self, seed: int) -> AsyncIterator[WarmServer]:
        """One with this seed of hashes: a warm one, or in cold mode one of its own.

        Passes on BehaviourError: it does not start.
        """
        if self.options.cold:
            server = await self._start(seed, ())
            try:
                yield server
            finally:
                with anyio.CancelScope(shield=True):
                    await in_thread(server.close)
            return
        async with self._starting:
            known = self._servers.get(seed)
            if known is not None and not known.alive:
                await in_thread(self._servers.pop(seed).close)
                known = None
            if known is None:
                known = self._servers[seed] = await self._start(seed, self.preload)
        yield known

    async def _start(self, seed: int, preload: Sequence[str]) -> WarmServer:
        python = self._python or ""
        server = await WarmServer.start(python, seed=seed, preload=preload, variables=self._variables)
        self.facts = server.facts
        return server

    async def warm(self, preload: Sequence[str], seeds: Sequence[int]) -> None:
        """Have servers import these, too, from now on, and start those with these seeds side by side.

        Passes on BehaviourError: one does not start.
        """
        new = [name for name in preload if name not in self.preload]
        self.preload = (*self.preload, *new)
        if self.options.cold:
            return
        async with self._starting:
            async with work_group() as group:
                for seed in self._servers if new else ():
                    group.start(self._import, seed, new)
            async with work_group() as group:
                for seed in seeds:
                    if seed not in self._servers:
                        group.start(self._keep, seed)

    async def _import(self, seed: int, names: Sequence[str]) -> None:
        """Have a server import more; one that does not get over it is started anew."""
        if not await self._servers[seed].preload(names):
            await in_thread(self._servers[seed].close)
            await self._keep(seed)

    async def _keep(self, seed: int) -> None:
        self._servers[seed] = await self._start(seed, self.preload)

    async def close(self) -> None:
        """End all servers and what they forked."""
        with anyio.CancelScope(shield=True):
            while self._servers:
                _, server = self._servers.popitem()
                await in_thread(server.close)

    async def box(self, slot: Slot) -> Sandbox[Slot]:
        """The sandbox of a slot.

        Passes on SandboxError: this machine does not have what was asked for.
        """
        known = self._boxes.get(slot.id)
        if known is not None and known[0] is slot:
            return known[1]
        limits = Limits(memory=DATA, processes=None, cpu=3600, file=self.options.disk, shared=64 << 20)
        box = await sandbox(slot, SandboxPolicy(self.options.level, limits=limits))
        self._boxes[slot.id] = slot, box
        return box

    async def process_config(self, slot: Slot, memory: int | None = None) -> ProcessConfig:
        """Configuration of a process in a slot.

        Args:
            slot: whose tree is seen.
            memory: bytes that a candidate's process may take; None for the tests' own process.

        Passes on SandboxError.
        """
        box = await self.box(slot)
        apart = self.options.level != "none" and box.machine.namespaces is None
        root = str(slot.base.project.root) if apart else slot.path
        temp = "/tmp" if apart else str(slot.temp)  # noqa: S108 - the sandbox's own
        reads = [path for path in box.open_among(self.facts["places"]) if not is_below(path, root)]
        plan = box.plan(reads=reads, at=root if apart else None, size=self.options.disk)
        if self.options.level == "none":
            plan = replace(plan, namespaces=False, landlock=False, seccomp=False, holder=slot.place.holder)
        told = plan.told()
        inside = memory is None
        descriptors = TESTS_DESCRIPTORS if inside else DESCRIPTORS
        told["limits"] = {**told["limits"], "files": descriptors}
        bounds = {
            "memory": TESTS_MEMORY if memory is None else memory,
            "processes": PROCESSES,
            "output": TESTS_OUTPUT if inside else self.options.output,
            "descriptors": descriptors,
        }
        return ProcessConfig(told, root, self._inside(slot, root, temp), bounds, apart)

    async def process_pair(self, slot: Slot) -> ProcessPair:
        """Both processes of the original in a slot."""
        return ProcessPair(await self.process_config(slot), await self.process_config(slot, OWN_MEMORY))

    async def interpreter(self, slot: Slot, memory: int, reads: Sequence[str], env: Mapping[str, str]) -> Command:
        """See `Behaviour.interpreter`."""
        await self.ready(slot)
        limits = Limits(
            memory=memory, processes=PROCESSES, cpu=3600, file=self.options.disk, shared=64 << 20, seconds=None
        )
        box = await sandbox(slot, SandboxPolicy(self.options.level, limits=limits))
        places = [path for path in box.open_among(self.facts["places"]) if not is_below(path, slot.path)]
        return box.command([self._python or ""], env=env, reads=[*reads, *places])

    def _inside(self, slot: Slot, root: str, temp: str) -> dict[str, str]:
        """The environment of evaluations: the slot's, with its places as they are seen."""
        found = scrubbed(slot.env, (), {}, temp)
        found = {name: _moved(value, slot.path, root) for name, value in found.items()}
        seeded = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": temp, "PWD": root, "HOME": temp}
        return {**found, **seeded}


def _moved(value: str, old: str, new: str) -> str:
    """A value with the slot's place replaced where it begins a path."""
    parts = value.split(os.pathsep)
    return os.pathsep.join(new + part[len(old) :] if is_below(part, old) else part for part in parts)


async def find_interpreter(root: str, wanted: str | None, variables: Mapping[str, str]) -> tuple[str, WarmServer]:
    """The one that is wanted, or the first with pytest of: the project's `.venv`, VIRTUAL_ENV, PATH, our own.

    It comes with a server of it: whether that starts says best whether the interpreter will do.

    Raises:
        BehaviourError: none has pytest and is Python 3.11 or later.
    """
    tried = []
    for python in [wanted] if wanted else dict.fromkeys(_known(root, variables)):
        try:
            return python, await WarmServer.start(python, seed=FIRST_SEED, variables=variables)
        except BehaviourError as failure:
            if wanted:
                raise
            tried.append(str(failure))
    raise BehaviourError(
        f"no Python can run the tests ({'; '.join(tried)}). Install pytest into the project's environment"
    )


def _known(root: str, variables: Mapping[str, str]) -> Iterator[str]:
    for prefix in (os.path.join(root, ".venv"), variables.get("VIRTUAL_ENV")):
        if prefix and os.path.isfile(os.path.join(prefix, "bin", "python")):
            yield os.path.join(prefix, "bin", "python")
    found = shutil.which("python", path=variables.get("PATH"))
    if found:
        yield found
    yield sys.executable
