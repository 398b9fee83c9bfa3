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
        # The marker is the spawner's: by it, processes are found that outlived a run.
        env = {name: value for name, value in slot.env.items() if name != "BAKEOFF_RUN"}
        argv = [*slot.argv_prefix, *command.argv]
        return await self.processes.run(replace(command, argv=argv, cwd=slot.cwd, env={**env, **command.env}))
