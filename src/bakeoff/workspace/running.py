"""Running commands in a slot with whatever runs commands."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from bakeoff.engine.process import Command, Finished, Processes
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.slot import Slot


@dataclass(frozen=True, slots=True)
class InSlot:
    """Processes whose every command runs in a slot, with the slot's variables below the command's own.

    A command starts in its `cwd` where that is a path in the slot, else at the slot's top.
    """

    slot: Slot
    processes: Processes

    async def run(self, command: Command) -> Finished:
        """See `Processes`. Passes on SpawnError: it could not be started."""
        slot = self.slot
        prefix, cwd, env = slot.argv_prefix, slot.cwd, {**slot.env, **command.env}
        inside = command.cwd.removeprefix(f"{slot.outside}/")
        folder = command.cwd if inside == command.cwd else f"{slot.path}/{inside}"
        if folder.startswith(f"{slot.path}/"):
            if prefix:  # what enters the slot goes to its top
                prefix = (*prefix, "env", "-C", folder)
            else:
                cwd = folder
            env["PWD"] = folder
        return await self.processes.run(replace(command, argv=[*prefix, *command.argv], cwd=cwd, env=env))


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
