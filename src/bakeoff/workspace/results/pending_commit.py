"""Pending commit: work in a slot has ended well, and should its owner die now, whoever comes next commits it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.engine import ballast
from bakeoff.system.machine import boot_id
from bakeoff.workspace.full_disk import is_full
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.results.results import Result, make_result, result_at
from bakeoff.workspace.slots.base import Base

_FILE, _ROOM = "due.json", "due.room"

_BALLAST = 16 << 10
"""Bytes that a slot holds for its note on a disk that the work in it has filled."""


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """Facts from which the result can be made.

    Attributes:
        ref: where it is to stand.
        message: of its commit.
        limit: bytes of a file above which it is left out.
        boot: under which its files were written. Nobody has synced them, so that after a power cut they may be cut off.
    """

    ref: str
    message: str
    limit: int
    boot: str

    def make(self, base: Base, changes: Changes) -> Result:
        """Make it out of what has changed in the slot; one that stands there already stays, if it is the same.

        Passes on GitError: bakeoff's repository cannot be written.
        """
        before = result_at(base, self.ref)
        made = make_result(base, changes, self.ref, self.message, self.limit)
        if before is None or (before.tree, before.refused) != (made.tree, made.refused):
            return made  # what was refused is noted last: its owner may not have come to that
        base.repository.set_ref(self.ref, before.commit)
        return before


def pending_commit(ref: str, message: str, limit: int) -> PendingCommit:
    """A result that is due of files as they are now."""
    return PendingCommit(ref, message, limit, boot_id())


def hold_room(home: Path) -> None:
    """Have room in the slot's folder for a note, whatever the work in it does to the disk."""
    ballast.take(home / _ROOM, _BALLAST)


def write_pending(home: Path, due: PendingCommit) -> None:
    """Put down in the slot's folder that a result of it is due.

    Raises:
        OSError: it cannot be written.
    """
    fresh = home / f"{_FILE}.new"
    try:
        fresh.write_text(json.dumps(asdict(due)))
    except OSError as failure:
        if not is_full(failure) or not ballast.drop(home / _ROOM):
            raise
        fresh.write_text(json.dumps(asdict(due)))
    os.replace(fresh, home / _FILE)


def read_pending(home: Path, known: PendingCommit | None = None) -> PendingCommit | None:
    """The pending commit of a slot; None also where the machine has been started since.

    Args:
        home: the slot's folder.
        known: what its run has put on record of it; counts where there is no note in the folder.
    """
    try:
        due: PendingCommit | None = PendingCommit(**json.loads((home / _FILE).read_text()))
    except (OSError, ValueError, TypeError):
        due = known
    return due if due is not None and due.boot == boot_id() else None


def forget_pending(home: Path) -> None:
    """Nothing is due any more.

    Passes on OSError: it cannot be taken back.
    """
    (home / _FILE).unlink(missing_ok=True)
