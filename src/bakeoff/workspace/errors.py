"""Errors of places to work; each is one clear message for a person."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class WorkspaceError(BakeoffError):
    """A place to work could not be made, read or given back."""


class GitError(WorkspaceError):
    """The git program failed, or is missing or too old.

    Attributes:
        status: its exit status; None when it did not run.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class NoSpaceError(GitError):
    """The disk is full."""


class ProjectError(WorkspaceError):
    """The directory is no git work tree that a snapshot can be taken of."""


class SlotError(WorkspaceError):
    """A slot could not be made, or a job was asked of one that it cannot do."""


class DiskError(WorkspaceError):
    """The slots of a project outgrew `max_disk_mb`; the attempt that grew most was ended.

    Attributes:
        kind: the error kind for the record.
    """

    kind = "disk"


class ApplyError(WorkspaceError):
    """A result was not applied, and nothing was changed.

    Attributes:
        conflicts: the paths that stand in the way.
    """

    def __init__(self, message: str, conflicts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.conflicts = conflicts
