"""Test discovery: which tests reach the function, by one run of all of them, cached by tree and interpreter."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from bakeoff.engine.failures import work_group
from bakeoff.optimize.behaviour.baseline import job_of_tests
from bakeoff.optimize.behaviour.evaluation import ProcessConfig, run_tests
from bakeoff.optimize.behaviour.runs import TestRun
from bakeoff.optimize.behaviour.server_pool import ProcessPair, ServerPool
from bakeoff.optimize.errors import BehaviourError
from bakeoff.optimize.target import Target
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.slots.slot import Slot

SEEDS = (0, 1)
"""Of the hashes of the two interpreters that the original is asked in."""
FORMAT = 4
"""Of what is kept of a discovery."""
UNCOLLECTED = 20
"""Files that could not be collected of which it is kept."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Result of one run of all tests; cached as JSON.

    Attributes:
        reached: seconds of the tests that pass and call the function.
        passing: seconds of all tests that pass.
        set_aside: tests that call it and do not pass, and why.
        module: the name of the target's module.
        sys_path: where the tests import from.
        preload: libraries that they import.
        count: of all tests.
        taken: whether pytest had loaded the target's module for itself.
        uncollected: files whose tests are not known, and why.
        inner: tests call the function itself, and none what its decorators give: these put it into a table.
        line: of the definition that is in force.
    """

    reached: dict[str, float]
    passing: dict[str, float]
    set_aside: dict[str, str]
    module: str
    sys_path: list[str]
    preload: list[str]
    count: int
    taken: bool = False
    uncollected: dict[str, str] = field(default_factory=dict)
    inner: bool = False
    line: int = 0


@dataclass(slots=True)
class DiscoveryRun:
    """One discovery in the making."""

    servers: ServerPool
    slot: Slot
    pairs: Sequence[ProcessPair]
    target: Target
    doctests: bool
    decorated: bool = False

    async def run(self) -> tuple[Discovery, TestRun | None]:
        """Discovery by one run of all tests, and a second run of them that noted their calls, made beside it.

        There is a second run only where there was a slot for it and all tests reach the function: then those are the
        tests whose calls have to be noted anyway.

        Passes on BehaviourError: no test can be run.
        """
        config = self.pairs[0].tests
        kept = self._kept(config)
        try:
            return Discovery(**json.loads(await in_thread(kept.read_text))), None
        except (OSError, ValueError, TypeError):
            pass
        again: TestRun | None = None
        needless = anyio.CancelScope()

        async def beside() -> None:
            nonlocal again
            with needless:
                again = await self._tested(self.pairs[1], "record", SEEDS[1], watched=True)

        async with work_group() as group:
            if len(self.pairs) > 1:
                group.start(beside)
            run = await self._tested(self.pairs[0], "count", SEEDS[0], needless=needless)
            found = self._found(run)
            all_reach = found.reached.keys() == run.tests.keys()
            if not all_reach:
                needless.cancel()
        if not found.reached and not found.set_aside and self.decorated:
            inner = self._found(await self._tested(self.pairs[0], "count", SEEDS[0], inner=True), inner=True)
            if inner.reached or inner.set_aside:
                found, all_reach = inner, False
        if found.reached:
            await in_thread(_write, kept, json.dumps(_plain(found)))
        return found, again if all_reach and again is not None and again.end is not None else None

    async def _tested(
        self,
        pair: ProcessPair,
        mode: str,
        seed: int,
        *,
        watched: bool = False,
        needless: anyio.CancelScope | None = None,
        inner: bool = False,
    ) -> TestRun:
        """Run all tests; `needless` is cancelled at the first one that does not reach the function."""

        def over(run: TestRun, test: str) -> None:
            if needless is not None and not run.calls.get(test):
                needless.cancel()

        config = pair.tests
        job = job_of_tests(self.target, config, self.servers.options, mode, doctests=self.doctests, inner=inner)
        async with self.servers.server(seed) as server:
            return await run_tests(server, config, job, watched=watched, over=over)

    def _kept(self, config: ProcessConfig) -> Path:
        words = [
            FORMAT, self.slot.base.snapshot.tree, str(self.target), list(self.servers.options.tests), config.root,
            self.servers.facts.get("executable"), self.servers.facts.get("python"), self.servers.facts.get("pytest"),
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:24]
        return self.slot.home.parent.parent / "discovery" / f"{digest}.json"

    def _found(self, run: TestRun, *, inner: bool = False) -> Discovery:
        if run.forged:
            raise BehaviourError("the tests of the original tell what is no report, or more than is read")
        if run.late:
            raise BehaviourError(f"the tests of the original did not come to an end in {run.late}: it was ended")
        if run.watched.failed:
            raise BehaviourError(f"the tests cannot be run in a sandbox: {run.watched.failed}")
        if run.end is None:
            raise BehaviourError(f"the tests of the original did not come to an end: {run.watched.how}")
        if not run.tests:
            said = next((last_line(why) for why in run.uncollected.values()), "pytest found none")
            raise BehaviourError(f"no test can be run: {said}")
        passing = {name: test.seconds for name, test in run.tests.items() if test.outcome == "passed"}
        calling = [name for name in run.calls if name]
        return Discovery(
            reached={name: passing[name] for name in calling if name in passing},
            passing=passing,
            set_aside={
                name: f"it {run.tests[name].outcome}: {last_line(run.tests[name].message)}"
                for name in calling
                if name not in passing
            },
            module=next(iter(run.end["modules"]), ""),
            sys_path=run.end["sys_path"],
            preload=run.end["preload"],
            taken=bool(run.end["taken"]),
            count=len(run.tests),
            uncollected={name: last_line(why) for name, why in list(run.uncollected.items())[:UNCOLLECTED]},
            inner=inner,
            line=int(run.end["line"]),
        )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(text)
    os.replace(fresh, path)


def _plain(found: Discovery) -> dict[str, Any]:
    return {name: getattr(found, name) for name in Discovery.__slots__}


def last_line(text: str) -> str:
    """Last line of a message."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip().removeprefix("E  ").strip()[:200] if lines else "it says nothing"


def passed(run: TestRun, name: str) -> bool:
    """Whether a test was run and passed."""
    return name in run.tests and run.tests[name].outcome == "passed"
