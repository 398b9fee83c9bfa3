"""Runner of checks: a command in a fresh slot with the tree to be judged, and nothing that the attempt left running."""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.judge.checks.runner_output import names_python
from bakeoff.process.command import Command, Finished, Processes
from bakeoff.workspace.errors import NoSpaceError
from bakeoff.workspace.full_disk import NO_ROOM, no_room
from bakeoff.workspace.guard.guarded import GuardReport, guarded
from bakeoff.workspace.guard.interpreter import Interpreter
from bakeoff.workspace.guard.names import import_names
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import NOT_BUILT, Sandbox, sandbox
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import Workspace

TAIL = 3000
"""Characters of a command's output that its verdict repeats."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """Result of a command that was run as a check.

    Attributes:
        finished: how it ended; None where it was not run, because it would have met another tree.
        receipt: how it ended and what protection was active, in what environment.
        invalid: why it says nothing of the slot's tree; None where it does.
    """

    finished: Finished | None
    receipt: dict[str, Any]
    invalid: str | None

    @property
    def unbuilt(self) -> str | None:
        """Reason why its sandbox could not be built; None where it could."""
        if self.finished is None or self.finished.exit_code != NOT_BUILT:
            return None
        said = str(self.finished.stderr.value).strip()
        return said if said.startswith("bakeoff sandbox: ") else None


@dataclass(frozen=True, slots=True)
class Ready:
    """A command in a slot's sandbox.

    Attributes:
        box: the sandbox.
        command: to be run, as often as wanted.
        guard: where Python was found to take modules from; None where nobody looked.
    """

    box: Sandbox[Slot]
    command: Command
    guard: GuardReport | None = None

    @property
    def invalid(self) -> str | None:
        """Reason why it would meet another tree than the slot's; None where it does not."""
        return None if self.guard is None else self.guard.invalid


@dataclass(slots=True)
class CheckRunner:
    """Runs the commands of checks, each in a slot and its sandbox.

    Attributes:
        logs: folder for what they print; None to keep it in memory.
        grace: seconds between TERM and KILL.
        label: what the names of its log files begin with.
        env: further variables for its commands.
        tests: where the tests come from, for the receipt.
        busy: held while a command runs.
    """

    workspace: Workspace
    processes: Processes
    logs: Path | None = None
    grace: float = 5.0
    policy: SandboxPolicy = field(default_factory=SandboxPolicy)
    label: str = ""
    env: Mapping[str, str | None] = field(default_factory=dict)
    tests: str = "from the snapshot"
    busy: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    _numbers: dict[str, int] = field(default_factory=dict)
    _pythons: MutableMapping[str, Interpreter] = field(default_factory=dict)

    @asynccontextmanager
    async def holding(self, commit: str) -> AsyncIterator[Slot]:
        """A slot with the tree of `commit`; what happens in it is nobody's work.

        Passes on WorkspaceError: there is none to be had.
        """
        async with self.workspace.lease() as slot:
            slot.disposable = True
            await slot.check_out(commit)
            yield slot

    async def run(
        self, slot: Slot, command: str, name: str, env: dict[str, str | None], timeout: float | None
    ) -> CheckRun:
        """Run a shell command at the top of a slot, in its sandbox, to the end of all that it started.

        Where it runs Python, it is looked before and after whether that takes the project's modules from the slot; a
        command that would test another tree is not run.

        Passes on SandboxError: the policy asks for more than this machine gives. SpawnError: it could not be started.

        Raises:
            NoSpaceError: there is no room for what it prints, which says nothing of the slot's tree.
        """
        more: dict[str, Any] = {"log": self._log(name), "timeout": timeout, "grace": self.grace}
        done: Finished | None = None
        try:
            async with self.ready(slot, command, env, **more) as ready:
                if ready.invalid is None:
                    async with self.busy():
                        done = await self.processes.run(ready.command)
            if done is not None and done.ended_by == "log" and any(said in (done.message or "") for said in NO_ROOM):
                raise NoSpaceError(f"{done.message}; {no_room()}")
            return CheckRun(done, self._receipt(ready, done), ready.invalid)
        finally:
            await slot.end_processes()

    @asynccontextmanager
    async def ready(self, slot: Slot, command: str, env: dict[str, str | None], **more: Any) -> AsyncIterator[Ready]:
        """A shell command that can be run at the top of a slot, in its sandbox; `more` as for `Command`.

        Where it runs Python, it is looked now and when the block is left whether that takes the project's modules from
        the slot; what `Ready.invalid` then says is complete.

        Passes on SandboxError: the policy asks for more than this machine gives.
        """
        box = await sandbox(slot, self.policy)
        env = {**self.env, **env}
        argv = ("sh", "-c", command)
        if not self._is_guarded(slot, command):
            yield Ready(box, box.command(argv, env=env, **more))
            return
        async with guarded(box, argv, self.processes, env=env, known=self._pythons) as guard:
            yield Ready(box, guard.command(argv, env=env, **more), guard.report)

    def _log(self, name: str) -> str | None:
        """A path prefix for log files that is not taken."""
        if self.logs is None:
            return None
        name = f"{self.label}{name}"
        while True:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            log = str(self.logs / f"{name}.{number}")
            if not os.path.exists(f"{log}.out"):
                return log

    def _is_guarded(self, slot: Slot, command: str) -> bool:
        """Whether it runs Python, as far as it tells; where paths of the project mean the checkout, any command may."""
        elsewhere = slot.path != str(slot.base.project.root)
        return names_python(command) or (elsewhere and bool(import_names(slot)))

    def _receipt(self, ready: Ready, finished: Finished | None) -> dict[str, Any]:
        mounted = self.workspace.mounted_at is not None
        path = None if finished is None else finished.stdout.path
        return {
            "exit_code": None if finished is None else finished.exit_code,
            "seconds": 0.0 if finished is None else round(finished.seconds, 3),
            "log": None if path is None else os.path.basename(path),
            "slot": ready.box.slot.kind,
            "protection": {
                "tests": self.tests,
                "slot": "fresh",
                "project": "hidden behind the slot" if mounted else "not hidden",
                "sandbox": ready.box.protection.receipt(),
                "guard": None if ready.guard is None else ready.guard.receipt(),
            },
            "environment": {"system": platform.system(), "machine": platform.machine(), "setup": self.workspace.setup},
        }


def text_of(finished: Finished) -> str:
    """Output of a command, standard error last; of much of it the beginning and the end."""
    parts = []
    for output in (finished.stdout, finished.stderr):
        value = output.value
        text = value if isinstance(value, str) else value.load() if value.size < (4 << 20) else value.excerpt
        if text.strip():
            parts.append(text.rstrip())
    return "\n".join(parts)


def tail(text: str, limit: int = TAIL) -> str:
    """The end of a text, from the beginning of a line on where it is cut."""
    if len(text) <= limit:
        return text
    end = text[-limit:]
    return "[...]\n" + (end.partition("\n")[2] or end)
