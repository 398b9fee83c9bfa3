"""A real commit of several files, split by the plan, each part replayed by a scripted agent, merged and tested."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from benchmarks.world.attempts import agent
from benchmarks.world.history import Change, differing, files_of, red_then_green
from benchmarks.world.language import Unusable
from benchmarks.world.project import Ended, Project
from benchmarks.world.row import Row


def rows(project: Project) -> Iterator[Row]:
    """The split of the whole project, then a plan that replays a commit."""
    split = project.bakeoff("plan", "decompose", "--json")
    yield _split(project, split)
    change = red_then_green(project, most_files=12, least_product=2)
    if change is None:
        raise Unusable("no recent commit of several files whose tests fail without it and pass with it")
    folder = files_of(project, change, project.scratch / "parts")
    project.settings(agent(project, "replays", _script(change, str(folder))))
    plan = project.scratch / "plan.yml"
    plan.write_text(json.dumps(_plan(project, change)))
    done = project.bakeoff("plan", "run", str(plan), "--run-id", "replay", "--json", "--quiet")
    by_hand = project.run(["sh", "-c", change.check]).seconds
    note = f"{change.commit[:10]}, {len(change.product)} files"
    right = done.status == 0
    if not right:
        note = f"status {done.status}: {note}: {done.err[-250:]}"
    elif wrong := _other_than(project, change):
        right, note = False, wrong
    yield Row("plan", right, done.seconds, done.seconds / by_hand, f"{note}; to one run of the check")


def _split(project: Project, done: Ended) -> Row:
    """Every file that git tracks stands in one leaf at most, and none is lost without a reason."""
    if done.status:
        return Row("plan decompose", False, done.seconds, note=done.err[-250:])
    said = done.json()
    inner = {node["parent"] for node in said["nodes"]}
    placed = [path for node in said["nodes"] if node["id"] not in inner for path in node["files"]]
    tracked = set(project.git("ls-files").splitlines())
    skipped = sum(said["metrics"]["skipped"].values())
    right = len(placed) == len(set(placed)) and set(placed) <= tracked and len(placed) + skipped == len(tracked)
    note = f"{len(placed)} files in {said['metrics']['leaves']} leaves, {skipped} left out of {len(tracked)}"
    return Row("plan decompose", right, done.seconds, note=note)


def _plan(project: Project, change: Change) -> dict[str, object]:
    """One subplan for each leaf of the split that the commit touches; judged together, not one by one."""
    there = [path for path in change.product if (project.top / path).exists()]
    new = [path for path in change.product if path not in there]
    words = ["plan", "decompose", *there, "--json", "--max-files", "1", "--min-files", "1"]
    said = project.bakeoff(*words).json()
    inner = {node["parent"] for node in said["nodes"]}
    leaves = [node["files"] for node in said["nodes"] if node["id"] not in inner]
    leaves[0] = [*leaves[0], *new]
    subplans = [{"name": f"part-{number}", "files": files} for number, files in enumerate(leaves, 1)]
    return {
        "goal": "replay the change",
        "agent": "replays",
        "checks": ["true"],  # a part alone need not pass the change's own tests
        "config": {"execution_mode": "parallel"},
        "subplans": subplans,
    }


def _script(change: Change, folder: str) -> str:
    """An agent that takes over those files of the commit that its prompt names."""
    parts = [
        f'case "$1" in *{shlex.quote(path)}*) cp {shlex.quote(f"{folder}/{path}")} {shlex.quote(path)};; esac'
        for path in change.product
    ]
    return "\n".join([*parts, "echo replayed"])


def _other_than(project: Project, change: Change) -> str:
    """What landed otherwise than the commit has it, or does not pass its tests; empty where nothing."""
    patch = project.scratch / "landed.patch"
    patch.write_text(project.bakeoff("diff", "replay").out)
    project.git("apply", str(patch))
    if other := differing(project, change):
        return f"what landed differs from {change.commit[:10]} in {other}"
    return "" if project.run(["sh", "-c", change.check]).status == 0 else "what landed does not pass the commit's tests"
