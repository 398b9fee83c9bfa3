"""Run folders: ids, locks, who owns a run, which are the latest."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from bakeoff.engine import store as store_module
from bakeoff.engine.control import is_answered
from bakeoff.engine.history import History
from bakeoff.engine.journal import LONGEST_PATH, create
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder, RunStore, by_age, find_project
from bakeoff.errors import BakeoffError, JournalError, RunBusyError, RunNotFoundError
from bakeoff.settings import load_settings
from bakeoff.system import ownership
from bakeoff.system.ownership import OwnerError


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


def test_what_is_dated_in_the_future_is_not_the_latest_for_ever() -> None:
    later = time.time() + 100
    assert sorted([later, 0.0, later - 200], key=by_age) == [later, 0.0, later - 200]


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
    status, error = folder.status_and_error(history)
    assert status is RunStatus.PAUSED
    assert str(error) == "interrupted: the process that ran it is gone"
    lock = folder.lock()
    assert folder.status_and_error(history) == (RunStatus.RUNNING, None)
    lock.release()
    assert folder.status_and_error(History(folder.root, status=RunStatus.FAILED, error="x")) == (RunStatus.FAILED, "x")


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


def test_a_run_whose_lock_was_removed_is_busy_as_long_as_it_answers(store: RunStore) -> None:
    folder = made(store, "a")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(folder.root / "control"))
        assert not is_answered(folder.root)
        assert not folder.alive()
        listener.listen(1)
        assert folder.alive()
        with pytest.raises(RunBusyError, match="though its lock was removed"):
            folder.lock()
        assert folder.alive()
        assert folder.owner() == "another process"
        for _ in range(4):  # so many that nobody else is let in
            assert folder.alive()
    assert not folder.alive()
    folder.lock().release()


def test_a_lock_that_is_replaced_while_it_is_taken_is_taken_again(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(store, "a")
    path, taken = folder.root / "lock", []

    def replaced(descriptor: int, how: int) -> None:
        taken.append(descriptor)
        if len(taken) == 1:
            path.unlink()
        if len(taken) == 2:
            path.unlink()
            path.touch()

    monkeypatch.setattr(store_module.fcntl, "flock", replaced)
    lock = folder.lock()
    assert len(taken) == 3
    assert os.fstat(lock.descriptor).st_ino == path.stat().st_ino
    lock.release()


@pytest.mark.parametrize("what", ["fifo", "folder", "link"])
def test_what_is_no_lock_is_not_waited_for_nor_followed(store: RunStore, tmp_path: Path, what: str) -> None:
    folder = made(store, "a")
    lock = folder.root / "lock"
    {"fifo": lambda: os.mkfifo(lock), "folder": lock.mkdir, "link": lambda: lock.symlink_to(tmp_path / "x")}[what]()
    assert not folder.alive()
    with pytest.raises(BakeoffError, match="cannot be written"):
        folder.lock()
    assert not (tmp_path / "x").exists()


def test_a_link_is_no_run(store: RunStore, tmp_path: Path) -> None:
    made(store, "a")
    (tmp_path / "far").mkdir()
    create(tmp_path / "far" / "journal.db")
    link = store.runs / "b"
    link.symlink_to(tmp_path / "far")
    with pytest.raises(JournalError, match="symbolic link, not a run"):
        store.open("b")
    with pytest.raises(BakeoffError, match="symbolic link"):
        RunFolder(link).lock()
    assert not (tmp_path / "far" / "lock").exists()
    assert {folder.id for folder in store.all()} == {"a", "b"}


@pytest.mark.parametrize("part", ["journal.db", "journal.db-wal"])
@pytest.mark.parametrize("what", ["fifo", "folder", "link"])
def test_what_is_no_journal_is_said(store: RunStore, tmp_path: Path, part: str, what: str) -> None:
    folder = made(store, "a")
    path = folder.root / part
    path.unlink(missing_ok=True)
    {"fifo": lambda: os.mkfifo(path), "folder": path.mkdir, "link": lambda: path.symlink_to(tmp_path / "x")}[what]()
    assert store.open("a").begun()
    with pytest.raises(JournalError, match=f"{part} is not a regular file"):
        folder.history()


@pytest.mark.parametrize("path", [".bakeoff", ".bakeoff/runs"])
@pytest.mark.parametrize("what", ["file", "dangling"])
def test_a_home_that_cannot_be_is_not_called_a_run(store: RunStore, tmp_path: Path, path: str, what: str) -> None:
    place = tmp_path / path
    place.parent.mkdir(exist_ok=True)
    if what == "file":
        place.touch()
    else:
        place.symlink_to(tmp_path / "nowhere")
    words = "is not a folder" if what == "file" else "leads nowhere"
    with pytest.raises(BakeoffError, match=f"{place} .*{words}"):
        store.create("a")
    assert list(store.all()) == []


def test_a_path_too_long_for_a_journal_is_said_before_anything_is_made(tmp_path: Path) -> None:
    room = LONGEST_PATH - len(str(tmp_path)) - len("/.bakeoff/runs/a/journal.db") - 1
    project = tmp_path
    while room > 200:
        project /= "x" * 199
        room -= 200
    project /= "x" * room
    project.mkdir(parents=True)
    store = RunStore(project)
    with pytest.raises(BakeoffError, match="shorter path"):
        store.create("ab")
    assert not store.home.exists()
    folder = made(store, "a")
    assert len(str(folder.journal)) == LONGEST_PATH
    from bakeoff.engine.salvage import rebuild

    assert rebuild(folder.journal) is None
    long = project / "y"
    long.mkdir()
    create_at = long / "journal.db"
    (project / ".bakeoff" / "runs" / "a" / "journal.db").rename(create_at)
    if len(str(create_at)) > LONGEST_PATH:
        with pytest.raises(JournalError, match="its path has"):
            RunFolder(long).history()


AS_NOBODY = """
import os, sys
sys.path[:0] = {paths!r}
from bakeoff.engine.store import RunStore
from bakeoff.report.overview import overviews
from pathlib import Path
os.setgid(65534)
os.setuid(65534)
for run in overviews(RunStore(Path({project!r}))):
    print(run.folder.id, run.status, run.error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_runs_of_another_user_do_not_hide_ones_own(store: RunStore, tmp_path: Path) -> None:
    for name in ("mine", "folder", "file"):
        made(store, name)
    for path in (tmp_path, *tmp_path.parents):
        if not path.stat().st_mode & 0o001:
            path.chmod(0o711)
    for path in (store.home, store.runs, *(store.runs / "mine").rglob("*"), store.runs / "mine"):
        os.chown(path, 65534, 65534)
    (store.runs / "file").chmod(0o755)
    source = str(Path(store_module.__file__).parents[2])
    code = AS_NOBODY.format(paths=[source, *sys.path], project=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "cannot be read" not in said["mine"]
    assert "belongs to root" in said["folder"]
    assert "belongs to root" in said["file"]


def test_the_search_for_a_project_ends_at_the_work_tree_and_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunStore(tmp_path).create("x")
    inner = tmp_path / "repository" / "folder"
    inner.mkdir(parents=True)
    assert find_project(inner) == tmp_path
    monkeypatch.setenv("HOME", str(inner.parent))
    assert find_project(inner) == inner
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    (inner.parent / ".git").mkdir()
    assert find_project(inner) == inner


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> int:
    """The tests' files seem to be another's: who they belong to cannot be changed without being root."""
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.delenv("SUDO_UID", raising=False)
    return owner


def test_what_another_user_owns_is_not_obeyed(tmp_path: Path, stranger: int) -> None:
    RunStore(tmp_path / "none yet")
    (tmp_path / ".bakeoff").mkdir()
    with pytest.raises(OwnerError, match=rf"\.bakeoff belongs to .*uid {stranger}"):
        RunStore(tmp_path)
    (tmp_path / "bakeoff.toml").write_text("max_parallel = 2")
    with pytest.raises(OwnerError, match=r"bakeoff\.toml belongs to"):
        load_settings(tmp_path)


def test_a_folder_may_be_trusted_whoever_owns_it(
    tmp_path: Path, stranger: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAKEOFF_SAFE_DIRECTORY", f"/nowhere:{tmp_path}")
    (tmp_path / ".bakeoff").mkdir()
    RunStore(tmp_path)


def test_what_git_takes_for_safe_is_trusted(tmp_path: Path, stranger: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".bakeoff").mkdir()
    settings = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    settings.write_text(f"[safe]\n\tdirectory = /nowhere\n\tdirectory = {tmp_path}\n")
    RunStore(tmp_path)
    settings.write_text(settings.read_text() + "\tdirectory =\n\tdirectory = /nowhere\n")  # all before are taken back
    with pytest.raises(OwnerError):
        RunStore(tmp_path)


def test_root_obeys_the_user_who_called_it_by_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership.os, "lstat", lambda _: SimpleNamespace(st_uid=4711))
    monkeypatch.setattr(ownership.os, "stat", lambda _: SimpleNamespace(st_uid=4711))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", "4711")
    ownership.check_owner(tmp_path)
    monkeypatch.setenv("SUDO_UID", "4712")
    with pytest.raises(OwnerError):
        ownership.check_owner(tmp_path)


def test_looking_whether_a_run_is_owned_keeps_nobody_from_it(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = store.create("r")
    folder.lock().release()
    with open(folder.root / "lock") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        monkeypatch.setattr(store_module.time, "sleep", lambda _: fcntl.flock(other, fcntl.LOCK_UN))
        folder.lock().release()
        fcntl.flock(other, fcntl.LOCK_SH)
        monkeypatch.setattr(store_module.time, "sleep", lambda _: None)
        with pytest.raises(RunBusyError):
            folder.lock()
