"""Random trees that an attempt may leave: whatever stands where, a look at them ends, and they can be removed."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from random import Random

import pytest

from bakeoff.system.folders import remove_tree
from bakeoff.workspace.repository.repository import disk_bytes
from bakeoff.workspace.results.changes import read_upper
from bakeoff.workspace.results.salvage import _inside
from bakeoff.workspace.results.scan import Written, scan

NAMES = [
    b"a", b".git", b".GIT", b"git~1", b"\xff\xfe", b"\n", b" ", b"-", b"--", b"a:b", b"n" * 255, b"\xe2\x80\xae", b"\\",
    b".gitignore", b".gitattributes", b".gitmodules", b"HEAD", b"objects", b"refs", b"ab", b"pack", b"index", b"con",
    b"pack-" + b"a" * 40 + b".pack", b"c" * 38, b"logs", b"worktrees", b"packed-refs", b"upper.1", b"slot.json",
]  # fmt: skip


def make_tree(random: Random, top: bytes, count: int) -> None:
    """Put `count` things of any kind somewhere below `top`."""
    folders = [os.open(top, os.O_RDONLY | os.O_DIRECTORY)]
    try:
        for _ in range(count):
            at, name = random.choice(folders[-20:]), random.choice(NAMES)
            try:
                _put(random, at, name, folders)
            except OSError:  # it is there
                continue
    finally:
        for descriptor in folders:
            os.close(descriptor)


def _put(random: Random, at: int, name: bytes, folders: list[int]) -> None:
    match random.randrange(9):
        case 0 | 1 | 2 | 3:
            os.mkdir(name, dir_fd=at)
            folders.append(os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at))
        case 4:
            os.mkfifo(name, dir_fd=at)
        case 5:
            os.symlink(
                random.choice([b"/dev/zero", b"..", b".", b"/proc/self/root", name, b"x" * 4000]), name, dir_fd=at
            )
        case 6:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=at)
            os.truncate(descriptor, random.choice([0, 1, 1 << 40]))
            os.close(descriptor)
        case 7:
            with socket.socket(socket.AF_UNIX) as link:
                link.bind(b"/proc/self/fd/%d/%s" % (at, name[:20]))
        case 8:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=at)
            os.write(descriptor, random.randbytes(random.randrange(2000)))
            os.close(descriptor)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_stands_where_a_look_ends_and_all_can_be_removed(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    top = tmp_path / "top"
    top.mkdir()
    make_tree(random, os.fsencode(top), 300)
    upper = read_upper(top, tmp_path)
    found = scan(top, Written({}, frozenset()), frozenset())
    assert found.files.keys() == upper.files.keys()
    assert sorted(found.refused, key=str) == sorted(upper.refused, key=str)
    assert found.folders == upper.folders
    assert disk_bytes(top) >= 0
    for place in (top, top / ".git"):
        named, objects = _inside(place)
        assert all(
            os.lstat(os.path.join(os.fsencode(place), path)) for path in [*named, *(path for path, _ in objects)]
        )
    remove_tree(top)
    assert list(tmp_path.iterdir()) == []
