"""What the larger tests do not reach: odd inputs, damage, and what other processes do meanwhile."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from bakeoff.errors import BakeoffError
from bakeoff.system.named_files import kind_of, read_exactly, write_whole
from bakeoff.workspace.errors import GitError, SlotError, WorkspaceError
from bakeoff.workspace.files import RefusedError, open_regular, read_link, read_small, write_regular
from bakeoff.workspace.landing.applying import apply, open_project
from bakeoff.workspace.landing.merging import merge_trees
from bakeoff.workspace.repository import git, locks
from bakeoff.workspace.repository.cache import ProjectCache, cache_root, data_root, projects
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import disk_bytes, ref_name, ref_part
from bakeoff.workspace.results.changes import Changes, read_upper
from bakeoff.workspace.results.results import _stream, quoted
from bakeoff.workspace.results.scan import read_index, scan
from bakeoff.workspace.slots.deleting import Deleter, delete_later
from bakeoff.workspace.slots.layers import layer
from bakeoff.workspace.slots.mount_holder import dumps, loads
from bakeoff.workspace.slots.mounts import ROOT, START
from bakeoff.workspace.slots.slot import SlotMaker
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import ignore_rules, take_snapshot
from bakeoff.workspace.workspace import open_workspace
from deep import make_deep
from ending import wait_until_ended
from workspace.conftest import Checkout, settings, sh, until


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch):
    def make(body: str) -> Git:
        folder = tmp_path / "fake"
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\n{body}\n")
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
        return Git()

    return make


def test_what_git_says_is_in_the_error(fake_git) -> None:
    with pytest.raises(GitError, match=r"git status -s failed \(status 3\): no luck") as raised:
        fake_git("echo no luck >&2; exit 3").run("status", "-s")
    assert raised.value.status == 3
    with pytest.raises(GitError, match="it said nothing"):
        fake_git("exit 1").run("status")
    assert fake_git("exit 0").run("status", data=b"x" * 10) == b""
    assert fake_git("exec 0<&-; exit 0").run("status", data=b"x" * 1_000_000) == b""
    assert fake_git("cat").run("status", data=b"x" * 1_000_000) == b"x" * 1_000_000


def test_a_git_that_hangs_is_killed(fake_git, monkeypatch) -> None:
    monkeypatch.setattr(git, "PATIENCE", 0.1)
    with pytest.raises(GitError, match="did not end within"):
        fake_git("exec sleep 600").run("status")


def test_a_git_that_is_gone_or_strange(tmp_path: Path, monkeypatch, fake_git) -> None:
    fake_git("echo not git")
    with pytest.raises(GitError, match="not git is too old"):
        git.check_git()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="not found on PATH"):
        Git().run("status")


def test_git_sees_none_of_gits_variables(monkeypatch, fake_git) -> None:
    monkeypatch.setenv("GIT_DIR", "/evil")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    found = fake_git("env").run("x").decode()
    assert "evil" not in found
    assert "GIT_CONFIG_COUNT" not in found
    assert {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"} <= set(found.splitlines())
    lent = Git(alternates=(Path("/a"), Path('/with:colon"'))).environment()
    assert lent["GIT_ALTERNATE_OBJECT_DIRECTORIES"] == '/a:"/with:colon\\""'


def test_names_of_refs() -> None:
    assert ref_name("run-1", "attempt-3") == "refs/bakeoff/run-1/attempt-3"
    assert ref_part("fan:it:3").startswith("fan-it-3-")
    assert ref_part("fan:it:3") != ref_part("fan-it:3")
    assert ref_name("salvage", "x") != "refs/bakeoff/salvage/x"
    assert ref_part("..").startswith("x-")
    assert quoted(b'a"\n\xff\\') == b'"a\\042\\012\\377\\134"'
    assert ignore_rules(["a b*[x]", "!#"]) == b"/a\\ b\\*\\[x]\n/\\!\\#\n"


def test_files_are_opened_with_care(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir/file").write_text("text")
    (tmp_path / "link").symlink_to("dir")
    os.mkfifo(tmp_path / "pipe")
    assert read_small(tmp_path, b"dir/file") == b"text"
    for path in (b"link/file", b"pipe", b"dir", b"no/file", b"no"):
        assert read_small(tmp_path, path) is None
    with pytest.raises(RefusedError, match="its folder cannot be opened"), open_regular(tmp_path, b"link/file"):
        pass
    with pytest.raises(FileNotFoundError), open_regular(tmp_path, b"no/file"):
        pass
    with pytest.raises(RefusedError, match="cannot be read"), open_regular(tmp_path, b"link"):
        pass
    with pytest.raises(RefusedError, match="4 bytes, more than 3"), open_regular(tmp_path, b"dir/file", 3):
        pass
    with pytest.raises(RefusedError, match="no link any more"):
        read_link(tmp_path, b"pipe")
    with open_regular(tmp_path, b"dir/file") as (descriptor, _):
        assert read_exactly(descriptor, 100) == b"text"
        with pytest.raises(GitError, match="shrank"):
            _stream(descriptor, 100, io.BytesIO())
    assert kind_of(stat.S_IFBLK) == "a block device"
    assert kind_of(0) == "no regular file"


def test_an_index_of_another_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "index"
    for data in (b"", b"DIRC" + struct.pack(">II", 5, 0), b"NOPE" + struct.pack(">II", 2, 0)):
        file.write_bytes(data)
        with pytest.raises(WorkspaceError, match="no git index of version 2, 3 or 4"):
            read_index(file, 20)


def test_folders_that_cannot_be_looked_into_are_named(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut/inner").write_text("x")
    opened = os.open

    def refuse(path, *args: object, **more: object) -> int:
        if path == b"shut":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        changes = read_upper(tmp_path, tmp_path)
    assert [(refused.path, refused.reason) for refused in changes.refused] == [
        ("shut", "it cannot be looked into: Permission denied")
    ]
    assert not changes.same(Changes(tmp_path, tmp_path))
    assert changes.same(changes)

    from bakeoff.workspace.results.scan import Written

    noted = Written({b"shut/inner": (0, 0, 0, 0, 0, 0o100644, 0)}, frozenset({b"shut"}))
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        changes = scan(tmp_path, noted, frozenset())
    assert changes.gone == set()
    assert len(changes.refused) == 1


@pytest.mark.anyio
async def test_a_checkout_that_cannot_be_looked_into_is_replaced(project: Checkout, monkeypatch) -> None:
    from bakeoff.workspace.slots import checkout as module

    async with open_workspace(project.root, settings(kind="repository"), "run", slots=1) as workspace:
        with monkeypatch.context() as patched:
            look = module.scan

            def blind(tree: Path, *args):
                changes = look(tree, *args)
                changes.refuse(b"src", "it cannot be looked into: Permission denied")
                return changes

            async with workspace.lease() as slot:
                patched.setattr(module, "scan", blind)
        assert "cannot be looked into" in workspace.warnings[0]
        async with workspace.lease() as other:
            assert other.id != slot.id


def test_locks(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(FileNotFoundError):
        locks.try_lock(tmp_path / "no/x.lock")
    assert locks.try_lock(tmp_path / "x.lock", create=False) is None
    assert not locks.is_held(tmp_path / "x.lock")
    held = locks.try_lock(tmp_path / "x.lock")
    assert held is not None
    held.write({"run": "r"})
    assert locks.facts(tmp_path / "x.lock")["run"] == "r"
    assert locks.try_lock(tmp_path / "x.lock") is None
    assert locks.is_held(tmp_path / "x.lock")
    held.release()
    held.release()
    (tmp_path / "x.lock").write_text("[]")
    assert locks.facts(tmp_path / "x.lock") == {}
    assert locks.facts(tmp_path / "nothing") == {}

    # A sweep deletes the lock's file between its opening and its locking, once.
    flock, calls = fcntl.flock, []

    def swept(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        calls.append(how)
        if len(calls) == 1:
            (tmp_path / "y.lock").unlink()

    monkeypatch.setattr(locks.fcntl, "flock", swept)
    lock = locks.try_lock(tmp_path / "y.lock")
    assert lock is not None
    assert len(calls) == 2
    lock.remove()
    assert not (tmp_path / "y.lock").exists()


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    script = f"""
import fcntl, os, sys
held = os.open({str(tmp_path / "x.lock")!r}, os.O_RDWR | os.O_CREAT)
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1) as other:
        other.stdout.readline()
        assert locks.is_held(tmp_path / "x.lock")
        other.stdin.close()
        locks.wait_for_lock(tmp_path / "x.lock").release()


def test_the_cache_is_where_the_user_wants_it(tmp_path: Path, monkeypatch, home: Path) -> None:
    assert cache_root() == tmp_path / "cache/bakeoff"
    assert list(projects()) == []
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert cache_root() == home / ".cache/bakeoff"
    assert data_root() == home / ".local/share/bakeoff"
    cache = ProjectCache.of(tmp_path / "some.git")
    assert cache.repository.is_relative_to(data_root())
    assert cache.root.name.startswith("some-git-")
    assert stat.S_IMODE(cache.slots.stat().st_mode) == 0o700
    assert cache.bury(cache.root / "nothing") is None


def test_what_is_buried_is_deleted_by_another_process(tmp_path: Path) -> None:
    place = tmp_path / ".dead.x"
    (place / "closed/in").mkdir(parents=True)
    (place / "closed/in/file").write_text("x")
    (place / "link").symlink_to(tmp_path)
    (place / "closed").chmod(0)
    make_deep(place, 3000)
    delete_later([place])
    until(lambda: not place.exists())
    delete_later([])
    assert tmp_path.exists()


def test_sizes_count_a_file_with_two_names_once(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    before = disk_bytes(tmp_path)
    (tmp_path / "d/a").write_bytes(bytes(1 << 16))
    os.link(tmp_path / "d/a", tmp_path / "d/b")
    assert disk_bytes(tmp_path) - before == 1 << 16
    assert disk_bytes(tmp_path / "nothing") == 0
    (tmp_path / "e").mkdir()
    assert disk_bytes(tmp_path, 1) < disk_bytes(tmp_path)


def test_a_layer_that_cannot_be_filled_leaves_nothing(project: Checkout) -> None:
    cache = ProjectCache.of(find_project(project.root).common_dir)

    def fail(folder: Path) -> list[str]:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        layer(cache, "digest", fail)
    assert [path for path in cache.layers.iterdir() if path.is_dir()] == []


def test_a_checkout_that_cannot_be_made_leaves_nothing(project: Checkout, monkeypatch) -> None:
    from bakeoff.workspace.slots.base import Base, materialise

    here, repository = open_project(project.root)
    cache = ProjectCache.of(here.common_dir)
    base = Base(here, repository, take_snapshot(here, repository), b"")

    def fail(*args: object) -> None:
        raise GitError("full")

    monkeypatch.setattr(Base, "checkout", fail)
    with pytest.raises(GitError, match="full"):
        materialise(cache, base)
    assert [path for path in cache.trees.iterdir() if path.is_dir()] == []


def test_linking_tries_again_while_the_users_gc_is_at_work(project: Checkout, monkeypatch) -> None:
    from bakeoff.workspace.repository import repository as module

    here, found = open_project(project.root)
    link, calls = os.link, []

    def vanishing(source: Path, target: Path) -> None:
        calls.append(source)
        if len(calls) == 1:
            raise FileNotFoundError(source)
        link(source, target)

    monkeypatch.setattr(module.os, "link", vanishing)
    assert found.link(here)

    def denied(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    project.commit()
    monkeypatch.setattr(module.os, "link", denied)
    assert not found.link(here)

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "link", full)
    with pytest.raises(OSError, match="No space"):
        found.link(here)


def test_merging_takes_the_side_that_changed(project: Checkout) -> None:
    _, repository = open_project(project.root)
    assert merge_trees(repository, "base", "base", "theirs", "x") == "theirs"
    assert merge_trees(repository, "base", "ours", "base", "x") == "ours"


def test_a_slot_that_cannot_be_locked(project: Checkout, monkeypatch) -> None:
    monkeypatch.setattr("bakeoff.workspace.slots.slot.try_lock", lambda path: None)
    maker = SlotMaker.__new__(SlotMaker)
    maker.made = type("Made", (), {"cache": ProjectCache.of(find_project(project.root).common_dir)})()
    with pytest.raises(SlotError, match="no slot can be locked"):
        maker.make()


@pytest.mark.anyio
async def test_a_slot_half_made_leaves_nothing(project: Checkout, monkeypatch) -> None:
    from bakeoff.workspace.slots.overlay import OverlayPlace

    def fail(self: OverlayPlace) -> None:
        raise SlotError("the kernel says no")

    async with open_workspace(project.root, settings(), "run", slots=2) as workspace:
        with monkeypatch.context() as patched:
            patched.setattr(OverlayPlace, "_mount", fail)
            with pytest.raises(SlotError, match="no slot can be made: the kernel says no"):
                async with workspace.lease():
                    pass
        assert list(workspace.cache.slots.iterdir()) == []
        assert [text.split(":")[0] for text in workspace.warnings] == [
            "a slot could not be made, 1 left", "a slot could not be made, 0 left",
        ]  # fmt: skip


@pytest.mark.anyio
async def test_large_files_and_a_file_for_a_submodule(project: Checkout) -> None:
    async with open_workspace(project.root, settings(), "run") as workspace, workspace.lease() as slot:
        sh(slot, "head -c 3000000 /dev/zero > zeros; touch t; ln -s t l2")
        result = await slot.commit("n")
        assert workspace.repository.git().run("cat-file", "-s", f"{result.commit}:zeros").strip() == b"3000000"
    here, repository = open_project(project.root)
    apply(here, repository, result.commit)
    assert (project.root / "zeros").stat().st_size == 3000000


def test_the_same_as_nobody(nobodys: Path) -> None:
    """Slots of all kinds and unreadable files, by a user without any privilege."""
    python = Path("/usr/bin/python3")
    tests = Path(__file__).parent
    if os.geteuid() != 0 or not python.exists():
        pytest.skip("needs root to become somebody else, and a Python that everybody may run")
    packages = next((Path(entry) for entry in sys.path if entry.endswith("site-packages")), Path())
    version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
    if version.stdout.split() != [str(part) for part in sys.version_info[:2]]:
        pytest.skip("the system's Python is another version")
    asked = "all_tracked or unreadable or finds_the_project or as_new_for_the_next or own_path"
    done = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            python,
            "-m",
            "pytest",
            "-q",
            "-k",
            asked,
            "-p",
            "no:cacheprovider",
            f"--basetemp={nobodys}/t",
            "test_snapshot.py",
            "test_slots.py",
        ],
        cwd=tests,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(nobodys),
            "PYTHONPATH": f"{tests.parents[1] / 'src'}:{tests.parent}:{packages}",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " skipped" not in done.stdout
    assert done.stdout.splitlines()[0].count(".") >= 8  # two more are for the soak


def test_a_holder_whose_coordinator_is_killed_ends_without_a_word(tmp_path: Path) -> None:
    """It may be about to answer when its coordinator dies: then nobody reads what it writes."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", START, ROOT], stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    assert loads(os.read(reading, 100)) == {}
    os.close(reading)
    out, err = process.communicate(dumps({"do": "stop", "pid": 0}) * 2, timeout=20)
    assert (out, err, process.returncode) == (None, b"", 0)


def deleters(deleter: Deleter) -> list[int]:
    """Processes that read what this deleter says."""
    pipe = os.fstat(deleter._pipe)
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and os.path.samestat(os.stat(entry / "fd/0"), pipe):
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="processes are found as Linux shows them")
def test_one_process_deletes_all_and_ends_with_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / f".dead.{number}" for number in range(40)]
    for place in places:
        (place / "in").mkdir(parents=True)
    deleter = Deleter()
    askers = [threading.Thread(target=deleter.delete, args=(places[number::4],)) for number in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    (pid,) = deleters(deleter)
    until(lambda: not any(place.exists() for place in places))
    assert os.getsid(pid) == pid  # no signal that ends a user's command comes to it
    deleter.delete([])
    assert deleters(deleter) == [pid]
    (tmp_path / "last").mkdir()
    monkeypatch.chdir(tmp_path)
    deleter.delete([Path("last")])
    deleter.close()
    wait_until_ended(pid)
    assert not (tmp_path / "last").exists()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="processes are found as Linux shows them")
def test_another_process_deletes_when_the_first_is_gone_or_has_too_much_to_do(tmp_path: Path) -> None:
    deleter = Deleter()
    deleter.delete([tmp_path / "nothing"])
    (first,) = deleters(deleter)
    os.kill(first, signal.SIGKILL)
    wait_until_ended(first)
    (tmp_path / "one").mkdir()
    deleter.delete([tmp_path / "one"])
    until(lambda: not (tmp_path / "one").exists())

    (second,) = deleters(deleter)
    os.kill(second, signal.SIGSTOP)
    fcntl.fcntl(deleter._pipe, fcntl.F_SETPIPE_SZ, 4096)
    (tmp_path / "two").mkdir()
    deleter.delete([*[tmp_path / ("x" * 200)] * 40, tmp_path / "two"])
    until(lambda: not (tmp_path / "two").exists())
    os.kill(second, signal.SIGCONT)
    wait_until_ended(second)
    deleter.close()


def test_a_file_below_a_folder_is_written_whole_and_through_no_link(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
    write_regular(root, b"a/b/c", b"one")
    (root / "a/b/c").chmod(0o750)
    write_regular(root, b"a/b/c", b"two")
    assert (root / "a/b/c").read_bytes() == b"two"
    assert stat.S_IMODE((root / "a/b/c").stat().st_mode) == 0o750
    assert [file.name for file in (root / "a/b").iterdir()] == ["c"]
    (other / "file").write_text("theirs")
    (root / "folder").symlink_to(other)
    (root / "link").symlink_to(other / "file")
    os.mkfifo(root / "pipe")
    for path in (b"folder/file", b"folder/new/file", b"link", b"pipe", b"a", b"a/b/c/d"):
        with pytest.raises(RefusedError):
            write_regular(root, path, b"x")
    assert [(file.name, file.read_text()) for file in other.iterdir()] == [("file", "theirs")]


def test_a_file_seen_through_another_process_is_not_written(tmp_path: Path) -> None:
    me = os.getpid()
    for way in (f"{me}/root", f"{me}/cwd", f"{me}/task/{me}/root", f"1/../{me}/root"):
        place = Path(f"/proc/{way}{tmp_path}/file")
        with pytest.raises(BakeoffError, match="seen through another process"):
            write_whole(place, b"x")
    assert write_whole(tmp_path / "file", b"x") == 1
    assert [file.name for file in tmp_path.glob("*file*")] == ["file"]
