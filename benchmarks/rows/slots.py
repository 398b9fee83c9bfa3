"""Slots over a tree of 27,000 files: a snapshot, getting ready, resetting, results, and the disk that 16 take."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio

from bakeoff.settings import Settings, SlotSettings
from bakeoff.workspace.landing.applying import open_project
from bakeoff.workspace.repository.repository import disk_bytes
from bakeoff.workspace.slots.mounts import Mounts
from bakeoff.workspace.slots.overlay import OverlayPlace
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import take_snapshot
from bakeoff.workspace.workspace import Workspace, open_workspace
from benchmarks.measure import Bench, Measure, in_turns, ms

FOLDERS, FILES, COMMITS = 3_000, 9, 300
TOUCHED = [f"p{number // 2:02}/m{number:02}/f{number}.py" for number in range(4)]


def measure(bench: Bench) -> Iterator[Measure]:
    project = _project(bench.folder / "project", bench.quick)
    cache = bench.folder / "cache"
    times = 5 if bench.quick else 15
    yield _snapshot(project, cache, times)
    yield from anyio.run(partial(_overlay, project, cache, times))
    yield from anyio.run(partial(_checkout, project, cache, times))


def _project(root: Path, quick: bool) -> Path:
    """A repository with a few hundred commits and a work tree with some changes."""
    stream = [b"feature done\n"]
    for commit in range(COMMITS):
        stream.append(b"commit refs/heads/main\ncommitter b <b@localhost> %d +0000\ndata 1\nc\n" % commit)
        for folder in range(commit, FOLDERS // (10 if quick else 1), COMMITS):
            for number in range(FILES):
                text = b"# %d %d\nvalue = %d\n" % (folder, number, folder * number) * 5
                path = b"p%02d/m%02d/f%d.py" % (folder // 100, folder % 100, number)
                stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(text), text))
    stream.append(b"M 100644 inline .gitignore\ndata 6\n*.log\n\n" + b"done\n")
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    _git(root, "fast-import", "--quiet", data=b"".join(stream))
    _git(root, "reset", "-q", "--hard")
    _touch(root, "dirty")
    (root / "untracked.txt").write_text("new\n")
    # Younger than all files, or git would read them all again and again.
    time.sleep(1.1)
    subprocess.run(["git", "update-index", "-q", "--refresh", "--force-write-index"], cwd=root, check=False)
    return root


def _git(root: Path, *args: str, data: bytes = b"") -> None:
    subprocess.run(["git", *args], cwd=root, input=data, check=True, stdout=subprocess.DEVNULL)


def _touch(root: Path, text: str) -> None:
    for path in TOUCHED:
        with (root / path).open("a") as file:
            file.write(f"# {text}\n")


def timed(work: Callable[[], object]) -> float:
    since = time.perf_counter()
    work()
    return time.perf_counter() - since


def _snapshot(root: Path, cache: Path, times: int) -> Measure:
    _, repository = open_project(root, cache)

    def status() -> None:
        environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
        subprocess.run(["git", "status"], cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)

    def snapshot() -> None:
        take_snapshot(find_project(root), repository)

    snapshot()
    taken = in_turns({"status": partial(timed, status), "snapshot": partial(timed, snapshot)}, times)
    ratio = taken.middle("snapshot") / taken.middle("status")
    return Measure(
        "slot-snapshot",
        "a snapshot of a dirty tree of 27,000 files, in times of the user's own `git status`",
        ratio,
        "x",
        2,
        ratio,
        "`git status` in the same tree",
        0.3,
        (f"medians: snapshot {ms(taken.middle('snapshot'))}, status {ms(taken.middle('status'))}",),
    )


async def _overlay(root: Path, cache: Path, times: int) -> list[Measure]:
    settings = Settings(slots=SlotSettings(kind="overlay"))
    async with open_workspace(root, settings, "bench", cache=cache, slots=16) as workspace:
        before = disk_bytes(workspace.cache.slots)
        async with anyio.create_task_group() as tasks:
            full = anyio.Event()
            held: list[Slot] = []
            for _ in range(16):
                tasks.start_soon(_hold, workspace, held, full)
            await full.wait()
            used = (disk_bytes(workspace.cache.slots) - before) / 1e6
            tasks.cancel_scope.cancel()
        async with workspace.lease() as slot:
            return [*_places(workspace, times), _commit(slot, times), _disk(used)]


async def _hold(workspace: Workspace, held: list[Slot], full: anyio.Event) -> None:
    async with workspace.lease() as slot:
        held.append(slot)
        if len(held) == 16:
            full.set()
        await anyio.sleep_forever()


def _places(workspace: Workspace, times: int) -> list[Measure]:
    """Making a place, and undoing a change of four files in it; the yardstick is starting a program."""
    mounts = Mounts()
    made = workspace.pool._maker.made  # type: ignore[attr-defined]
    numbers = iter(range(1_000_000))
    ready: list[OverlayPlace] = []

    def make() -> None:
        home = workspace.cache.root / f"bench.{next(numbers)}"
        home.mkdir()
        ready.append(OverlayPlace(home, made, mounts))
        ready[-1].make()

    def reset() -> float:
        _touch(ready[-1].outside, "changed")
        return timed(ready[-1].reset)

    mounts.stop(mounts.start())
    things = {
        "make": partial(timed, make),
        "reset": reset,
        "true": partial(timed, lambda: subprocess.run(["true"], check=True)),
    }
    taken = in_turns(things, times * 2)
    mounts.close()
    return [
        Measure(
            f"slot-overlay-{name}",
            f"an overlay slot over 27,000 files {'is ready' if name == 'make' else 'is reset after a 4-file change'}",
            taken.middle(name) * 1e3,
            "ms",
            10,
            taken.middle(name) / taken.middle("true"),
            "starting the program `true`",
            1.0,
            (f"median; least {ms(taken.least(name))}, the yardstick {ms(taken.middle('true'))}",),
        )
        for name in ("make", "reset")
    ]


def _commit(slot: Slot, times: int) -> Measure:
    def commit() -> float:
        _touch(slot.outside, str(time.perf_counter()))
        return timed(lambda: slot.commit_now("bench"))

    def version() -> None:
        subprocess.run(["git", "--version"], check=True, stdout=subprocess.DEVNULL)

    taken = in_turns({"commit": commit, "git": partial(timed, version)}, times)
    return Measure(
        "slot-result",
        "the result of a 4-file attempt as a commit",
        taken.middle("commit") * 1e3,
        "ms",
        50,
        taken.middle("commit") / taken.middle("git"),
        "`git --version`",
        0.5,
        (f"median; least {ms(taken.least('commit'))}",),
    )


def _disk(used: float) -> Measure:
    return Measure("slot-disk", "disk used by 16 overlay slots before work", used, "MB", 10, used / 10, "10 MB", 0.2)


async def _checkout(root: Path, cache: Path, times: int) -> list[Measure]:
    settings = Settings(slots=SlotSettings(kind="repository"))
    async with open_workspace(root, settings, "bench", cache=cache, slots=1) as workspace, workspace.lease() as slot:

        def reset() -> float:
            _touch(slot.outside, "changed")
            for number in range(100):
                (slot.outside / f"p00/ignored{number}.log").write_text("x")
            return timed(slot.place.reset)

        def status() -> None:
            subprocess.run(["git", "status", "--ignored"], cwd=slot.path, check=True, stdout=subprocess.DEVNULL)

        taken = in_turns({"reset": reset, "status": partial(timed, status)}, times)
        return [
            Measure(
                "slot-checkout-reset",
                "a repository slot of 27,000 files is reset after a 4-file change with 100 ignored files",
                taken.middle("reset") * 1e3,
                "ms",
                300,
                taken.middle("reset") / taken.middle("status"),
                "`git status --ignored` in it",
                0.5,
                (f"median; least {ms(taken.least('reset'))}, the yardstick {ms(taken.middle('status'))}",),
            )
        ]
