"""Workspaces that several parts of a run work in at once: one for each state of the user's files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import anyio

from bakeoff.engine.sharing import Shared
from bakeoff.process.command import Processes
from bakeoff.settings import Settings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.full_disk import saying_where_it_is_full
from bakeoff.workspace.preparation import snapshot_now
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.results.pending_commit import PendingCommit
from bakeoff.workspace.slots.sweep import sweep
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace, open_workspace


async def sweep_dead(project: Path) -> None:
    """Save and bury the slots that a dead session of the run left, where nobody else may come to do it."""
    with suppress(WorkspaceError):
        await in_thread(lambda: sweep(ProjectCache.of(find_project(project).common_dir)))


class Workspaces:
    """The workspaces of one run. Parts that find the same files share a workspace and its slots.

    Args:
        shared: keeps them open.
        project: a directory in the user's work tree.
        settings: the project's.
        run_id: the run that results are kept for.
        slots: how many of each workspace at once; as many as its users can ask for at once, so that nobody waits.
        processes: runs the setup command.
        warn: told in words what went wrong without ending anything.
        due: results that the run has on record as due in slots of earlier sessions, by slot.
    """

    def __init__(
        self,
        shared: Shared[Workspace],
        project: Path,
        settings: Settings,
        run_id: str,
        slots: int,
        processes: Processes,
        warn: Callable[[str], None],
        due: Mapping[str, PendingCommit] | None = None,
    ) -> None:
        self._shared, self.project, self.settings, self.run_id = shared, project, settings, run_id
        self._slots, self._processes, self._warn, self._due = slots, processes, warn, due
        self._said: set[str] = set()
        self._lock = anyio.Lock()
        self._moments = count()
        self._last: dict[str | None, tuple[int, Snapshot]] = {}

    @asynccontextmanager
    async def using(self, base: str | None = None, snapshot: Snapshot | None = None) -> AsyncIterator[Workspace]:
        """A workspace over `snapshot`, or over the files as they are now, or as the commit `base` has them.

        Passes on WorkspaceError: there is nothing to snapshot, or no slot can be made.
        """
        taken = snapshot or await self.snapshot(base)

        def opened() -> AsyncIterator[Workspace]:
            return open_workspace(  # type: ignore[return-value]
                self.project,
                self.settings,
                self.run_id,
                base=base,
                snapshot=taken,
                slots=self._slots,
                mount_at=True,
                processes=self._processes,
                due=self._due,
            )

        async with self._shared.using(taken.commit, opened) as workspace:  # type: ignore[arg-type]
            try:
                yield workspace
            finally:
                for text in (*workspace.lacking(), *workspace.warnings):
                    if text not in self._said:
                        self._said.add(text)
                        self._warn(text)

    async def snapshot(self, base: str | None = None) -> Snapshot:
        """The files as they are now; whoever asks while one is taken shares the next one.

        Passes on ProjectError and GitError: there is nothing to snapshot.
        """
        asked = next(self._moments)
        async with self._lock:
            began, last = self._last.get(base, (-1, None))
            if last is None or began < asked:
                began = next(self._moments)
                with saying_where_it_is_full():
                    last = await in_thread(snapshot_now, self.project, self.settings, base)
                self._last[base] = began, last
            return last
