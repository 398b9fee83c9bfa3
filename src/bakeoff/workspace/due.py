"""A result that is due: work in a slot has ended well, and should its owner die now, whoever comes next makes it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.engine.machine import boot_id
from bakeoff.workspace.changes import Changes
from bakeoff.workspace.results import Result, make_result, result_at
from bakeoff.workspace.trees import Base

_FILE = "due.json"


@dataclass(frozen=True, slots=True)
class Due:
    """What is needed to make the result.

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


def note_due(home: Path, ref: str, message: str, limit: int) -> Due:
    """Put down in the slot's folder that a result of it is due.

    Passes on OSError: it cannot be written.
    """
    due = Due(ref, message, limit, boot_id())
    fresh = home / f"{_FILE}.new"
    fresh.write_text(json.dumps(asdict(due)))
    os.replace(fresh, home / _FILE)
    return due


def read_due(home: Path) -> Due | None:
    """What is due; None also where the machine has been started since."""
    try:
        due = Due(**json.loads((home / _FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return due if due.boot == boot_id() else None


def forget_due(home: Path) -> None:
    """Nothing is due any more.

    Passes on OSError: it cannot be taken back.
    """
    (home / _FILE).unlink(missing_ok=True)
