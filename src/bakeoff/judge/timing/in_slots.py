"""Race of a command in slots: every tree in a slot of its own, all of them held until the race is over."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bakeoff.judge.checks.check_runner import CheckRunner, Ready
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.command_run import Ran
from bakeoff.judge.timing.commands import COMMANDS, CommandRaceOptions, race_commands, try_command
from bakeoff.judge.timing.parent import TimingError
from bakeoff.judge.timing.race import Options, Raced, RaceRecord, Told
from bakeoff.judge.timing.speed import Speed
from bakeoff.judge.verdict import INVALID
from bakeoff.system.folders import remove_tree
from bakeoff.workspace.slots.leftover_processes import end_leftovers
from bakeoff.workspace.slots.slot import Slot


@dataclass(frozen=True, slots=True)
class SlotRace:
    """A shell command that is timed in slots, under the same protection as checks.

    Attributes:
        runner: where it runs.
        command: what is timed, at the top of the tree.
        same_output: whether it must print what it prints where nothing was changed.
        options: see `race_commands`.
        lock: of this machine.
    """

    runner: CheckRunner
    command: str
    same_output: bool = True
    options: Options = COMMANDS
    lock: BenchLock = field(default_factory=BenchLock)

    @property
    def most(self) -> int:
        """Number of trees that can be raced at once."""
        return self.runner.workspace.pool.size - 1

    async def try_base(self) -> tuple[Ran, dict[str, Any]]:
        """A run where nothing was changed, and what protects from it.

        Passes on what `race` passes on.
        """
        async with self._ready(self.runner.workspace.snapshot.commit) as (slot, ready):
            _check(ready)
            ran = await try_command(ready.command, self.options, self._demands({"": slot}, ready), lock=self.lock)
        _check(ready)
        return ran, ready.box.protection.receipt()

    async def race(
        self, commits: Mapping[str, str], *, kept: Mapping[str, Speed] | None = None, told: Told | None = None
    ) -> Raced:
        """Measure the trees of commits against the snapshot; see `race_commands`.

        Cancelled, no process of it is left when this returns.

        Passes on TimingError: the command cannot be timed where nothing was changed. WorkspaceError, SandboxError:
        there is no place for it.
        """
        speeds = dict(kept or {})
        readies: dict[str, Ready] = {}
        slots: dict[str, Slot] = {}
        async with AsyncExitStack() as stack:
            wanted = {"": self.runner.workspace.snapshot.commit, **commits}
            for name, commit in wanted.items():
                if name not in speeds:
                    slots[name], readies[name] = await stack.enter_async_context(self._ready(commit))
            _check(readies[""])
            wrong = {name: ready.invalid for name, ready in readies.items() if ready.invalid is not None}
            contenders = {name: ready.command for name, ready in readies.items() if name and name not in wrong}
            demands = self._demands(slots, readies[""])
            original = readies[""].command
            record = RaceRecord(speeds, told)
            raced = await race_commands(original, contenders, self.options, demands, lock=self.lock, record=record)
        _check(readies[""])
        found = speeds | dict(raced.speeds)
        # Where Python found its modules is known for good when all has run.
        found |= {name: Speed(INVALID, ready.invalid) for name, ready in readies.items() if ready.invalid is not None}
        return Raced.of({name: found[name] for name in commits}, raced.calibration)

    @asynccontextmanager
    async def _ready(self, commit: str) -> AsyncIterator[tuple[Slot, Ready]]:
        async with (
            self.runner.holding(commit) as slot,
            self.runner.ready(slot, self.command, {}, timeout=self.options.fork_seconds) as ready,
        ):
            yield slot, ready

    def _demands(self, slots: Mapping[str, Slot], original: Ready) -> CommandRaceOptions:
        tidy = {name: _Tidy(slot) for name, slot in slots.items()}
        forget = {name: _Forget(slot, slots[""]) for name, slot in slots.items() if name}
        return CommandRaceOptions(self.same_output, original.box.command(("sh", "-c", ":")), tidy, forget)


class _Forget:
    """Deletes what runs in a slot have left there, and runs of the original have not; says what that was."""

    def __init__(self, slot: Slot, original: Slot) -> None:
        self.slot, self.original = slot, original
        self.there = _files(slot)

    def __call__(self) -> list[str]:
        left = sorted(_files(self.slot) - self.there - _files(self.original))
        for path in left:
            os.unlink(os.path.join(os.fsencode(self.slot.outside), path))
        return [os.fsdecode(path) for path in left]


def _files(slot: Slot) -> set[bytes]:
    """Paths that are new or changed in a slot, but for what Python compiled. Blocks."""
    return {path for path in slot.place.changes().files if b"__pycache__" not in path}


class _Tidy:
    """Ends what a run left running in a slot, and empties its temp folder of what was not there before."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.there = {path.name for path in slot.temp.iterdir()}

    def __call__(self) -> int:
        left = end_leftovers(self.slot.id, self.slot.outside if self.slot.kind == "overlay" else None)
        for path in self.slot.temp.iterdir():
            if path.name in self.there:
                continue
            remove_tree(path, ignore_errors=True)
        return left


def _check(ready: Ready) -> None:
    """See that the command meets the tree where nothing was changed.

    Raises:
        TimingError: it would meet another.
    """
    if ready.invalid is not None:
        raise TimingError(f"the command says nothing of the slot that it runs in: {ready.invalid}")
