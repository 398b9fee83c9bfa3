"""The suite of a real project fanned out in slots, beside its runner in parallel on the same cores."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.world.language import Unusable
from benchmarks.world.project import Ended, Project
from benchmarks.world.python import PYTHON, collected
from benchmarks.world.row import Row

SHARDS_PER_CORE = 4
"""Each costs a start of the runner and the project; more of them spread better over the cores."""
KEPT_LINES = 40
"""Of what a runner prints at the end: in them it says how many passed, and which failed."""
FLAKY_TRIES = 12


def rows(project: Project) -> Iterator[Row]:
    """Whether as many tests pass, fail and are skipped as by hand: in shards, and with a file an item."""
    language, cores = project.language, len(os.sched_getaffinity(0))
    if not language.suite:
        raise Unusable(language.name)
    files = _suite(project)
    plain = project.run([*language.suite.split(), *files])
    expected = language.counts(plain.out + plain.err)
    if plain.status not in (0, 1) or not expected:
        raise Unusable(f"its suite cannot be run: {(plain.out + plain.err)[-200:]}")
    words = (language.parallel or language.suite).format(cores)
    parallel = project.run([*words.split(), *files])
    number = min(len(files), cores * SHARDS_PER_CORE)
    shards = [files[first::number] for first in range(number)]
    alone = [[path] for path in files]
    sharded = [] if shards == alone else [("run, in shards", shards)]
    for job, items in (*sharded, ("run, a file an item", alone)):
        fanned = _fanned(project, items, cores)
        right = fanned.counts(project) == expected
        note = f"{len(items)} items, {dict(fanned.counts(project))}"
        if not right:
            right, note = _as_alone(project, items, fanned)
        seconds = fanned.ended.seconds
        yield Row(job, right, seconds, seconds / parallel.seconds, f"{note}; to {words}")


def _suite(project: Project) -> list[str]:
    """The files of tests; with pytest those whose tests it collects when nobody names any."""
    if project.language is PYTHON:
        return list(collected(project))
    tracked = project.git("ls-files", "--", *project.tests).splitlines()
    return [path for path in tracked if project.language.is_test(path)]


@dataclass(frozen=True, slots=True)
class Fanned:
    """How a fan-out ended, and what each of its items printed in the end."""

    ended: Ended
    said: list[str]

    def counts(self, project: Project) -> Counter[str]:
        """The numbers of all items."""
        return sum(map(project.language.counts, self.said), Counter())


def _fanned(project: Project, items: list[list[str]], cores: int) -> Fanned:
    one = {
        "id": "one",
        "type": "shell",
        "workspace": "slot",
        "run": f"{project.language.suite} {{{{ item | sh }}}} 2>&1 | tail -n {KEPT_LINES}",
        "continue_on_error": True,
    }
    step = {"id": "files", "type": "fan-out", "items": items, "max_concurrency": cores, "step": one}
    workflow = {"workflow": {"id": "world", "name": "World", "version": "1.0.0"}, "steps": [step]}
    flow = project.scratch / "flow.yml"
    flow.write_text(json.dumps(workflow))  # JSON is YAML
    run = f"world-{len(items)}"
    ended = project.bakeoff("run", str(flow), "--run-id", run, "--json", "--quiet")
    steps = project.bakeoff("show", run, "--json").json()["steps"]
    return Fanned(ended, [str(one.get("stdout", "")) for one in steps["files"]["output"]["results"]])


def _as_alone(project: Project, items: list[list[str]], fanned: Fanned) -> tuple[bool, str]:
    """Whether the same items one by one, by hand, come to the same; tests that are flaky by hand, too, are named.

    Tests that need another file's fail so by hand, too.
    """
    alone = [_by_hand(project, paths) for paths in items]
    got, expected = fanned.counts(project), sum(map(project.language.counts, alone), Counter())
    if got == expected:
        return True, f"{len(items)} items, {dict(got)}, as by hand one by one"
    odd = _failing(fanned.said) ^ _failing(alone)
    if odd and all(_is_flaky(project, test) for test in odd):
        return True, f"{len(items)} items, {dict(got)}, flaky by hand, too: {sorted(odd)}"
    return False, f"{dict(got)}, by hand {dict(expected)}, {sorted(odd)}; {fanned.ended.err[-200:]}"


def _by_hand(project: Project, paths: list[str]) -> str:
    ended = project.run([*project.language.suite.split(), *paths])
    return ended.out + ended.err


def _failing(said: list[str]) -> set[str]:
    """The tests that pytest's summaries name."""
    return {name for text in said for name in re.findall(r"(?m)^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", text)}


def _is_flaky(project: Project, test: str) -> bool:
    """Whether it passes and fails by hand, with nothing changed between."""
    outcomes: set[bool] = set()
    for _ in range(FLAKY_TRIES):
        outcomes.add(bool(project.language.counts(_by_hand(project, [test]))["failed"]))
        if len(outcomes) == 2:
            return True
    return False
