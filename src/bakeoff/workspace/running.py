"""Running commands in a slot with whatever runs commands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bakeoff.engine.process import Command, Finished, Processes
from bakeoff.workspace.slot import Slot


@dataclass(frozen=True, slots=True)
class InSlot:
    """Processes whose every command runs in a slot, at its top and with its variables below the command's own."""

    slot: Slot
    processes: Processes

    async def run(self, command: Command) -> Finished:
        """See `Processes`. Passes on SpawnError: it could not be started."""
        slot = self.slot
        argv = [*slot.argv_prefix, *command.argv]
        return await self.processes.run(replace(command, argv=argv, cwd=slot.cwd, env={**slot.env, **command.env}))
