"""Where commands judge: a fresh slot that holds the tree to be judged, and nothing that the attempt left running."""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.engine.process import Command, Finished, Processes
from bakeoff.workspace.running import InSlot
from bakeoff.workspace.slot import Slot
from bakeoff.workspace.workspace import Workspace

TAIL = 3000
"""Characters of a command's output that its verdict repeats."""


@dataclass(slots=True)
class Ground:
    """What checks are run on.

    Attributes:
        workspace: whose slots they run in.
        processes: runs their commands.
        logs: folder for what they print; None to keep it in memory.
        grace: seconds between TERM and KILL.
        label: what the names of its log files begin with.
    """

    workspace: Workspace
    processes: Processes
    logs: Path | None = None
    grace: float = 5.0
    label: str = ""
    _numbers: dict[str, int] = field(default_factory=dict)

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
    ) -> Finished:
        """Run a shell command at the top of a slot, to the end of all that it started."""
        log, name = None, f"{self.label}{name}"
        if self.logs is not None:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            while (log := str(self.logs / f"{name}.{number}")) and os.path.exists(f"{log}.out"):
                number = self._numbers[name] = number + 1
        asked = Command(("sh", "-c", command), slot.path, env, log=log, timeout=timeout, grace=self.grace)
        try:
            return await InSlot(slot, self.processes).run(asked)
        finally:
            await slot.end_processes()

    def receipt(self, slot: Slot) -> dict[str, Any]:
        """What protection was active, and in what environment."""
        at = self.workspace.mounted_at
        return {
            "slot": slot.kind,
            "protection": {
                "tests": "from the snapshot",
                "slot": "fresh",
                "project": "hidden behind the slot" if at is not None else "not hidden",
                "sandbox": "none",
            },
            "environment": {"system": platform.system(), "machine": platform.machine(), "setup": self.workspace.setup},
        }


def text_of(finished: Finished) -> str:
    """What a command printed, standard error last; of much of it the beginning and the end."""
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
