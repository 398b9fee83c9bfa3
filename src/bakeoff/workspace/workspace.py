"""Workspace, the way in: a snapshot of the user's tree, and slots to work on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import anyio

from bakeoff.engine.failures import work_group
from bakeoff.process.command import Processes
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import SlotError, WorkspaceError
from bakeoff.workspace.full_disk import saying_where_it_is_full
from bakeoff.workspace.preparation import Found, Opening, is_large, prepare, set_up
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.pending_commit import PendingCommit
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.slots.disk_ceiling import DiskWatch
from bakeoff.workspace.slots.pool import SlotPool
from bakeoff.workspace.slots.slot import Slot, SlotMaker
from bakeoff.workspace.slots.sweep import Swept
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import Dirty, Snapshot
from bakeoff.workspace.snapshot.submodules import checked_out

_GONE = "a slot was taken away while it was at work: its folder is gone, or the process that holds its mounts died"


@dataclass(slots=True)
class Workspace:
    """A snapshot of a project and the slots to work on it; made by `open_workspace`.

    Attributes:
        base: the snapshot with the repositories around it.
        cache: the project's folder in the user's cache.
        kind: which slots it has.
        why: why those.
        pool: the slots.
        maker: makes them.
        mounted_at: where slots see themselves, when that is the project's own path.
        filtered: files that slots have as git stores them, because their content filter (LFS, say) cannot be run.
        warnings: what went wrong without ending anything.
        salvaged: refs under which work was saved that no result held.
        swept: what was done with slots of dead owners at the start.
        setup: digest of what was set up for slots; None where nothing is.
        sparse: whether slots may have only those files that work in them is about.
    """

    base: Base
    cache: ProjectCache
    kind: str
    why: str
    pool: SlotPool[Slot]
    maker: SlotMaker
    disk: DiskWatch
    given: tuple[str, ...]
    mounted_at: Path | None
    filtered: tuple[str, ...]
    swept: Swept
    warnings: list[str]
    salvaged: list[str]
    setup: str | None = None
    sparse: bool = False

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that every slot starts from."""
        return self.base.snapshot

    @property
    def repository(self) -> Repository:
        """The repository that keeps snapshot, results and salvaged work."""
        return self.base.repository

    def lacking(self, noun: str = "slots") -> list[str]:
        """Messages, about `noun`, on what slots do not have of the user's files."""
        return [
            f"{noun} do not have {'your changes to ' * left.differs}{left.path}: {left.reason}"
            for left in self.snapshot.left_out
            if not any(left.path == path or left.path.startswith(f"{path}/") for path in self.given)
        ]

    @asynccontextmanager
    async def lease(self, cone: Cone | None = None) -> AsyncIterator[Slot]:
        """A slot as the snapshot has it, first come first served; with the files of a `cone` alone, if it is `sparse`.

        When the block is left in whatever way, work that `Slot.commit` did not keep is salvaged, and the slot reset.

        Passes on SlotError: none can be made, or it was taken away meanwhile, so that what happened in it says nothing.
        DiskError: the project's slots took too much.
        """
        await self.disk.check()
        with self.disk.opened():
            make = partial(self.maker.make, cone) if self.sparse and cone is not None else None
            async with self.pool.lease(make) as slot:
                with self._held(slot):
                    yield slot

    @asynccontextmanager
    async def lease_free(self) -> AsyncIterator[Slot | None]:
        """The same where one is free or can be made; else None, without waiting."""
        await self.disk.check()
        with self.disk.opened():
            async with self.pool.lease_free() as slot:
                with nullcontext() if slot is None else self._held(slot):
                    yield slot

    @contextmanager
    def _held(self, slot: Slot) -> Iterator[None]:
        """Errors raised inside, as one that says that the slot is gone where it is.

        Raises:
            SlotError: it was taken away.
            OSError: raised inside, while it is there.
            WorkspaceError: likewise.
        """
        with self.disk.watching(slot):
            try:
                yield
            except (OSError, WorkspaceError) as failure:
                if slot.is_there():
                    raise
                raise SlotError(f"{_GONE}: {failure}") from failure
        if not slot.is_there():
            raise SlotError(_GONE)

    def receipt(self) -> dict[str, Any]:
        """Receipt of the workspace: its snapshot and slots, for the record; JSON types only."""
        return {
            "snapshot": asdict(self.snapshot) | {"left_out": [asdict(path) for path in self.snapshot.left_out]},
            "slots": {
                "kind": self.kind,
                "why": self.why,
                "size": self.pool.size,
                "mounted_at": None if self.mounted_at is None else str(self.mounted_at),
                "given": list(self.given),
                "setup": self.setup,
            },
            "filtered": list(self.filtered),
            "salvaged": list(self.salvaged),
            "swept": asdict(self.swept),
            "warnings": list(self.warnings),
        }


class WorkspaceOptions(TypedDict, total=False):
    """Options of `open_workspace`, by name.

    Attributes:
        base: a commit to start from instead of the work tree.
        dirty: what the snapshot takes besides HEAD; by default what the settings say.
        snapshot: one that was taken before, to work on instead of a new one.
        slots: how many at once, 4 by default; they are made when they are needed.
        mount_at: show overlay slots at the project's own path, so that whatever names that path means the slot.
        own_work: all that is checked out in slots is the user's own, so that its attributes choose content filters.
        processes: runs the setup command; by default processes of the workspace's own.
        cache: bakeoff's cache directory; by default the user's.
        due: results that the run has on record as due in slots of earlier sessions, by slot.
    """

    base: str | None
    dirty: Dirty | None
    snapshot: Snapshot | None
    slots: int
    mount_at: bool
    own_work: bool
    processes: Processes | None
    cache: Path | None
    due: Mapping[str, PendingCommit] | None


@asynccontextmanager
async def open_workspace(
    project: Path, settings: Settings, run_id: str, **options: Unpack[WorkspaceOptions]
) -> AsyncIterator[Workspace]:
    """Snapshot the project and have slots ready for work on it. The user's checkout is not touched.

    Args:
        project: a directory in the user's work tree.
        settings: `settings.slots` says how slots are made.
        run_id: the run that results are kept for.
        options: see `WorkspaceOptions`.

    Passes on ProjectError, GitError, SlotError: there is nothing to snapshot, or no slot can be made.
    """
    opening = Opening()
    try:
        workspace = await _opened(project, settings.slots, run_id, options, opening)
        async with work_group() as tasks:
            tasks.start(workspace.disk.watch)
            try:
                yield workspace
            finally:
                tasks.tasks.cancel_scope.cancel()
                await workspace.pool.close()
    finally:
        with anyio.CancelScope(shield=True):
            await in_thread(opening.close)


async def _opened(
    project: Path, wanted: SlotSettings, run_id: str, options: WorkspaceOptions, opening: Opening
) -> Workspace:
    """A workspace whose pool is still empty; `opening` holds what must be closed after it."""
    with saying_where_it_is_full():
        if wanted.submodules:
            given_too = await in_thread(checked_out, find_project(project))
            wanted = replace(wanted, copy=tuple(dict.fromkeys([*wanted.copy, *given_too])))
        found = await in_thread(
            Found.look,
            project,
            options.get("cache"),
            wanted,
            options.get("base"),
            options.get("dirty"),
            options.get("snapshot"),
            options.get("due"),
        )
        found.base.own_work = options.get("own_work", False)
        mount_at = options.get("mount_at", False)
        maker, why, filtered, given = await in_thread(prepare, found, wanted, run_id, mount_at, opening)
    setup = None
    if wanted.setup is not None:
        setup = await set_up(maker, wanted, options.get("processes"), opening)
    salvaged: list[str] = []
    maker.note = salvaged.append
    limit = None if wanted.max_disk_mb is None else wanted.max_disk_mb << 20
    return Workspace(
        base=maker.made.base,
        cache=found.cache,
        kind=maker.kind,
        why=why,
        pool=SlotPool(options.get("slots", 4), maker, opening.warnings.append),
        maker=maker,
        disk=DiskWatch(found.cache, limit),
        given=given,
        mounted_at=maker.made.at,
        filtered=filtered,
        swept=found.swept,
        warnings=opening.warnings,
        salvaged=salvaged,
        setup=setup,
        sparse=wanted.sparse == "plans" and maker.kind != "overlay" and is_large(found.base, wanted.sparse_above),
    )
