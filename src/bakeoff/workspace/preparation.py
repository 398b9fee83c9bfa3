"""Preparation of a workspace: project and snapshot, the kind of its slots, layers and mounts, the setup command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from bakeoff.engine.mask import Masker
from bakeoff.process.command import Processes
from bakeoff.process.spawner import Spawner
from bakeoff.process.sweep import process_token
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.errors import GitError, ProjectError, SlotError, WorkspaceError
from bakeoff.workspace.filters.filters import check_filters
from bakeoff.workspace.landing.intent import warning_of
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.locks import FileLock
from bakeoff.workspace.repository.repository import Repository, open_repository
from bakeoff.workspace.results.pending_commit import PendingCommit
from bakeoff.workspace.slots.base import Base, materialise, own_objects
from bakeoff.workspace.slots.deleting import delete_later
from bakeoff.workspace.slots.environment import source_roots
from bakeoff.workspace.slots.layers import check_inside, copy_layer, files_to_copy
from bakeoff.workspace.slots.mounts import Mounts, try_overlay
from bakeoff.workspace.slots.place import SlotSource
from bakeoff.workspace.slots.setup_command import setup_digest, setup_layer
from bakeoff.workspace.slots.slot import SlotMaker
from bakeoff.workspace.slots.sweep import Swept, sweep
from bakeoff.workspace.snapshot.extension_modules import unbuilt_in_slots
from bakeoff.workspace.snapshot.project import Project, find_project
from bakeoff.workspace.snapshot.snapshot import Dirty, Snapshot, ignore_rules, take_snapshot

LINKED = (".venv", "node_modules")
"""Folders that slots see where the project has them and git does not know them."""


@dataclass(slots=True)
class Opening:
    """Locks, mounts and warnings that are held while a workspace is open."""

    mounts: Mounts = field(default_factory=Mounts)
    locks: list[FileLock] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Let go of all of it."""
        self.mounts.close()
        for lock in self.locks:
            lock.release()


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


def is_large(base: Base, most: int) -> bool:
    """Whether the snapshot has more than `most` files."""
    return len(base.entries.files) > most


def _dirty(settings: SlotSettings) -> Dirty:
    return settings.dirty  # type: ignore[return-value]


@dataclass(slots=True)
class Found:
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
        dirty: Dirty | None,
        snapshot: Snapshot | None,
        due: Mapping[str, PendingCommit] | None,
    ) -> Found:
        """Find project, cache and repository, sweep dead slots, and take a snapshot where none is given. Blocks."""
        project = find_project(path)
        cache = ProjectCache.of(project.common_dir, cache_root)
        repository = open_repository(cache, project.object_format)
        swept = sweep(cache, due)
        if snapshot is None:
            snapshot = _snapshot(project, repository, settings, base, dirty or _dirty(settings))
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


def prepare(
    found: Found, settings: SlotSettings, run: str, mount_at: bool, opening: Opening
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
    made = SlotSource(found.cache, base, lower, layers, links, at)
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


def _links(base: Base, settings: SlotSettings, kind: str, opening: Opening) -> dict[str, Path]:
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


def _mount_point(base: Base, cache: ProjectCache, kind: str, wanted: bool, opening: Opening) -> Path | None:
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


async def set_up(maker: SlotMaker, settings: SlotSettings, processes: Processes | None, opening: Opening) -> str:
    """Have the setup command run once and its layer put into the slots to come; returns its digest.

    Passes on SlotError: the command failed.
    """
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
