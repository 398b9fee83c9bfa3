"""Slot: a leased place to work, and the one who makes slots, saves what was made in them, and ends them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.engine.slow import said_when_slow
from bakeoff.process.command import Command
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.filters.attributes import rules_of
from bakeoff.workspace.filters.slow_filters import storing
from bakeoff.workspace.full_disk import is_full
from bakeoff.workspace.landing.writing import write_changes
from bakeoff.workspace.repository.locks import FileLock, try_lock
from bakeoff.workspace.repository.repository import ref_name
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.results.pending_commit import (
    PendingCommit,
    forget_pending,
    hold_room,
    pending_commit,
    write_pending,
)
from bakeoff.workspace.results.results import Result, changed_between, make_result
from bakeoff.workspace.results.salvage import salvage_commits, salvage_files
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.slots.checkout import CheckoutPlace
from bakeoff.workspace.slots.deleting import delete_later
from bakeoff.workspace.slots.environment import slot_environment
from bakeoff.workspace.slots.leftover_processes import end_leftovers
from bakeoff.workspace.slots.mounts import Mounts
from bakeoff.workspace.slots.overlay import OverlayPlace
from bakeoff.workspace.slots.place import SlotPlace, SlotSource, write_facts
from bakeoff.workspace.slots.ports import Ports, lease_ports
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.snapshot.snapshot import read_entries


@dataclass(slots=True)
class Slot:
    """A work tree of an attempt's own.

    Attributes:
        id: names it, also in `BAKEOFF_SLOT`.
        kind: `overlay`, `repository` or `worktree`.
        path: its top, as commands in it see it.
        outside: its top, as this process sees it; read only with care, and never with git.
        env: variables for commands in it; None takes one away.
        argv_prefix: what to put before a command so that it runs in it.
        cwd: where such a command is to be started from outside.
        home: bakeoff's folder of it.
        temp: the folder that TMPDIR names.
        results: what was committed in this lease, the latest last.
        partial: it has only a part of the snapshot's files.
        due: what is still to be made of what stands in it.
        disposable: what is left in it at the end of this lease is nobody's work, and is not salvaged.
    """

    id: str
    place: SlotPlace
    env: dict[str, str | None]
    home: Path
    temp: Path
    ports: Ports
    lock: FileLock
    base: Base
    run: str
    limit: int
    results: list[Result] = field(default_factory=list)
    committed: Changes | None = None
    due: PendingCommit | None = None
    disposable: bool = False
    partial: bool = False

    @property
    def kind(self) -> str:
        """See above."""
        return self.place.kind

    @property
    def path(self) -> str:
        """See above."""
        return self.place.path

    @property
    def bare(self) -> str:
        """See `SlotPlace`."""
        return self.place.bare

    @property
    def outside(self) -> Path:
        """See above."""
        return self.place.outside

    @property
    def argv_prefix(self) -> tuple[str, ...]:
        """See above."""
        return self.place.prefix

    @property
    def cwd(self) -> str:
        """See above."""
        return self.place.cwd

    @property
    def holder(self) -> int:
        """See `SlotPlace`."""
        return self.place.holder

    @property
    def owned(self) -> list[str]:
        """Paths that whoever works in the slot may write: the tree, the temp folder, a git directory beside them."""
        git = self.home / "git"
        return [self.path, str(self.temp), *([str(git)] if self.kind != "overlay" else [])]

    @property
    def shown(self) -> list[str]:
        """Places that it is not whole without: what it links to, and the objects of its snapshot."""
        links = [str(source) for source in self.place.links.values()] if self.kind != "overlay" else []
        return [*links, str(self.base.borrowed)]

    @property
    def environments(self) -> list[str]:
        """Environments of Python's that it has from the user; of one that is a link, also where that leads."""
        found = [str(source) for source in self.place.links.values() if (source / "pyvenv.cfg").is_file()]
        return list(dict.fromkeys([*found, *map(os.path.realpath, found)]))

    @property
    def links(self) -> Mapping[str, str]:
        """Paths that lead to the project's own, and where a command in the slot finds each without a symbolic link."""
        if self.kind == "overlay":
            return {path: f"{self.path}/{path}" for path in self.place.links}
        return {path: os.path.realpath(source) for path, source in self.place.links.items()}

    @property
    def closed(self) -> list[str]:
        """Places that are not to be shown because a variable names a folder around them."""
        return [str(self.home), str(self.base.project.root)]

    def is_there(self) -> bool:
        """Whether its folder, and the process that holds its mounts, are still there."""
        return self.home.is_dir() and (not self.holder or self.outside.is_dir())

    def command(self, argv: Sequence[str], *, env: Mapping[str, str | None] | None = None, **more: Any) -> Command:
        """A command to run in the slot, for the engine's processes; `more` as for `Command`."""
        return Command([*self.argv_prefix, *argv], self.cwd, {**self.env, **(env or {})}, **more)

    async def check_out(self, commit: str) -> None:
        """Put what leads from the snapshot to `commit`, a commit of bakeoff's repository, into a slot that is as new.

        Passes on SlotError: it has a file where a folder is for what slots are given. GitError: it cannot be read or
        written.
        """
        await in_thread(self._check_out, commit)

    def _check_out(self, commit: str) -> None:
        base = self.base
        if commit == base.snapshot.commit:
            return
        changed = changed_between(base.repository, base.snapshot.tree, commit)
        for path in changed:
            given = None if path.status == "D" else base.given_below(os.fsencode(path.path))
            if given is not None:
                raise SlotError(f"{path.path} is a file there, and slots are given {given}, which needs a folder there")
        rules = rules_of(base.repository, read_entries(base.repository, commit).files) if base.own_work else base.rules
        write_changes(base.project, base.repository, rules, commit, changed, self.outside)

    async def end_processes(self) -> int:
        """Kill what commands in the slot have left running; returns how many there were. Linux only."""
        return await in_thread(end_leftovers, self.id, self.outside if self.kind == "overlay" else None)

    def write_pending(self, name: str, message: str) -> PendingCommit:
        """The result `name` of what stands in the slot now is to be made, whatever happens to this process.

        Until it is, whoever ends the slot or sweeps it makes it first. On a disk that is full the note may be missing:
        what this returns is for the run's record, too.

        Raises:
            OSError: it cannot be put down for another reason.
        """
        self.due = pending_commit(ref_name(self.run, name), message, self.limit)
        try:
            write_pending(self.home, self.due)
        except OSError as failure:
            if not is_full(failure):
                raise
        return self.due

    async def commit(self, name: str, message: str | None = None) -> Result:
        """Keep the tree as it stands as the result `name` of the run; the slot stays as it is.

        Passes on GitError: bakeoff's repository cannot be written.
        """
        return await in_thread(self.commit_now, name, message)

    def commit_now(self, name: str, message: str | None = None) -> Result:
        """The same for those who are in a thread already."""
        text = message or f"{name} of run {self.run}"
        with said_when_slow(storing(self.id, alive=True)):
            return self._make(ref_name(self.run, name), text, self.place.changes())

    def make_due(self, changes: Changes) -> Result | None:
        """Make the result that is due out of what has changed; None where none is. To be called in a thread.

        Passes on GitError: bakeoff's repository cannot be written.
        """
        return None if self.due is None else self._make(self.due.ref, self.due.message, changes)

    def _make(self, ref: str, message: str, changes: Changes) -> Result:
        result = make_result(self.base, changes, ref, message, self.limit)
        self.results.append(result)
        if self.due is not None and self.due.ref == ref:
            self.due = None  # its note stays until the slot is as new: what of the result is noted last may be missing
        # What was too large for a result is still to be salvaged.
        self.committed = None if result.refused else changes
        return result


@dataclass(slots=True)
class SlotMaker:
    """Makes the slots of one run in one project.

    Attributes:
        made: what they share.
        kind: which they are.
        run: the run's id.
        mounts: holds the namespaces of overlay slots.
        roots: folders of Python packages, relative to a slot's top.
        limit: bytes of a file above which a result leaves it out.
        note: told of each ref that work was saved under.
    """

    made: SlotSource
    kind: str
    run: str
    mounts: Mounts
    roots: Sequence[str]
    limit: int
    note: Callable[[str], None]

    def make(self, cone: Cone | None = None) -> Slot:
        """A new slot, ready to work in; whatever is missing, nothing is left of it.

        A checkout slot has only the files of the `cone`, where one is given.
        """
        name, lock = self._lock()
        home = self.made.cache.slots / name
        place = self._place(home, cone)
        ports = None
        try:
            home.mkdir(mode=0o700)
            base = self.made.base
            lock.write({"run": self.run, "kind": self.kind, "project": str(base.project.root)})
            write_facts(home, self.kind, self.run, self.made)
            (home / "tmp").mkdir()
            hold_room(home)
            place.make()
            ports = lease_ports()
        except BaseException:
            self._drop(home, place, ports, lock)
            raise
        env = slot_environment(place.path, name, home / "tmp", ports, self.roots, base.project.root)
        slot = Slot(name, place, env, home, home / "tmp", ports, lock, base, self.run, self.limit)
        slot.partial = cone is not None and self.kind != "overlay"
        return slot

    def _lock(self) -> tuple[str, FileLock]:
        for _ in range(100):
            name = secrets.token_hex(4)
            lock = try_lock(self.made.cache.slots / f"{name}.lock")
            if lock is not None:
                return name, lock
        raise SlotError(f"no slot can be locked in {self.made.cache.slots}")

    def _place(self, home: Path, cone: Cone | None) -> SlotPlace:
        if self.kind == "overlay":
            return OverlayPlace(home, self.made, self.mounts)
        return CheckoutPlace(home, self.made, self.kind, cone)

    def clean(self, slot: Slot) -> None:
        """Save what no result holds, then undo all changes."""
        self.save(slot)
        forget_pending(slot.home)
        hold_room(slot.home)
        slot.place.reset()
        self.made.cache.bury(slot.temp)
        slot.temp.mkdir()
        slot.results.clear()
        slot.committed = None
        slot.disposable = False
        delete_later(self.made.cache.dead())

    def discard(self, slot: Slot) -> None:
        """Save what no result holds, then end the slot; where it cannot be saved, its files stay for the next sweep."""
        saved = False
        try:
            self.save(slot)
            saved = True
        finally:
            if saved:
                self._drop(slot.home, slot.place, slot.ports, slot.lock)
            else:
                slot.place.close()
                slot.ports.release()
                slot.lock.release()
        delete_later(self.made.cache.dead())

    def save(self, slot: Slot) -> None:
        """Keep work that no result holds, and commits that were made in the slot."""
        if slot.disposable:
            return
        with said_when_slow(storing(slot.id, alive=True)):
            self._save(slot)

    def _save(self, slot: Slot) -> None:
        changes = slot.place.changes()
        if (made := slot.make_due(changes)) is not None:
            self.note(made.ref)
        known = {result.tree for result in slot.results}
        if slot.committed is None or not slot.committed.same(changes):
            result = salvage_files(slot.base, slot.run, slot.id, changes, known)
            if result is not None:
                known.add(result.tree)
                self.note(result.ref)
        for folder in slot.place.git_folders():
            for ref in salvage_commits(slot.base, slot.run, slot.id, folder, known):
                self.note(ref)

    def drop(self, slot: Slot) -> None:
        """End a slot whose files are nobody's work."""
        self._drop(slot.home, slot.place, slot.ports, slot.lock)
        delete_later(self.made.cache.dead())

    def _drop(self, home: Path, place: SlotPlace, ports: Ports | None, lock: FileLock) -> None:
        try:
            place.close()
        finally:
            if ports is not None:
                ports.release()
            self.made.cache.bury(home)
            lock.remove()
