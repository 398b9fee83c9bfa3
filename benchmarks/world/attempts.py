"""A real bug fix, replayed by scripted agents: one that mends it, one that breaks it, one that edits the tests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from benchmarks.world.history import Change, differing, files_of, red_then_green
from benchmarks.world.language import Unusable
from benchmarks.world.project import Project
from benchmarks.world.row import Row


def rows(project: Project) -> Iterator[Row]:
    """A row for each agent; the mend must win, and be the commit's; nothing else may."""
    change = red_then_green(project)
    if change is None:
        raise Unusable("no recent commit whose tests fail without it and pass with it in this environment")
    folder = files_of(project, change, project.scratch / "mend")
    project.settings(_agents(project, change, str(folder)))
    by_hand = _by_hand(project, change, str(folder))
    for agent, expected in (("mends", 0), ("breaks", 3), ("edits", 3)):
        words = ["attempt", "mend it", "--agent", agent, "--check", change.check]
        ended = project.bakeoff(*words, "--run-id", agent, "--json", "--quiet")
        note = f"{change.commit[:10]}: {change.check}"
        right = ended.status == expected
        if not right:
            note = f"exit status {ended.status}, not {expected}: {note}: {ended.err[-250:]}"
        elif expected == 0 and (wrong := _other_than(project, change, agent)):
            right, note = False, wrong
        yield Row(f"attempt: {agent}", right, ended.seconds, ended.seconds / by_hand, note)


def _agents(project: Project, change: Change, folder: str) -> str:
    """Settings with the three agents."""
    paths, tests = shlex.join(change.product), shlex.join(change.tests)
    broken, empty = shlex.quote(project.language.broken), shlex.quote(project.language.empty_test)
    scripts = {
        "mends": f"cp -r {shlex.quote(folder)}/. . ; echo mended",
        "breaks": f"for f in {paths}; do printf '\\n%s\\n' {broken} >> $f; done; echo broken",
        "edits": f"for f in {tests}; do printf %s {empty} > $f; done; echo edited",
    }
    return "\n".join(agent(project, name, script) for name, script in scripts.items())


def agent(project: Project, name: str, script: str) -> str:
    """Settings with an agent that is a script of the shell, whose first argument is the prompt."""
    place = project.scratch / f"{name}.sh"
    place.write_text(script)
    return f'[agents.{name}]\nargv = ["sh", {json.dumps(str(place))}, "{{prompt}}"]\n'  # text of JSON is text of TOML


def _by_hand(project: Project, change: Change, folder: str) -> float:
    """Seconds of the same by hand: a work tree, the change, the check, and the check once where nothing changed."""
    place = project.scratch / "by-hand"
    seconds = project.run(["git", "worktree", "add", "--quiet", "--detach", place]).seconds
    if (modules := project.top / "node_modules").exists():
        (place / "node_modules").symlink_to(modules)
    seconds += project.run(["sh", "-c", f"{change.check}"], cwd=place).seconds
    seconds += project.run(["sh", "-c", f"cp -r {shlex.quote(folder)}/. . && {change.check}"], cwd=place).seconds
    project.git("worktree", "remove", "--force", str(place))
    return seconds


def _other_than(project: Project, change: Change, run: str) -> str:
    """What the winner changes otherwise than the commit did; empty where nothing."""
    patch = project.scratch / "winner.patch"
    patch.write_text(project.bakeoff("diff", run).out)
    project.git("apply", str(patch))
    other = differing(project, change)
    project.git("reset", "--quiet", "--hard")
    return f"the winner differs from {change.commit[:10]} in {other}" if other else ""
