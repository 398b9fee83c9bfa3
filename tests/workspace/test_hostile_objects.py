"""Commits that agents made are taken out of repositories in which anything may stand in the place of anything."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.results import salvage
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.results.salvage import salvage_commits
from bakeoff.workspace.results.sparse_checkout import spare_narrowed
from bakeoff.workspace.workspace import Workspace, open_workspace
from deep import make_deep
from workspace.conftest import Checkout, settings, sh

pytestmark = pytest.mark.anyio

COMMIT = "echo mine > mine.txt; git add -A; git commit -qm mine"


def loose(git: Path, content: bytes, kind: str = "blob", size: int | None = None) -> str:
    """A loose object that says it has `size` bytes."""
    data = b"%s %d\0" % (kind.encode(), len(content) if size is None else size) + content
    oid = hashlib.sha1(data).hexdigest()
    file = place(git, f"objects/{oid[:2]}/{oid[2:]}")
    file.write_bytes(zlib.compress(data))
    return oid


def sparse(git: Path) -> None:
    for name in ("objects/ab/" + "c" * 38, "objects/pack/pack-" + "d" * 40 + ".pack", "logs/long", "refs/heads/long"):
        (git / name).parent.mkdir(parents=True, exist_ok=True)
        with open(git / name, "wb") as file:
            file.truncate(200 << 30)


def place(git: Path, name: str) -> Path:
    """Where something can be put; what stood there is gone."""
    path = git / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def strange(git: Path) -> None:
    for name in ("objects/ab/" + "c" * 38, "refs/heads/pipe"):
        os.mkfifo(place(git, name))
    place(git, "objects/cd").symlink_to("/proc/self")
    for name in ("objects/ce/" + "1" * 38, "refs/heads/zero", "HEAD"):
        place(git, name).symlink_to("/dev/zero")
    place(git, "objects/info/alternates").write_text("/proc/self/root\n/\n")
    place(git, "config").write_text("[core]\n\tfsmonitor = touch /tmp/bakeoff-pwned\n[alias]\n\tx = !false\n")


def deep(git: Path) -> None:
    for place in ("objects", "refs/heads", "logs", "worktrees"):
        (git / place).mkdir(parents=True, exist_ok=True)
        make_deep(git / place, 3000)
        make_deep(git / place, 40, "n" * 255)


def broken(git: Path) -> None:
    place(git, "packed-refs").write_bytes(b"\0" * 99 + b"f" * 40 + b" refs/heads/x\n" + b"f" * 5_000_000)
    pack = "objects/pack/pack-" + "e" * 40
    place(git, f"{pack}.idx").write_bytes(b"\xfftOc" * 999)
    place(git, f"{pack}.pack").write_bytes(b"PACK" * 999)
    place(git, "objects/aa/" + "a" * 38).write_bytes(b"x\x9c" * 99)


@pytest.mark.parametrize("kind", ["overlay", "repository"])
async def test_what_is_no_object_is_left_out_and_commits_are_kept(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        for number, harm in enumerate((sparse, strange, deep, broken), 1):
            async with workspace.lease() as slot:
                sh(slot, COMMIT.replace("mine", f"mine{number}"))
                tip = sh(slot, "git rev-parse HEAD").strip()
                (git,) = slot.place.git_folders()
                harm(git)
                (git / "refs/heads").mkdir(parents=True, exist_ok=True)
                (git / "refs/heads/kept").write_text(f"{tip}\n")
            assert tip in _commits(workspace), (harm.__name__, workspace.warnings)
            assert workspace.warnings == []
    assert not Path("/tmp/bakeoff-pwned").exists()


def _commits(workspace: Workspace) -> set[str]:
    return set(workspace.repository.refs("refs/bakeoff/salvage").values())


async def test_a_link_to_another_repository_is_not_followed(project: Checkout, checkout) -> None:
    other = checkout("other")
    other.write("secret.txt", "secret\n")
    secret = other.commit()
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        for script in (
            f"rm -rf .git; ln -s {other.root}/.git .git",
            f"rm -rf .git/objects .git/refs; ln -s {other.root}/.git/objects {other.root}/.git/refs .git",
            "rm -rf .git; echo x > .git",
            f"rm -rf .git; mkdir .git; cp {other.root}/.git/HEAD .git; echo {secret} > .git/HEAD; "
            f"mkdir -p .git/objects/info; echo {other.root}/.git/objects > .git/objects/info/alternates",
        ):
            async with workspace.lease() as slot:
                sh(slot, script)
        assert _commits(workspace) & {secret} == set()
        git = workspace.repository.git()
        assert git.both("cat-file", "-e", secret, statuses=(0, 1, 128))[0] != 0


async def test_objects_that_grow_beyond_all_bounds_cost_that_slot_alone(project: Checkout, monkeypatch) -> None:
    monkeypatch.setattr(salvage, "_MOST_BYTES", 64 << 20)
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(slot, COMMIT)
            (git,) = slot.place.git_folders()
            blob = loose(git, bytes(100 << 20))
            tree = loose(git, b"100644 zeros\0" + bytes.fromhex(blob), "tree")
            tip = loose(git, b"tree %s\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n" % tree.encode(), "commit")
            (git / "refs/heads/bomb").write_text(f"{tip}\n")
            with pytest.raises(WorkspaceError, match="hold 100 MiB, more than 64"):
                salvage_commits(slot.base, "run", slot.id, git, ())
            liar = loose(git, b"x", "commit", 1 << 50)
            (git / "refs/heads/bomb").write_text(f"{liar}\n")
            with pytest.raises(WorkspaceError):
                salvage_commits(slot.base, "run", slot.id, git, ())
            monkeypatch.setattr(salvage, "_MOST_BYTES", 100)
            with pytest.raises(WorkspaceError, match="more than 0 MiB"):
                salvage_commits(slot.base, "run", slot.id, git, ())
            monkeypatch.setattr(salvage, "_MOST_FILES", 3)
            with pytest.raises(WorkspaceError, match="more than 3 files"):
                salvage_commits(slot.base, "run", slot.id, git, ())
            slot.disposable = True
        async with workspace.lease() as slot:
            sh(slot, "echo on > on.txt")
            assert [change.path for change in (await slot.commit("on")).changed] == ["on.txt"]


async def test_many_names_of_commits_are_read_within_bounds(project: Checkout, monkeypatch) -> None:
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            slot.disposable = True
            sh(slot, COMMIT)
            (git,) = slot.place.git_folders()
            (git / "refs/heads/many").write_text("".join(f"{number:040x}\n" for number in range(1, 5000)))
            named, _ = salvage._inside(git)
            assert len(salvage._tips(git, named)) > 4999
            monkeypatch.setattr(salvage, "_MOST_IDS", 100)
            assert len(salvage._tips(git, named)) == 100
            monkeypatch.setattr(salvage, "_MOST_READ", 0)
            assert salvage._tips(git, named) == []


def index(version: int, entries: list[tuple[int, bytes]]) -> bytes:
    """A git index of version 4: each path drops so many bytes of the one before, and adds some."""
    data = b"DIRC" + struct.pack(">2I", version, len(entries))
    for drop, added in entries:
        assert drop < 128
        data += bytes(40) + bytes(20) + struct.pack(">2H", 0x4000, 0x4000) + bytes([drop]) + added + b"\0"
    return data


@pytest.mark.parametrize(
    "content",
    [
        index(4, [(0, b"x" * 10_000), (0, b"x" * 10_000)]),
        index(4, [(0, b"x" * 15_000)] + [(1, b"y")] * 9),
        index(4, [(0, b"a.txt")])[:-3],
        b"DIRC" + struct.pack(">2I", 2, 0xFFFFFFFF),
        b"DIRC" + struct.pack(">2I", 4, 1) + bytes(62) + b"\xff" * 100,
        os.urandom(1000),
        b"",
    ],
    ids=["long path", "long paths", "cut", "many", "endless number", "noise", "empty"],
)
async def test_an_index_that_makes_no_sense_says_nothing(
    project: Checkout, tmp_path: Path, content: bytes, monkeypatch
) -> None:
    monkeypatch.setattr("bakeoff.workspace.results.sparse_checkout._LIMIT", 100_000)
    (tmp_path / "index").write_bytes(content)
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        changes = Changes(tmp_path, tmp_path, gone={b"a.txt"})
        spare_narrowed(changes, workspace.base, tmp_path)
    assert changes.gone == {b"a.txt"}
    assert changes.refused == []


async def test_a_commit_in_a_pack_is_kept(project: Checkout) -> None:
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(
                slot,
                f"{COMMIT}; head -c 18000000 /dev/urandom > big; git add big; git commit -qm big; git gc -q --prune=now",
            )
            tip = sh(slot, "git rev-parse HEAD").strip()
        assert tip in _commits(workspace)
        repository = workspace.repository.path
    done = subprocess.run(["git", "fsck", "--connectivity-only"], cwd=repository, capture_output=True)
    assert done.returncode == 0, done.stderr


async def test_a_file_that_is_nothing_but_a_size_is_left_out(project: Checkout) -> None:
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(slot, "truncate -s 300G big; truncate -s 100K small; echo kept > kept.txt")
        (ref,) = workspace.repository.refs("refs/bakeoff/salvage")
        files = workspace.repository.git().run("ls-tree", "--name-only", ref).decode().split()
    assert {"small", "kept.txt"} <= set(files)
    assert "big" not in files


@pytest.mark.parametrize("kind", ["overlay", "repository"])
async def test_files_beyond_number_cost_that_slot_alone(project: Checkout, kind: str, monkeypatch) -> None:
    monkeypatch.setattr("bakeoff.workspace.results.changes.MOST", 50)
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            slot.disposable = True
            sh(slot, "for n in $(seq 60); do echo > f$n; mkdir x$n; done")
            with pytest.raises(WorkspaceError, match="more than 50 files"):
                await slot.commit("many")
            sh(slot, "rm -r f* x*; echo on > on.txt")
            assert [change.path for change in (await slot.commit("on")).changed] == ["on.txt"]
