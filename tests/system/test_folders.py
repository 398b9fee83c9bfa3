"""Folders of any depth: looked through and removed, no link followed, whatever moves meanwhile."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.system.folders import LONGEST, remove_tree, walk
from bakeoff.system.temporary import scratch_folder
from deep import make_deep

DEEP = [(5000, "d"), (60, "n" * 255)]


def test_all_that_is_there_is_walked_and_no_link_is_followed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for path in ("a/b/c", "a/e", "f"):
        (top / path).mkdir(parents=True)
    (top / "a/b/file").write_text("x")
    (top / "f/link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    found = {folder.path: {name: stat.S_IFMT(status.st_mode) for name, status in folder.entries} for folder in walk(top)
             if list(folder.entries)}  # fmt: skip
    assert found == {
        b"": {b"a": stat.S_IFDIR, b"f": stat.S_IFDIR},
        b"a": {b"b": stat.S_IFDIR, b"e": stat.S_IFDIR},
        b"a/b": {b"c": stat.S_IFDIR, b"file": stat.S_IFREG},
        b"f": {b"link": stat.S_IFLNK},
    }


def test_what_is_taken_out_is_not_walked(tmp_path: Path) -> None:
    for path in ("a/b", "c/d"):
        (tmp_path / path).mkdir(parents=True)
    seen = []
    for folder in walk(tmp_path):
        seen.append(folder.path)
        folder.inner = [name for name in folder.inner if name != b"a"]
    assert seen == [b"", b"c", b"c/d"]


@pytest.mark.parametrize(("depth", "name"), DEEP)
def test_deep_folders_are_walked_as_far_as_paths_go_and_removed(tmp_path: Path, depth: int, name: str) -> None:
    top = tmp_path / "top"
    top.mkdir()
    make_deep(top, depth, name)
    *inside, last = list(walk(top))
    assert all(folder.failure is None for folder in inside)
    assert len(inside[-1].path) <= LONGEST < len(last.path)
    assert last.failure is not None
    assert (last.failure.errno, str(LONGEST) in last.failure.strerror) == (errno.ENAMETOOLONG, True)
    remove_tree(top)
    assert not top.exists()


def test_of_what_has_too_many_entries_that_alone_is_not_looked_into(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("bakeoff.system.folders.MOST", 5)
    for number in range(7):
        (tmp_path / "many" / str(number)).mkdir(parents=True)
    (tmp_path / "few/in").mkdir(parents=True)
    assert {folder.path: folder.failure is None for folder in walk(tmp_path)} == {
        b"": True, b"few": True, b"few/in": True, b"many": False,
    }  # fmt: skip
    with pytest.raises(OSError, match="more than 5 entries"):
        list(walk(tmp_path / "many"))


def test_what_moves_away_meanwhile_is_an_error(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a/b").mkdir(parents=True)
    (tmp_path / "else").mkdir()
    walking = walk(top)
    while next(walking).path != b"a/b":
        pass
    (top / "a/b").rename(tmp_path / "else/b")
    with pytest.raises(OSError, match="moved"):
        next(walking)


def test_what_is_gone_or_replaced_meanwhile_is_not_entered(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    failures = []
    for folder in walk(tmp_path):
        if not folder.path:
            (tmp_path / "a").rmdir()
            (tmp_path / "a").symlink_to("/etc")
            (tmp_path / "b").rmdir()
        failures.append(folder.failure and folder.failure.errno)
    assert sorted(filter(None, failures)) == sorted([errno.ENOTDIR, errno.ENOENT])


def test_what_cannot_be_removed_is_said_and_all_else_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "top"
    for path in ("a/b", "c"):
        (top / path).mkdir(parents=True)
        (top / path / "file").touch()
    unlink = os.unlink

    def refuse(name: bytes, **more: int) -> None:
        if os.fstat(more["dir_fd"]).st_ino == (top / "a/b").stat().st_ino:
            raise PermissionError(errno.EPERM, "no")
        unlink(name, **more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refuse)
        remove_tree(top, ignore_errors=True)
        with pytest.raises(PermissionError) as failure:
            remove_tree(top)
    assert failure.value.filename == str(top)
    assert [path.name for path in top.rglob("*")] == ["a", "b", "file"]
    remove_tree(top)
    remove_tree(top, ignore_errors=True)
    with pytest.raises(FileNotFoundError):
        remove_tree(top)


AS_NOBODY = """
import os, sys
sys.path[:0] = sys.argv[2:]
from bakeoff.system.folders import remove_tree, walk
os.setgroups([]); os.setgid(65534); os.setuid(65534)
top = sys.argv[1]
for path in ("shut/in", "listed/in", "open/in"): os.makedirs(f"{top}/{path}")
os.chmod(f"{top}/shut", 0); os.chmod(f"{top}/listed", 0o400)
print(sorted((folder.path.decode(), folder.failure is None) for folder in walk(top)))
remove_tree(f"{top}/shut"); remove_tree(f"{top}/listed"); print(sorted(os.listdir(top)))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_closed_folders_are_said_and_can_be_removed_by_their_owner(tmp_path: Path) -> None:
    top = Path(f"/tmp/closed-{tmp_path.name}-{os.getpid()}")
    top.mkdir()
    os.chown(top, 65534, 65534)
    try:
        argv = [sys.executable, "-I", "-c", AS_NOBODY, str(top), str(Path(__file__).parents[2] / "src")]
        done = subprocess.run(argv, capture_output=True, text=True, cwd="/")
        walked = [("", True), ("listed", False), ("open", True), ("open/in", True), ("shut", False)]
        assert done.stdout == f"{walked}\n['open']\n", done.stderr
    finally:
        remove_tree(top)


def test_a_scratch_folder_goes_whatever_is_in_it(tmp_path: Path) -> None:
    with scratch_folder("x-", tmp_path) as folder:
        make_deep(Path(folder), 2000)
    with scratch_folder("x-", tmp_path) as folder:
        os.rmdir(folder)
    assert list(tmp_path.iterdir()) == []
