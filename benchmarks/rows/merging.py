"""The merge queue: 50 results merged in memory, beside `git merge` one by one; the test runs that a culprit takes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from bakeoff.engine.run import Run
from bakeoff.plan.merge.chain import Merger
from bakeoff.plan.merge.fetch import bring
from bakeoff.plan.queue.findings import Findings
from bakeoff.plan.queue.queue import MergeQueue
from bakeoff.plan.queue.verification import Verification
from bakeoff.workspace.landing.applying import open_project
from benchmarks.measure import BAKEOFF, Bench, Measure, in_turns, spend

RESULTS = 50
HUB = "".join(f"line {number}\n" for number in range(40))


def measure(bench: Bench) -> Iterator[Measure]:
    commits, files = (800, 8_000) if bench.quick else (8_000, 80_000)
    small = _project(bench.folder / "small", 1_200, commits, touched=5)
    yield _merge(bench, small, "merge", f"1,200 files, {commits:,} commits", 1.0, 3 if bench.quick else 5)
    large = _project(bench.folder / "large", files, 50, touched=20)
    yield _merge(bench, large, "merge_large", f"{files:,} files", 5.0, 1)
    yield from _culprit(bench)


def _project(root: Path, files: int, commits: int, touched: int) -> Path:
    """A repository, and on top of it the branches r0 ...: five of them also edit one line of a common file."""
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    stream = ["feature done\n"]
    paths = [f"p{number % 40:02}/m{number // 40 % 50:02}/f{number}.py" for number in range(files)]

    def commit(ref: str, changes: dict[str, str], parent: str = "") -> None:
        stream.append(f"commit refs/heads/{ref}\ncommitter b <b@localhost> {len(stream)} +0000\ndata 1\nc\n{parent}")
        stream.extend(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n" for path, text in changes.items())

    for number in range(commits):
        share = paths[number::commits] or [paths[number % files]]
        commit("main", dict.fromkeys(share, f"# {number}\nvalue = {number}\n" * 5) | {"hub": HUB})
    for number in range(RESULTS):
        changes = {paths[(number * touched + at) * 7 % files]: f"result = {number}\n" for at in range(touched)}
        if number % 10 == 3:
            changes["hub"] = HUB.replace("line 20\n", f"line 20 of {number}\n")
        commit(f"r{number}", changes, "from refs/heads/main\n")
    _git(root, "fast-import", "--quiet", data="".join([*stream, "done\n"]).encode())
    _git(root, "reset", "-q", "--hard")
    return root


def _git(root: Path, *args: str, data: bytes = b"", statuses: tuple[int, ...] = (0,)) -> int:
    who = {f"GIT_{role}_{part}": "b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    env = {**os.environ, **who}
    done = subprocess.run(["git", *args], cwd=root, input=data, capture_output=True, env=env, check=False)
    if done.returncode not in statuses:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.returncode


def _merge(bench: Bench, root: Path, key: str, what: str, goal: float, times: int) -> Measure:
    refs = [f"r{number}" for number in range(RESULTS)]
    found: list[Findings] = []

    def ours() -> float:
        cache = bench.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        since = time.perf_counter()
        found.append(anyio.run(partial(_in_memory, root, cache, refs)))
        return time.perf_counter() - since

    def theirs() -> float:
        tree = bench.folder / "tree"
        _git(root, "worktree", "add", "-q", "--detach", str(tree), "main")
        since = time.perf_counter()
        for ref in refs:
            if _git(tree, "merge", "-q", "--no-edit", "--no-ff", ref, statuses=(0, 1)):
                _git(tree, "merge", "--abort")
        taken = time.perf_counter() - since
        _git(root, "worktree", "remove", "--force", str(tree))
        return taken

    samples = in_turns({"ours": ours, "theirs": theirs}, times)
    seconds, one_by_one = samples.least("ours"), samples.least("theirs")
    if len(found[-1].conflicts) != 4:
        raise RuntimeError(f"4 conflicts were to be found, not {len(found[-1].conflicts)}")
    return Measure(
        key,
        f"{RESULTS} results merged onto {what}, a new cache, commit-graph and pairwise matrix included",
        seconds,
        "s",
        goal,
        seconds / one_by_one,
        "`git merge` one by one in a work tree",
        tolerance=0.3,
        notes=(f"least of {times}; one by one {one_by_one:.3g} s", "4 conflicts named with their hunks"),
    )


async def _in_memory(root: Path, cache: Path, refs: list[str]) -> Findings:
    """All up to the first test: the strategy ends there, for there are conflicts."""
    project, repository = open_project(root, cache)
    brought = bring(project, repository, "bench", "HEAD", refs)
    merger = Merger(repository.git(), strategy="fail_on_conflict")
    tip = merger.point(brought.snapshot.commit)
    runner: object = None  # nothing runs on it
    verification = Verification(Run(), runner, tip.tree, ["true"])  # type: ignore[arg-type]
    return await MergeQueue(merger, verification, runner, tip).land(brought.changes)  # type: ignore[arg-type]


def _culprit(bench: Bench) -> Iterator[Measure]:
    """Sixteen results of which the eleventh does not go together with the fifth, through the command line."""
    root = bench.folder / "pair"
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    (root / "def-f").write_text("f\n")
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "base")
    special = {5: ["D def-f\n"], 11: ["M 100644 inline calls-f\ndata 2\nx\n\n"]}
    for number in range(1, 17):
        changes = "".join([f"M 100644 inline m{number}\ndata 2\nx\n\n", *special.get(number, [])])
        head = f"commit refs/heads/r{number}\ncommitter b <b@localhost> {number} +0000\ndata 1\nc\n"
        _git(root, "fast-import", "--quiet", data=f"{head}from refs/heads/main^0\n{changes}".encode())
    refs = [f"r{number}" for number in range(1, 17)]
    check = "[ ! -e calls-f ] || [ -e def-f ]"
    argv = [BAKEOFF, "merge", *refs, "--check", check, "--sandbox", "none", "--run-id", "pair", "--json"]
    spent = spend([sys.executable, "-m", *argv[1:]] if not Path(BAKEOFF).exists() else argv, root, status=3)
    found = json.loads(spent.output)
    if [(one["ref"], one["with"]) for one in found["culprits"]] != [("r11", "r5")] or len(found["landed"]) != 15:
        raise RuntimeError(f"the wrong one was blamed: {found['culprits']}")
    steps = json.loads(spend([BAKEOFF, "show", "pair", "--json"], root).output)["steps"]
    if sum(path.startswith("merged:") for path in steps) != found["runs"]:
        raise RuntimeError("the runs were miscounted")
    yield Measure(
        "culprit_runs",
        "test runs on merged trees to land 15 of 16 and name the guilty pair",
        found["runs"],
        "runs",
        8 + 5,
        found["runs"] / (16 + 15),
        "testing each prefix in turn, then each pair",
        tolerance=0.0,
        notes=(f"{spent.wall:.3g} s in all", "8 at most until it is clear what lands, 5 more for the partner"),
    )
