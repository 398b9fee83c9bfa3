"""Run folders: ids, locks, who owns a run, which are the latest."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.engine import store as store_module
from bakeoff.engine.errors import BakeoffError, RunBusyError, RunNotFoundError
from bakeoff.engine.history import History
from bakeoff.engine.journal import create
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder, RunStore, find_project


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def made(store: RunStore, run_id: str) -> RunFolder:
    folder = store.create(run_id)
    create(folder.journal)
    return folder


@pytest.mark.parametrize("run_id", ["", "-a", "_a", "a b", "../x", "a/b", "a" * 65, "é", "a\n"])
def test_malformed_ids_are_refused(store: RunStore, run_id: str) -> None:
    with pytest.raises(BakeoffError, match="use letters, digits"):
        store.create(run_id)
    with pytest.raises(RunNotFoundError):
        store.open(run_id)
    assert not store.home.exists()


def test_a_taken_id_is_refused_and_says_what_to_do(store: RunStore) -> None:
    made(store, "a")
    with pytest.raises(BakeoffError, match="bakeoff resume a"):
        store.create("a")


def test_new_ids_are_free(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["aa", "aa", "bb"])
    monkeypatch.setattr(store_module.secrets, "token_hex", lambda _: next(names))
    assert store.new_id() == "aa"
    made(store, "aa")
    assert store.new_id() == "bb"


def test_the_folder_ignores_itself_and_is_private(store: RunStore) -> None:
    folder = made(store, "a")
    assert (store.home / ".gitignore").read_text() == "*\n"
    assert folder.root.stat().st_mode & 0o777 == 0o700
    assert folder.journal.stat().st_mode & 0o777 == 0o600
    assert folder.id == "a"
    assert folder.definition.name == "definition"


def test_opening_names_the_latest(store: RunStore) -> None:
    with pytest.raises(RunNotFoundError, match="none yet"):
        store.open("x")
    for name in ("a", "b"):
        made(store, name)
    store.create("unfinished")
    with pytest.raises(RunNotFoundError, match=r"the latest are: (a, b|b, a)"):
        store.open("x")
    assert {folder.id for folder in store.all()} == {"a", "b", "unfinished"}
    assert {folder.id for folder in store.latest(5)} == {"a", "b"}
    assert len(store.latest(1)) == 1


def test_one_owner_at_a_time(store: RunStore) -> None:
    folder = made(store, "a")
    assert not folder.alive()
    assert folder.owner() is None
    lock = folder.lock()
    assert folder.alive()
    with pytest.raises(RunBusyError, match=f"process {os.getpid()} on {socket.gethostname()}"):
        folder.lock()
    (folder.root / "lock").write_text("{")
    assert folder.owner() == "another process"
    lock.release()
    assert not folder.alive()
    folder.lock().release()
    assert json.loads((folder.root / "lock").read_text())["pid"] == os.getpid()


def test_the_lock_of_a_killed_owner_is_free(store: RunStore) -> None:
    folder = made(store, "a")
    code = (
        f"import sys, pathlib; sys.path.insert(0, {str(Path(store_module.__file__).parents[2])!r});"
        "from bakeoff.engine.store import RunFolder;"
        f"RunFolder(pathlib.Path({str(folder.root)!r})).lock(); print('held', flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"held\n"
    assert folder.alive()
    owner.kill()
    owner.communicate()
    assert not folder.alive()
    folder.lock().release()


def test_a_run_whose_owner_is_gone_stands_as_paused(store: RunStore) -> None:
    folder = made(store, "a")
    history = History(folder.root, status=RunStatus.RUNNING)
    status, error = folder.standing(history)
    assert status is RunStatus.PAUSED
    assert "bakeoff resume a" in str(error)
    lock = folder.lock()
    assert folder.standing(history) == (RunStatus.RUNNING, None)
    lock.release()
    assert folder.standing(History(folder.root, status=RunStatus.FAILED, error="x")) == (RunStatus.FAILED, "x")


def test_delete(store: RunStore) -> None:
    folder = made(store, "a")
    folder.delete()
    assert not folder.root.exists()
    assert list(store.all()) == []


def test_the_project_is_the_nearest_folder_with_runs(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project(inner) == inner
    RunStore(tmp_path).create("x")
    assert find_project(inner) == tmp_path
