"""Running commands in a slot, in its sandbox, with whatever runs commands."""

from __future__ import annotations

from dataclasses import dataclass, fields

from bakeoff.engine.process import Command, Finished, Processes
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.slot import Slot

_KEPT = tuple(field.name for field in fields(Command) if field.name not in ("argv", "cwd", "env", "fork"))


@dataclass(frozen=True, slots=True)
class InSandbox:
    """Processes whose every command runs in a sandbox, at the slot's top, its variables below the command's own."""

    box: Sandbox[Slot]
    processes: Processes

    async def run(self, command: Command) -> Finished:
        """See `Processes`. Passes on SpawnError: it could not be started."""
        kept = {name: getattr(command, name) for name in _KEPT}
        return await self.processes.run(self.box.command(command.argv, env=command.env, **kept))
