"""The way in: a snapshot of the user's tree, and slots to work on it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bakeoff.engine.failures import work_group
from bakeoff.engine.mask import Masker
from bakeoff.process.command import Processes
from bakeoff.process.spawner import Spawner
from bakeoff.process.sweep import process_token
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import GitError, ProjectError, SlotError, WorkspaceError
from bakeoff.workspace.filters.filters import check_filters
from bakeoff.workspace.full_disk import saying_where_it_is_full
from bakeoff.workspace.landing.intent import warning_of
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.locks import FileLock
from bakeoff.workspace.repository.repository import Repository, open_repository
from bakeoff.workspace.results.pending_commit import PendingCommit
from bakeoff.workspace.slots.base import Base, materialise, own_objects
from bakeoff.workspace.slots.deleting import delete_later
from bakeoff.workspace.slots.disk_ceiling import DiskWatch
from bakeoff.workspace.slots.environment import source_roots
from bakeoff.workspace.slots.layers import check_inside, copy_layer, files_to_copy
from bakeoff.workspace.slots.mounts import Mounts, try_overlay
from bakeoff.workspace.slots.place import Made
from bakeoff.workspace.slots.pool import SlotPool
from bakeoff.workspace.slots.setup_command import setup_digest, setup_layer
from bakeoff.workspace.slots.slot import Slot, SlotMaker
from bakeoff.workspace.slots.sweep import Swept, sweep
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.snapshot.extension_modules import unbuilt_in_slots
from bakeoff.workspace.snapshot.project import Project, find_project
from bakeoff.workspace.snapshot.snapshot import Dirty, Snapshot, ignore_rules, take_snapshot
from bakeoff.workspace.snapshot.submodules import checked_out

LINKED = (".venv", "node_modules")
"""Folders that slots see where the project has them and git does not know them."""


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
        """What every slot starts from."""
        return self.base.snapshot

    @property
    def repository(self) -> Repository:
        """Where snapshot, results and salvaged work are kept."""
        return self.base.repository

    def lacking(self, noun: str = "slots") -> list[str]:
        """What slots do not have of the user's files, each as a message about `noun`."""
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
        """What was raised inside says nothing where the slot is gone.

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
        """What attempts were given, for the record; JSON types only."""
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


@dataclass(slots=True)
class _Opening:
    """What is held while a workspace is open."""

    mounts: Mounts = field(default_factory=Mounts)
    locks: list[FileLock] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def close(self) -> None:
        self.mounts.close()
        for lock in self.locks:
            lock.release()


@asynccontextmanager
async def open_workspace(
    project: Path,
    settings: Settings,
    run_id: str,
    *,
    base: str | None = None,
    dirty: Dirty | None = None,
    snapshot: Snapshot | None = None,
    slots: int = 4,
    mount_at: bool = False,
    own_work: bool = False,
    processes: Processes | None = None,
    cache: Path | None = None,
    due: Mapping[str, PendingCommit] | None = None,
) -> AsyncIterator[Workspace]:
    """Snapshot the project and have slots ready for work on it. The user's checkout is not touched.

    Args:
        project: a directory in the user's work tree.
        settings: `settings.slots` says how slots are made.
        run_id: the run that results are kept for.
        base: a commit to start from instead of the work tree.
        dirty: what the snapshot takes besides HEAD; None for what the settings say.
        snapshot: one that was taken before, to work on instead of a new one.
        slots: how many at once; they are made when they are needed.
        mount_at: show overlay slots at the project's own path, so that whatever names that path means the slot.
        own_work: all that is checked out in slots is the user's own, so that its attributes choose content filters.
        processes: runs the setup command; None for processes of the workspace's own.
        cache: bakeoff's cache directory; None for the user's.
        due: results that the run has on record as due in slots of earlier sessions, by slot.

    Passes on ProjectError, GitError, SlotError: there is nothing to snapshot, or no slot can be made.
    """
    opening = _Opening()
    wanted = settings.slots
    try:
        with saying_where_it_is_full():
            if wanted.submodules:
                given_too = await in_thread(checked_out, find_project(project))
                wanted = replace(wanted, copy=tuple(dict.fromkeys([*wanted.copy, *given_too])))
            found = await in_thread(_Found.look, project, cache, wanted, base, dirty or _dirty(wanted), snapshot, due)
            found.base.own_work = own_work
            maker, why, filtered, given = await in_thread(_prepare, found, wanted, run_id, mount_at, opening)
        setup = None
        if wanted.setup is not None:
            setup = await _set_up(maker, wanted, processes, opening)
        salvaged: list[str] = []
        maker.note = salvaged.append
        limit = None if wanted.max_disk_mb is None else wanted.max_disk_mb << 20
        pool = SlotPool(slots, maker, opening.warnings.append)
        workspace = Workspace(
            base=maker.made.base,
            cache=found.cache,
            kind=maker.kind,
            why=why,
            pool=pool,
            maker=maker,
            disk=DiskWatch(found.cache, limit),
            given=given,
            mounted_at=maker.made.at,
            filtered=filtered,
            swept=found.swept,
            warnings=opening.warnings,
            salvaged=salvaged,
            setup=setup,
            sparse=wanted.sparse == "plans" and maker.kind != "overlay" and _is_large(found.base, wanted.sparse_above),
        )
        async with work_group() as tasks:
            tasks.start(workspace.disk.watch)
            try:
                yield workspace
            finally:
                tasks.tasks.cancel_scope.cancel()
                await pool.close()
    finally:
        with anyio.CancelScope(shield=True):
            await in_thread(opening.close)


def snapshot_now(path: Path, settings: Settings, base: str | None = None) -> Snapshot:
    """A snapshot as `open_workspace` takes it. To be called in a thread.

    Passes on ProjectError and GitError: there is nothing to snapshot.
    """
    project = find_project(path)
    repository = open_repository(ProjectCache.of(project.common_dir), project.object_format)
    return _snapshot(project, repository, settings.slots, base, _dirty(settings.slots))


def _snapshot(
    project: Project, repository: Repository, settings: SlotSettings, base: str | None, dirty: Dirty
) -> Snapshot:
    usual = [name for name in LINKED if (project.root / name).is_dir()]
    given = [path.rstrip("/") for path in (*settings.link, *settings.copy, *usual)]
    return take_snapshot(project, repository, dirty=dirty, base=base, without=given)


def _is_large(base: Base, most: int) -> bool:
    return len(base.entries.files) > most


def _dirty(settings: SlotSettings) -> Dirty:
    return settings.dirty  # type: ignore[return-value]


@dataclass(slots=True)
class _Found:
    """The project with a fresh snapshot."""

    base: Base
    cache: ProjectCache
    swept: Swept

    @classmethod
    def look(
        cls,
        path: Path,
        cache_root: Path | None,
        settings: SlotSettings,
        base: str | None,
        dirty: Dirty,
        snapshot: Snapshot | None,
        due: Mapping[str, PendingCommit] | None,
    ) -> _Found:
        project = find_project(path)
        cache = ProjectCache.of(project.common_dir, cache_root)
        repository = open_repository(cache, project.object_format)
        swept = sweep(cache, due)
        if snapshot is None:
            snapshot = _snapshot(project, repository, settings, base, dirty)
        else:
            _check_kept(repository, snapshot)
        delete_later(cache.dead())
        return cls(Base(project, repository, snapshot, project.excludes), cache, swept)


def _check_kept(repository: Repository, snapshot: Snapshot) -> None:
    try:
        repository.tree_of(snapshot.commit)
    except GitError:
        raise ProjectError(
            f"the snapshot that this run started from is not in {repository.path} any more, so it cannot go on; "
            "start a new run"
        ) from None


def _prepare(
    found: _Found, settings: SlotSettings, run: str, mount_at: bool, opening: _Opening
) -> tuple[SlotMaker, str, tuple[str, ...], tuple[str, ...]]:
    """Choose a kind, materialise the snapshot, copy what is configured."""
    kind, why = _choose(found.cache, settings.kind, opening.mounts)
    base = found.base
    filtered, said = check_filters(base)
    opening.warnings += said
    if (half := warning_of(base.project)) is not None:
        opening.warnings.append(half)
    links = _links(base, settings, kind, opening)
    copies = files_to_copy(base, settings.copy)
    given = (*links, *(path for path in copies if path not in links))
    if settings.setup is None and (built := unbuilt_in_slots(base.project.root, base.entries, given)) is not None:
        opening.warnings.append(built)
    own = own_objects(found.cache, base)
    opening.locks.append(own.lock)
    base = replace(base, excludes=base.excludes + ignore_rules(given), objects=own.path, given=given)
    layers: list[Path] = []
    if copies:
        home, lock = copy_layer(found.cache, base, copies)
        opening.locks.append(lock)
        layers.append(home)
    lower: Path | None = None
    if kind == "overlay":
        tree = materialise(found.cache, base)
        opening.locks.append(tree.lock)
        lower = tree.path
    at = _mount_point(base, found.cache, kind, mount_at, opening)
    made = Made(found.cache, base, lower, layers, links, at)
    roots = source_roots(base.entries, settings.source_roots)
    limit = settings.max_file_mb << 20
    maker = SlotMaker(made, kind, run, opening.mounts, roots, limit, opening.warnings.append)
    return maker, why, filtered, given


def _choose(cache: ProjectCache, wanted: str, mounts: Mounts) -> tuple[str, str]:
    if wanted in ("repository", "worktree"):
        return wanted, "asked for by tool.bakeoff.slots.kind"
    problem = try_overlay(mounts, cache.root)
    if problem is None:
        return "overlay", "an overlay mount was tried and works"
    if wanted == "overlay":
        raise SlotError(f"tool.bakeoff.slots.kind asks for overlay slots, which cannot be had: {problem}")
    return "repository", problem


def _links(base: Base, settings: SlotSettings, kind: str, opening: _Opening) -> dict[str, Path]:
    """The user's paths that slots see: configured ones, and the usual ones that are there and unknown to git."""
    root = base.project.root
    found = {path.rstrip("/"): check_inside(root, path, "link") for path in settings.link}
    for name in LINKED:
        entries = base.entries
        known = os.fsencode(name) in entries.files or os.fsencode(name) in entries.folders
        if (root / name).is_dir() and not known and name not in settings.copy:
            found.setdefault(name, root / name)
    if found and kind != "overlay":
        opening.warnings.append(f"{', '.join(found)}: linked; only a sandbox keeps attempts from changing them here")
    return found


def _mount_point(base: Base, cache: ProjectCache, kind: str, wanted: bool, opening: _Opening) -> Path | None:
    if not wanted:
        return None
    problem = None
    if kind != "overlay":
        problem = f"{kind} slots cannot be mounted"
    elif cache.root.is_relative_to(base.project.root):
        problem = f"bakeoff's cache {cache.root} lies inside the project"
    if problem is not None:
        opening.warnings.append(f"slots are not shown at the project's own path: {problem}")
        return None
    return base.project.root


async def _set_up(maker: SlotMaker, settings: SlotSettings, processes: Processes | None, opening: _Opening) -> str:
    command = settings.setup or ""
    base = maker.made.base
    place = str(maker.made.at or "")
    digest = setup_digest(command, settings.setup_inputs, base.entries, base.snapshot.tree, place)
    failed: WorkspaceError | None = None
    async with AsyncExitStack() as stack:
        if processes is None:
            own = Spawner(token=process_token(), base_env=dict(os.environ), masker=Masker())
            processes = await stack.enter_async_context(own)
        try:
            home, lock = await setup_layer(maker, command, digest, processes)
        except WorkspaceError as failure:  # raised outside, where no task group wraps it
            failed = failure
    if failed is not None:
        raise failed
    opening.locks.append(lock)
    maker.made = replace(maker.made, layers=[home, *maker.made.layers])
    return digest
