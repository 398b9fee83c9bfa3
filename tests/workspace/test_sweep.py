"""Work outlives whoever did it: salvage when a slot is given back, and a sweep when its owner was killed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.workspace.blocking import StoppedError
from bakeoff.workspace.errors import GitError, SlotError
from bakeoff.workspace.landing.applying import open_project
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.locks import is_held, try_lock
from bakeoff.workspace.results.pending_commit import PendingCommit
from bakeoff.workspace.slots import sweep as sweeping
from bakeoff.workspace.slots.inventory import clean, discard, slots
from bakeoff.workspace.slots.sweep import sweep
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import read_entries
from bakeoff.workspace.workspace import open_workspace
from deep import SHELL
from workspace.conftest import KINDS, Checkout, settings, sh, until

pytestmark = pytest.mark.anyio
SOURCE = Path(__file__).parents[2] / "src"

OWNER = """
import sys, anyio
from pathlib import Path
from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.workspace import open_workspace
sys.path.insert(0, {tests!r})
from workspace.conftest import sh

async def main():
    kept = Settings(slots=SlotSettings(kind={kind!r}))
    async with open_workspace(Path({project!r}), kept, "dead-run") as workspace, workspace.lease() as slot:
        sh(slot, {script!r})
        if {commit!r}:
            await slot.commit("kept")
        print(slot.id, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


@pytest.fixture
def owner(project: Checkout) -> Iterator:
    """Starts a process that works in a slot and holds it; returns the process and the slot's id."""
    started: list[subprocess.Popen[str]] = []

    def start(kind: str, script: str, commit: bool = False) -> tuple[subprocess.Popen[str], str]:
        text = OWNER.format(
            tests=str(Path(__file__).parents[1]), kind=kind, project=str(project.root), script=script, commit=commit
        )
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def cache_of(project: Checkout) -> ProjectCache:
    return ProjectCache.of(find_project(project.root).common_dir)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_killed_owners_work_is_saved_and_its_slot_alone_is_swept(project: Checkout, owner, kind: str) -> None:
    process, dead = owner(
        kind,
        "echo lost > work.txt; rm a.txt; echo x > x.log; git add -A; git commit -qm mine; rm work.txt; echo y > later",
    )
    _, live = owner(kind, "echo alive > work.txt")
    cache = cache_of(project)
    assert {slot.id: slot.alive for slot in slots()} == {dead: True, live: True}
    assert sweep(cache).slots == []
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert {slot.id: slot.alive for slot in slots()} == {dead: False, live: True}
    swept = sweep(cache)
    assert swept.slots == [dead]
    assert swept.kept == {}
    repository = open_project(project.root)[1]
    saved = {ref: read_entries(repository, ref).files.keys() for ref in swept.saved}
    assert len(saved) == 2
    (files,) = [names for ref, names in saved.items() if not ref.endswith("-commit")]
    assert b"later" in files
    assert not files & {b"a.txt", b"work.txt", b"x.log"}
    (commit,) = [ref for ref in saved if ref.endswith("-commit")]
    assert repository.git().run("cat-file", "blob", f"{commit}:work.txt") == b"lost\n"
    assert not (cache.slots / dead).exists()
    assert (cache.slots / live).exists()
    assert sweep(cache).slots == []
    async with open_workspace(project.root, settings(), "next") as workspace:
        assert workspace.swept.slots == []


async def test_work_that_a_result_holds_is_not_saved_twice(project: Checkout, owner) -> None:
    process, dead = owner("overlay", "echo kept > work.txt", True)
    process.kill()
    process.wait()
    async with open_workspace(project.root, settings(), "next") as workspace:
        assert (workspace.swept.slots, workspace.swept.saved) == ([dead], [])
        assert "refs/bakeoff/dead-run/kept" in workspace.repository.refs("refs")


@pytest.mark.parametrize("kind", KINDS)
async def test_what_no_result_holds_is_saved_when_a_slot_is_given_back(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        with pytest.raises(KeyError):
            async with workspace.lease() as slot:
                sh(slot, "echo one > work.txt")
                raise KeyError
        async with workspace.lease() as slot:
            sh(slot, "echo two > work.txt; git add -A; git stash -q")
            sh(
                slot,
                "git checkout -q -b side; echo three > side.txt; git add -A; git commit -qm side; git checkout -q main",
            )
            await slot.commit("n")
        async with workspace.lease() as slot:
            sh(slot, "echo four > work.txt")
            await slot.commit("m")
            sh(slot, "echo five > work.txt")
        async with workspace.lease() as slot:
            pass
        git = workspace.repository.git()
        found = [git.run("ls-tree", "--name-only", ref).split() for ref in workspace.salvaged]
        assert len(found) == 4
        assert git.run("cat-file", "blob", f"{workspace.salvaged[0]}:work.txt") == b"one\n"
        assert any(b"side.txt" in names for names in found)
        assert git.run("cat-file", "blob", f"{workspace.salvaged[-1]}:work.txt") == b"five\n"
        git.run("fsck", "--connectivity-only")
        for ref in workspace.salvaged:
            assert f"refs/bakeoff/salvage/run/{slot.id}-" in ref


@pytest.mark.parametrize("kind", KINDS)
async def test_commits_whose_work_is_in_the_result_are_kept_without_a_word(project: Checkout, kind: str) -> None:
    async with open_workspace(project.root, settings(kind=kind), "run", slots=1) as workspace:
        for script, said in (
            ("echo one >> a.txt; git rm -q tool.sh; git add -A; git commit -qm mine", 0),
            ("echo one >> a.txt; git add -A; git commit -qm mine; echo two >> a.txt; echo x > new.txt", 0),
            ("git commit -q --allow-empty -m nothing", 0),
            (
                "git checkout -q -b side; echo one >> a.txt; git commit -qam side; git checkout -q main; git merge -q side",
                0,
            ),
            ("echo one > work.txt; git add -A; git commit -qm one; rm work.txt", 1),
            ("echo one >> a.txt; git commit -qam left; git reset -q --hard HEAD~1; echo other >> a.txt", 1),
            ("rm tool.sh; git commit -qam gone; git checkout -q HEAD~1 -- tool.sh; echo more > b", 1),
        ):
            before, kept = len(workspace.salvaged), len(workspace.repository.refs("refs/bakeoff/salvage"))
            async with workspace.lease() as slot:
                sh(slot, f"git reset -q; {script}")
                await slot.commit("n")
            async with workspace.lease():  # what is given back is cleaned by whoever takes it next
                pass
            assert len(workspace.salvaged) - before == said, script
            assert len(workspace.repository.refs("refs/bakeoff/salvage")) == kept + 1, script


async def test_work_that_cannot_be_saved_stays(project: Checkout, owner, monkeypatch) -> None:
    process, dead = owner("overlay", "echo lost > work.txt")
    process.kill()
    process.wait()
    cache = cache_of(project)

    def full(*args: object) -> None:
        raise GitError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("bakeoff.workspace.slots.sweep.salvage_files", full)
        swept = sweep(cache)
        assert (swept.slots, swept.kept) == ([], {dead: "no space left"})
        assert clean().kept == {dead: "no space left"}
    (slot,) = slots()
    assert not slot.alive
    (upper,) = (cache.slots / dead).glob("upper.*")
    assert (upper / "work.txt").read_text() == "lost\n"
    assert list(cache.trees.glob("*/tree"))
    assert sweep(cache).slots == [dead]

    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        with monkeypatch.context() as patched:
            patched.setattr("bakeoff.workspace.slots.slot.salvage_files", full)
            async with workspace.lease() as slot:
                sh(slot, "echo again > work.txt")
        assert [text.partition(":")[0] for text in workspace.warnings] == [
            "a slot could not be cleaned and is replaced", "a slot could not be ended",
        ]  # fmt: skip
        assert not is_held(cache.slots / f"{slot.id}.lock")
        async with workspace.lease() as other:
            assert other.id != slot.id
    assert sweep(cache).slots == [slot.id]


def test_a_full_disk_can_be_got_out_of(project: Checkout, owner, tmp_path: Path, monkeypatch, mount_tmpfs) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_DATA_HOME", str(cache))
    mount_tmpfs(cache, "8m")
    process, dead = owner("overlay", "head -c 20000000 /dev/urandom > big 2>/dev/null || true")
    with pytest.raises(SlotError, match=f"slot {dead} is not dead"):
        discard([dead])
    process.kill()
    process.wait()
    kept = clean().kept[dead]
    assert kept.splitlines() == [kept]
    assert "o space" in kept
    with pytest.raises(SlotError, match="there is no slot 'other'"):
        discard([dead, "other"])
    done = discard([dead])
    assert (done.slots, done.saved, list(done.lost)) == ([dead], [], [dead])
    assert done.size > 4_000_000
    until(lambda: not list(cache.glob("bakeoff/projects/*/.dead.*")))
    assert slots() == []
    assert clean().kept == {}


def test_discarding_never_looks_inside(project: Checkout, owner, monkeypatch) -> None:
    process, dead = owner("repository", "echo mine > work.txt")
    process.kill()
    process.wait()
    half = cache_of(project).repository / "objects/pack/tmp_pack_x"
    half.parent.mkdir(exist_ok=True)
    half.touch()
    with monkeypatch.context() as patched:
        patched.setattr("bakeoff.workspace.slots.sweep.save_dead", None)
        assert discard([dead]).lost == {dead: "it was discarded"}
    assert half.exists()
    trial = cache_of(project).root / ".try.x"
    trial.mkdir()
    for path in (half, trial):
        os.utime(path, (0, 0))
    assert discard([]).slots == []
    clean()
    assert not half.exists()
    assert not trial.exists()
    assert open_project(project.root)[1].refs("refs/bakeoff/salvage") == {}


@pytest.mark.parametrize("kind", KINDS)
def test_deep_folders_cost_their_slot_alone(project: Checkout, owner, kind: str) -> None:
    cache = cache_of(project)
    program = SHELL.format(depth=3000, name="d")
    script = f"mkdir src/deep; cd src/deep; echo kept > work.txt; {sys.executable} -c {shlex.quote(program)}"
    process, dead = owner(kind, script)
    process.kill()
    process.wait()
    found = clean()
    assert (found.slots, found.kept) == ([dead], {})
    (saved,) = open_project(project.root)[1].refs("refs/bakeoff/salvage")
    listed = open_project(project.root)[1].git().run("ls-tree", "-r", "--name-only", saved).decode()
    assert "src/deep/work.txt" in listed
    until(lambda: not cache.dead())


def test_whatever_goes_wrong_with_one_slot_the_others_are_swept(project: Checkout, owner, monkeypatch) -> None:
    cache = cache_of(project)
    owners = [owner("overlay", "echo mine > work.txt") for _ in range(2)]
    for process, _ in owners:
        process.kill()
        process.wait()
    bad, good = owners[0][1], owners[1][1]
    save = sweeping.save_dead

    def saving(cache: ProjectCache, name: str, due: PendingCommit | None) -> list[str]:
        if name == bad:
            raise RecursionError
        return save(cache, name, due)

    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "save_dead", saving)
        swept = sweep(cache)
    assert (swept.slots, swept.kept) == ([good], {bad: "RecursionError"})

    def stopped(*_: object) -> list[str]:
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(sweeping, "save_dead", stopped)
        with pytest.raises(StoppedError):
            sweep(cache)
    assert sweep(cache).slots == [bad]


def test_objects_of_runs_that_are_gone_go_after_two_weeks(project: Checkout) -> None:
    repository = open_project(project.root)[1]
    git = repository.git()
    old, young, needed = (
        git.run("hash-object", "-w", "--stdin", data=text).decode().strip() for text in (b"old", b"young", b"needed")
    )
    repository.set_ref("refs/bakeoff/run/kept", needed)
    for oid in (old, needed):
        os.utime(repository.objects / oid[:2] / oid[2:], (0, 0))
    clean()
    kept = [oid for oid in (old, young, needed) if (repository.objects / oid[:2] / oid[2:]).exists()]
    assert kept == [young, needed]


async def test_a_slot_that_was_only_begun_is_swept(project: Checkout) -> None:
    cache = cache_of(project)
    (cache.slots / "begun").mkdir()
    (cache.slots / "begun/slot.json").write_text("[")
    (cache.slots / "alone.lock").touch()
    assert sweep(cache).slots == ["alone", "begun"]
    assert list(cache.slots.iterdir()) == []
    assert len(cache.dead()) == 1
    (cache.slots / "odd").mkdir()
    (cache.slots / "odd/slot.json").write_text('{"kind": 3}')
    assert list(sweep(cache).kept) == ["odd"]


async def test_hostile_objects_and_refs_are_not_believed(project: Checkout, tmp_path: Path) -> None:
    async with open_workspace(project.root, settings(), "run", slots=1) as workspace:
        async with workspace.lease() as slot:
            sh(
                slot,
                f"""
                echo x > .git/refs/heads/bad; ln -s /etc/passwd .git/refs/heads/link; mkfifo .git/refs/heads/pipe
                echo {"1" * 40} > .git/refs/heads/none; mkdir -p .git/objects/11
                mkfifo .git/objects/11/{"1" * 38}; rm -f .git/HEAD; ln -s {tmp_path} .git/HEAD
                echo {tmp_path} > .git/objects/info/alternates
            """,
            )
            await slot.commit("n")
        assert workspace.warnings == []
        assert workspace.salvaged == []


def test_cleaning_takes_what_nobody_uses_and_leaves_the_rest(project: Checkout, owner) -> None:
    process, dead = owner("overlay", "echo lost > work.txt")
    cache = cache_of(project)
    (cache.layers / "old").mkdir()
    (cache.trees / ".new.young").mkdir()
    assert clean(dry_run=True).unused == ["old"]
    assert (cache.layers / "old").exists()
    process.kill()
    process.wait()
    looked = clean(dry_run=True)
    assert looked.slots == [dead]
    assert looked.size > 0
    done = clean()
    assert done.slots == [dead]
    assert len(done.saved) == 1
    assert len(done.unused) == 3
    until(lambda: not cache.dead())
    assert [path.name for path in cache.trees.iterdir() if path.is_dir()] == [".new.young"]
    assert slots() == []


def test_what_others_take_away_meanwhile_stops_no_cleaning(project: Checkout, owner, monkeypatch) -> None:
    """Whoever works in the repository makes folders there for a moment, and they are listed before they are looked at."""
    owner("overlay", "true")
    glob = Path.glob

    def listed(self: Path, pattern: str, **more: object) -> list[Path]:
        gone = [self / pattern.replace("*", "gone").replace("?", "0")] if pattern.startswith((".", "objects")) else []
        return [*glob(self, pattern), *gone]

    monkeypatch.setattr(Path, "glob", listed)
    assert clean().slots == []


def test_a_forked_child_does_not_keep_a_lock(tmp_path: Path) -> None:
    lock = try_lock(tmp_path / "x.lock")
    assert lock is not None
    reading, writing = os.pipe()
    up, begun = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.write(begun, b"x")
        os.read(reading, 1)
        os._exit(0)
    os.close(reading)
    os.read(up, 1)
    try:
        assert is_held(tmp_path / "x.lock")
        lock.release()
        assert not is_held(tmp_path / "x.lock")
    finally:
        for descriptor in (writing, up, begun):
            os.close(descriptor)
        os.waitpid(child, 0)


async def test_objects_of_runs_long_gone_go_and_none_that_a_live_run_is_about_to_need(project: Checkout) -> None:
    """What a run makes again of an old object that nobody needed until then stays, pruned beside it or not."""
    month = 31 * 24 * 3600.0
    async with open_workspace(project.root, settings(), "run") as workspace, workspace.lease() as slot:
        repository = workspace.repository
        again, gone = (
            repository.git().run("hash-object", "-w", "--stdin", data=text).decode().strip()
            for text in (b"again\n", b"gone\n")
        )
        for oid in (again, gone):
            file = repository.path / "objects" / oid[:2] / oid[2:]
            os.utime(file, (file.stat().st_mtime - month,) * 2)
        sh(slot, "echo again > again.txt")
        first = await slot.commit("first", "m")
        clean()
        assert repository.git().both("cat-file", "-e", gone, statuses=(0, 1, 128))[0] != 0
        assert repository.git().run("cat-file", "blob", f"{first.commit}:again.txt") == b"again\n"
        sh(slot, "echo more > more.txt")
        second = await slot.commit("second", "m")
    clean()
    for result, name in ((first, "again.txt"), (second, "more.txt")):
        assert repository.git().run("cat-file", "blob", f"{result.commit}:{name}")
