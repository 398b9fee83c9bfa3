"""Commands in a slot or its sandbox, run by whatever runs commands."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from bakeoff.process.command import Command, Finished, Processes
from bakeoff.workspace.sandbox.plan import with_own_network
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.slots.mounts import starting_in
from bakeoff.workspace.slots.slot import Slot


@dataclass(frozen=True, slots=True)
class InSlot:
    """Processes whose every command runs in a slot, with the slot's variables below the command's own.

    A command starts in its `cwd` where that is a path in the slot, else at the slot's top. Where `own_network` is true,
    each has a loopback device of its own and no other network.
    """

    slot: Slot
    processes: Processes
    own_network: bool = False

    async def run(self, command: Command) -> Finished:
        """See `Processes`. Passes on SpawnError: it could not be started."""
        slot = self.slot
        prefix, cwd, env = slot.argv_prefix, slot.cwd, {**slot.env, **command.env}
        folder = _in_slot(slot, command.cwd)
        if folder is not None:
            if prefix:  # what enters the slot goes to its top
                prefix = (*prefix, *starting_in(folder))
            else:
                cwd = folder
            env["PWD"] = folder
        argv = with_own_network(command.argv) if self.own_network else command.argv
        return await self.processes.run(replace(command, argv=[*prefix, *argv], cwd=cwd, env=env))


_KEPT = tuple(field.name for field in fields(Command) if field.name not in ("argv", "cwd", "env", "fork"))


@dataclass(frozen=True, slots=True)
class InSandbox:
    """Processes whose every command runs in a sandbox, its variables below the command's own.

    A command starts in its `cwd` where that is a path in the slot, else at the slot's top.
    """

    box: Sandbox[Slot]
    processes: Processes

    async def run(self, command: Command) -> Finished:
        """See `Processes`. Passes on SpawnError: it could not be started."""
        kept = {name: getattr(command, name) for name in _KEPT}
        folder = _in_slot(self.box.slot, command.cwd)
        return await self.processes.run(self.box.command(command.argv, cwd=folder, env=command.env, **kept))


def _in_slot(slot: Slot, path: str) -> str | None:
    """The folder as a command in the slot sees it; None where it is its top, or lies outside."""
    inside = path.removeprefix(f"{slot.outside}/")
    folder = path if inside == path else f"{slot.path}/{inside}"
    return folder if folder.startswith(f"{slot.path}/") else None
