"""The merge queue: changes in plan order come in; what landed, what conflicts and who broke it come out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.engine.fan_out import fan_out
from bakeoff.engine.record import Outcome
from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.check_runner import CheckRunner, tail, text_of
from bakeoff.judge.checks.command import LANE
from bakeoff.plan.merge.chain import Change, Merger, Point, Step
from bakeoff.plan.merge.hunks import hunks_of
from bakeoff.plan.merge.pairs import Pairs, Touched, conflicting_pairs, touched
from bakeoff.plan.merge.rules.resolution import CHOSEN, PROVEN, TESTED
from bakeoff.plan.merge.trees import BEYOND, Clash, merge_many
from bakeoff.plan.queue import policy
from bakeoff.plan.queue.findings import BASE, Conflict, Culprit, Findings, Preexisting, Ruled
from bakeoff.plan.queue.policy import Compose, Items, Probe, Purpose, Trial
from bakeoff.plan.queue.verification import Verification, Verified
from bakeoff.system.folders import LONGEST
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.files import read_small
from bakeoff.workspace.filters.filters import stored_content
from bakeoff.workspace.repository.git import Git

LOCKFILE_LIMIT = 64 << 20
"""Bytes of a lockfile that are read."""


@dataclass(slots=True)
class MergeQueue:
    """Merges and verifies one batch of changes; the next batch has a queue of its own on the new tip, and other paths.

    Attributes:
        verification: runs their checks; its base is the tree of `tip`.
        runner: runs commands that make lockfiles.
        width: prefixes that are tested at once while a culprit is looked for.
        preflight: called before the first check, where there is one, with the paths that the changes write.
    """

    merger: Merger
    verification: Verification
    runner: CheckRunner
    tip: Point
    width: int = 1
    say: Callable[[str], None] = lambda text: None
    preflight: Callable[[Collection[bytes]], Awaitable[None]] | None = None

    async def land(self, changes: Sequence[Change]) -> Findings:
        """Merge and verify `changes`, which are in plan order: where two do not go together the earlier one lands.

        Nothing of the user's moves: what lands is the commit `tip` of what is returned, in bakeoff's repository.
        Cancelled, checks that have ended stay on the run's record, and the same call goes on from there.

        Passes on BakeoffError: a check could not be run, or `preflight` refuses.
        """
        batch = _Batch(self, list(changes))
        await batch.look()
        if self.merger.strategy == "fail_on_conflict" and batch.conflicts:
            return Findings(self.tip.commit, self.tip.commit, conflicts=batch.conflicts)
        if self.preflight is not None and batch.own:
            await self.preflight(batch.written())
        await batch.verify_each()
        outcome = await batch.drive(policy.land(batch.alone, self.width))
        return await batch.findings(outcome)


class _Batch:
    """The changes of one call, by their numbers."""

    def __init__(self, queue: MergeQueue, changes: list[Change]) -> None:
        self.queue, self.changes = queue, changes
        self.merger, self.verification = queue.merger, queue.verification
        self.points: list[Point] = []
        self.own: dict[int, str] = {}  # the tree of each on the base alone
        self.touched: dict[int, Touched] = {}
        self.beyond: dict[int, str] = {}  # what no slot can hold, and why
        self.pairs: Pairs = {}
        self.out: set[int] = set()  # what is not to be merged, because it fails by itself
        self.alone: set[int] = set()
        # A check that passes with one change alone passes on the base, or that change mends it.
        self.base_is_known = False
        self.culprits: list[Culprit] = []
        self.preexisting: list[Preexisting] = []
        self.steps: dict[tuple[str, int], Step] = {}
        self.chain: Items = ()
        self.refused: dict[int, Step] = {}
        self.conflicts: list[Conflict] = []
        self.seen: dict[str, Verified] = {}
        self.said: dict[Items, str] = {}
        self.flaky: list[Items] = []
        self.runs = 0

    @property
    def git(self) -> Git:
        return self.merger.git

    async def look(self) -> None:
        """Find out what can be merged with what, before any test runs."""
        self.points = await in_thread(self.merger.points, [change.commit for change in self.changes])
        pairs = [(self.queue.tip.commit, change.commit) for change in self.changes]
        for number, found in enumerate(await in_thread(merge_many, self.git, pairs, self.merger.attributes)):
            if found.clean:
                self.own[number] = found.tree
            else:
                step = await self.step(self.queue.tip, number)
                if step.point is not None:
                    self.own[number] = step.point.tree
        await in_thread(self._match)
        await self.compose(frozenset())
        self.conflicts = await in_thread(self._conflicts)
        for conflict in self.conflicts:
            self.queue.say(f"{conflict.ref} {conflict.said} ({conflict.kind})")

    def _match(self) -> None:
        """The pairwise matrix of those that fit the base."""
        fit = sorted(self.own)
        changes = touched(self.git, self.queue.tip.tree, [self.own[number] for number in fit])
        self.touched = dict(zip(fit, changes, strict=True))
        reasons = {number: self._beyond(change.paths) for number, change in self.touched.items()}
        self.beyond = {number: why for number, why in reasons.items() if why is not None}
        commits = [self.changes[number].commit for number in fit]
        found = conflicting_pairs(self.git, commits, changes, self.merger.attributes)
        self.pairs = {(fit[first], fit[second]): clashes for (first, second), clashes in found.items()}
        for number in self.beyond:
            del self.own[number]

    def _beyond(self, paths: Collection[bytes]) -> str | None:
        """Reason that no slot can hold a change of those paths; None for none."""
        if max(map(len, paths), default=0) > LONGEST:
            return BEYOND
        base = self.queue.runner.workspace.base
        given = next((found for path in paths if (found := base.given_below(path)) is not None), None)
        return None if given is None else f"a file where slots have a folder for {given}"

    def written(self) -> Collection[bytes]:
        """The paths that any of them changes."""
        return {path for change in self.touched.values() for path in change.paths}

    async def step(self, tip: Point, number: int) -> Step:
        """A change on top of `tip`, made once."""
        if number in self.beyond:
            return Step(None, (Clash(".", self.beyond[number]),))
        key = tip.commit, number
        if key not in self.steps:
            change, date = self.changes[number], self.points[number].date
            step = await in_thread(self.merger.step, tip, change, date)
            if step.locks and not step.left:
                made = {path: await self._lockfile(step.tree, path, command) for path, command in step.locks.items()}
                step = await in_thread(self.merger.relock, tip, change, date, step, made)
            self.steps[key] = step
        return self.steps[key]

    async def _lockfile(self, tree: str, path: str, command: str) -> str | None:
        """The object that the command makes of a lockfile; None where it fails."""
        runner, verification = self.queue.runner, self.verification

        async def work(_: int) -> Outcome:
            async with runner.holding(tree) as slot:
                trial = await runner.run(slot, command, "lockfile", {}, verification.timeout)
                content = await in_thread(read_small, slot.outside, os.fsencode(path), LOCKFILE_LIMIT)
            done = trial.finished
            oid = None
            if done is not None and done.exit_code == 0 and done.ended_by is None and content is not None:
                oid = await in_thread(stored_content, runner.workspace.base, os.fsencode(path), content)
            else:
                said = "it was not run" if done is None else tail(text_of(done), 300) or f"status {done.exit_code}"
                self.queue.say(f"{path} could not be made anew by {command!r}: {trial.unbuilt or said}")
            return Outcome(output={"oid": oid, **trial.receipt})

        digest = hashlib.sha256(f"{tree}\0{path}\0{command}".encode("utf-8", "surrogateescape")).hexdigest()[:10]
        name = f"{verification.prefix}lockfile:{digest}"
        record = await verification.run.leaf(name, "lockfile", work, lanes=(LANE, *verification.lanes))
        found: str | None = record.output["oid"]
        return found

    async def build(self, items: Items) -> Point | None:
        """The merge of just these; None where they cannot be merged without others."""
        at = self.queue.tip
        for number in items:
            found = (await self.step(at, number)).point
            if found is None:
                return None
            at = found
        return at

    async def compose(self, without: frozenset[int]) -> Items:
        """Chain of what can be merged in plan order without these; what cannot be is kept in `refused`."""
        chain: list[int] = []
        self.refused = {}
        at = self.queue.tip
        for number in range(len(self.changes)):
            if number in without or number in self.out:
                continue
            if self.changes[number].needs and not self._has_needed(number, chain):
                continue
            step = await self.step(at, number)
            if step.point is None:
                self.refused[number] = step
            else:
                at = step.point
                chain.append(number)
        self.chain = tuple(chain)
        return self.chain

    def _has_needed(self, number: int, chain: Sequence[int]) -> bool:
        return {self.changes[other].name for other in chain}.issuperset(self.changes[number].needs)

    def _conflicts(self) -> list[Conflict]:
        """Conflicts of those in `refused`."""
        return [conflict for number, step in self.refused.items() for conflict in self._named(number, step.left)]

    def _named(self, number: int, clashes: Sequence[Clash]) -> list[Conflict]:
        """Clashes of a change with the chain before it, each said of the changes that it clashes with."""
        before = [other for other in self.chain if other < number]
        found = []
        for clash in clashes:
            pairs = [
                (self.changes[other].name, theirs)
                for other in before
                for theirs in self.pairs.get((other, number), ())
                if theirs.path == clash.path
            ]
            for other, theirs in pairs or [(self._meets(number, before, clash), clash)]:
                hunks = hunks_of(self.git, theirs)
                found.append(Conflict(self.changes[number].name, other, clash.path, theirs.kind, hunks))
        return found

    def _meets(self, number: int, before: Sequence[int], clash: Clash) -> str:
        """Whom a change clashes with that fits each of those before it, and not all of them, or not even the base."""
        if number not in self.own or not before:
            return BASE
        path = os.fsencode(clash.path)
        meeting = [other for other in before if other in self.touched and path in self.touched[other].paths]
        return self.changes[(meeting or before)[-1]].name

    async def verify_each(self) -> None:
        """The checks of each change alone, on the base; those that fail are out.

        One that is said to pass is not tested, and nothing is built on what is only said.
        """
        by_tree: dict[str, list[int]] = {}
        for number, tree in sorted(self.own.items()):
            if not self.changes[number].tested:
                by_tree.setdefault(tree, []).append(number)

        async def verify(_: int, entry: tuple[str, list[int]]) -> Verified:
            tree, numbers = entry
            name = f"own:{numbers[0] + 1}"
            found = await self.verification.verify(name, tree, ask_base=True)
            if found.passed or self.verification.unclear(found):
                return found
            again = await self.verification.verify(f"{name}:again", tree, ask_base=True)
            if again.passed:
                self.flaky += [(number,) for number in numbers]
            return again

        verdicts = await fan_out(by_tree.items(), verify, bound=max(1, len(by_tree)))
        for (tree, numbers), found in zip(by_tree.items(), verdicts, strict=True):
            self.seen[tree] = found
            for number in numbers:
                self._judge_alone(number, found)

    def _judge_alone(self, number: int, found: Verified) -> None:
        name = self.changes[number].name
        if found.passed:
            self.alone.add(number)
            self.base_is_known = True
            if found.excused:
                self.preexisting.append(Preexisting(name, found.excused, True))
            return
        self.out.add(number)
        if self.verification.unclear(found):
            self.preexisting.append(Preexisting(name, found.tests, False, self.verification.said_on_base(found.check)))
        else:
            self.culprits.append(Culprit(name, None, found.tests[0], found.tests, found.reason))

    async def drive(self, machine: Generator[policy.Question, Any, policy.Outcome]) -> policy.Outcome:
        """Answer the policy's questions until it has none."""
        answer: Any = None
        while True:
            try:
                question = machine.send(answer)
            except StopIteration as end:
                outcome: policy.Outcome = end.value
                return outcome
            if isinstance(question, Compose):
                answer = await self.compose(question.without)
            else:
                answer = await self._answer(question)

    async def _answer(self, probes: tuple[Probe, ...]) -> list[Trial]:
        """Test what the policy wants to know; equal trees once, but for what is to be tested again.

        Passes on BakeoffError: a check says nothing.
        """
        points = [await self.build(probe.items) for probe in probes]
        wanted: dict[str, str] = {}
        for probe, point in zip(probes, points, strict=True):
            again = probe.purpose in (Purpose.RETRY, Purpose.CONFIRM)
            if point is not None and (again or point.tree not in self.seen) and point.tree not in wanted:
                self.runs += 1
                wanted[point.tree] = f"merged:{self.runs}"
                self.queue.say(self._about(probe))

        async def verify(_: int, entry: tuple[str, str]) -> Verified:
            """One tree.

            Raises:
                BakeoffError: a check says nothing, for it fails on the base too.
            """
            tree, name = entry
            found = await self.verification.verify(name, tree, ask_base=not self.base_is_known)
            if not found.passed and self.verification.unclear(found):
                check = self.verification.checks[found.check]
                said = self.verification.said_on_base(found.check)
                raise BakeoffError(
                    f"{check!r} fails on the base too and names no tests: nothing can be verified by it"
                    f"{f'; there it says: {said}' if said else ''}"
                )
            return found

        verdicts = await fan_out(wanted.items(), verify, bound=max(1, len(wanted)))
        self.seen.update(zip(wanted, verdicts, strict=True))
        trials = []
        for probe, point in zip(probes, points, strict=True):
            found = None if point is None else self.seen[point.tree]
            if found is not None:
                self.said[probe.items] = found.reason
            trials.append(Trial(None) if found is None else Trial(found.passed, found.tests))
        return trials

    def _about(self, probe: Probe) -> str:
        names = [self.changes[number].name for number in probe.items]
        what = names[0] if len(names) == 1 else f"{len(names)} up to {names[-1]}"
        return f"test run {self.runs}, {probe.purpose.value}: {what}"

    async def findings(self, outcome: policy.Outcome) -> Findings:
        """Findings of the batch."""
        tip = await self.build(outcome.landed)
        assert tip is not None
        names = [change.name for change in self.changes]
        found = Findings(self.queue.tip.commit, tip.commit, [names[number] for number in outcome.landed])
        found.runs = self.runs
        found.tested_as = next((names[n] for n in sorted(self.alone) if self.own[n] == tip.tree), None)
        found.preexisting = [replace(one, landed=one.ref in found.landed) for one in self.preexisting]
        found.culprits = list(self.culprits)
        for blame in outcome.blamed:
            other = None if blame.partner is None else names[blame.partner]
            reason = self.said.get(blame.failing, "")
            sure = blame.confirmed or other is None
            found.culprits.append(Culprit(names[blame.item], other, blame.tests[0], blame.tests, reason, sure))
        found.culprits.sort(key=lambda culprit: names.index(culprit.ref))
        found.flaky = [tuple(names[number] for number in items) for items in (*sorted(self.flaky), *outcome.flaky)]
        found.conflicts = await in_thread(self._conflicts)
        at = self.queue.tip
        why = TESTED if found.runs or found.tested_as else CHOSEN
        for number in outcome.landed:
            step = self.steps[at.commit, number]
            found.resolved += _ruled(names[number], [step], why)
            found.dropped += await in_thread(self._named, number, step.dropped)
            assert step.point is not None
            at = step.point
        for blame in outcome.blamed:  # what a rule made may be what fails
            steps = [step for (_, number), step in self.steps.items() if number == blame.item]
            found.resolved += _ruled(names[blame.item], steps, CHOSEN)
        return found


def _ruled(ref: str, steps: Iterable[Step], why: str) -> list[Ruled]:
    """What rules made in steps of one change; `why` that stands which is not proven."""
    found = [Ruled(ref, one.path, one.rule, PROVEN if one.why == PROVEN else why) for s in steps for one in s.resolved]
    return list(dict.fromkeys(found))
