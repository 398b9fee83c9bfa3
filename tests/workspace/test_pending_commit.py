"""Results that are due: made by whoever ends the slot, or finds it when its owner is dead."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bakeoff.workspace.errors import NoSpaceError
from bakeoff.workspace.full_disk import full_disk, saying_where_it_is_full
from bakeoff.workspace.repository.cache import cache_root
from bakeoff.workspace.results.pending_commit import forget_pending, pending_commit, read_pending, write_pending
from bakeoff.workspace.results.results import result_at
from bakeoff.workspace.slots.sweep import save_dead
from bakeoff.workspace.workspace import open_workspace
from workspace.conftest import KINDS, Checkout, settings, sh

pytestmark = pytest.mark.anyio

REF = "refs/bakeoff/run/made"


@pytest.mark.parametrize("kind", KINDS)
async def test_whoever_ends_the_slot_makes_what_is_due_in_it(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(slot, "echo made > made.txt; rm a.txt; ln -s tool.sh to; echo x > x.log; mkfifo pipe")
            slot.write_pending("made", "What was made")
            assert result_at(workspace.base, REF) is None
        found = result_at(workspace.base, REF)
        assert found is not None
        assert {path.path: path.status for path in found.changed} == {"made.txt": "A", "a.txt": "D", "to": "A"}
        assert [path.path for path in found.refused] == ["pipe"]
        assert found.base == workspace.snapshot.commit
        log = workspace.repository.git().run("log", "-1", "--format=%B", REF).decode()
        assert log.startswith("What was made\n\nLeft out: ")
        # The next who works in the slot owes nothing.
        async with workspace.lease() as slot:
            assert slot.due is None
            assert read_pending(slot.home) is None
            sh(slot, "echo other > other.txt")
        assert result_at(workspace.base, REF) == found


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_due_in_a_dead_slot_is_made_as_it_would_have_been(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind, max_file_mb=1), "run") as workspace:
        async with workspace.lease() as slot:
            sh(slot, "echo made > made.txt; truncate -s 2M large.bin; git sparse-checkout set docs || true")
            slot.write_pending("made", "What was made")
            made = await slot.commit("live", "What was made")
            saved = save_dead(workspace.cache, slot.id)  # as when nobody owned it
            found = result_at(workspace.base, REF)
            assert found is not None
            assert (found.tree, found.changed) == (made.tree, made.changed)
            assert [path.path for path in found.refused] == ["large.bin"]
            assert saved[0] == REF
            assert len(saved) == 2  # what is too large for a result, too
            save_dead(workspace.cache, slot.id)
            assert result_at(workspace.base, REF) == found  # its commit may be on record
            # After a power cut nobody knows that its files are whole.
            due = slot.home / "due.json"
            due.write_text(json.dumps({**json.loads(due.read_text()), "boot": "another"}))
            workspace.repository.git().run("update-ref", "-d", REF)
            save_dead(workspace.cache, slot.id)
            assert result_at(workspace.base, REF) is None


def test_a_note_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    due = pending_commit(REF, "text\nof two lines", 5)
    write_pending(tmp_path, due)
    assert read_pending(tmp_path) == due
    for text in ("", "[]", "{}", '{"ref": 1}', "\xff"):
        (tmp_path / "due.json").write_text(text, "latin-1")
        assert read_pending(tmp_path) is None
        assert read_pending(tmp_path, due) == due, "the run has it on record"
    assert read_pending(tmp_path, replace(due, boot="another")) is None
    forget_pending(tmp_path)
    forget_pending(tmp_path)
    assert list(tmp_path.glob("due*")) == []


def test_the_place_that_is_full_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/some/file")
    both = full_disk(failure)
    assert both.startswith("no space is left on the disk for /some/file; make room where the project, ")

    def usage(place: Path) -> SimpleNamespace:
        assert place.exists()
        return SimpleNamespace(free=0)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert f"make room where {cache_root()} (slots) and " in full_disk(failure)

    def refused(place: Path) -> SimpleNamespace:
        raise PermissionError

    monkeypatch.setattr(shutil, "disk_usage", refused)
    assert full_disk(failure) == both
    with pytest.raises(NoSpaceError, match="make room"), saying_where_it_is_full():
        raise failure
    with pytest.raises(PermissionError), saying_where_it_is_full():
        raise PermissionError
