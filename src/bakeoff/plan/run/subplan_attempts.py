"""Attempts at subplans: each is an attempt of a run, tried again where it fails, on top of what it waits for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.plan.merge.chain import Point
from bakeoff.plan.run.context import PlanContext
from bakeoff.plan.run.plan import Plan, Subplan
from bakeoff.plan.run.prompts import version_of
from bakeoff.plan.schedule.writes import is_literal, matches, outside
from bakeoff.process.command import Processes
from bakeoff.sampling.attempt.attempts import Attempts
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import Tried
from bakeoff.sampling.errors import STOPPING, machinery
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.results import changed_between
from bakeoff.workspace.shared_workspaces import Workspaces
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.snapshot.snapshot import Entries, Snapshot

PREFIX = "subplan:"

_NOT_MEANT = ("task", "max_cost", "max_tokens", "max_calls", "retries", "base", "preflight", "require_red")
"""Options that the result of a subplan does not depend on, or that stand elsewhere in its version."""


def meaning_of(options: AttemptOptions) -> dict[str, Any]:
    """Options that the result of a subplan depends on, besides its prompt and where it starts; JSON types."""
    return {name: value for name, value in options.to_json().items() if name not in _NOT_MEANT}


class StoppedError(BakeoffError):
    """A subplan has no end, for a reason that says nothing of it and that others would meet, too."""


@dataclass(frozen=True, slots=True)
class SubplanAttempts:
    """Makes subplans by attempts; a version that is on record is found again by its digest.

    Attributes:
        of: the plan, and how it is carried out.
        tried: what checks came to on that snapshot, by command.
    """

    of: PlanContext
    run: Run
    workspaces: Workspaces
    snapshot: Snapshot
    repository: Repository
    processes: Processes
    tried: Mapping[str, Tried] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        """The plan that they are part of."""
        return self.of.plan

    async def make(self, subplan: Subplan, prompt: str, start: Point, salt: int) -> Record:
        """Have a subplan attempted, from `start` on, until a try of it passes; its record, committed.

        Its output names commit and tree of what it made, and what it wrote. What an earlier session made of the same
        is found again. It holds no place while its calls and checks wait for theirs.

        Passes on BudgetSpentError: the budget allows no further call. StoppedError: what it needs is not there. The
        subplan has not ended then.
        """
        version = version_of(prompt, start.tree, meaning_of(self.plan.attempt), salt)
        path = f"{self.of.prefix}{PREFIX}{subplan.name}:{version}"

        async def work(_: int) -> Outcome:
            outcome = Outcome(Status.FAILED)
            for number in range(1, self.plan.config.max_retries + 2):
                tried = partial(self._try, subplan, prompt, start, f"{path}/try:{number}", version, number)
                record = await self.run.leaf(
                    f"{path}/try:{number}",
                    "try",
                    tried,
                    lanes=None,
                    continue_on_error=True,
                    timeout=self.plan.config.timeout_per_subplan,
                )
                output = {**record.output, "tries": number}
                outcome = Outcome(record.status, output, record.error, record.kind)
                if record.status is Status.COMPLETED:
                    break
            return outcome

        return await self.run.leaf(path, "subplan", work, lanes=None, continue_on_error=True)

    async def _try(
        self, subplan: Subplan, prompt: str, start: Point, path: str, version: str, number: int, _: int
    ) -> Outcome:
        """One try.

        Raises:
            BudgetSpentError: the budget allows no further call.
            StoppedError: no slot, process or room is to be had, or no call of the agent can succeed (its login).
            OSError: whatever else the system refuses.
        """
        stopped = f"subplan {subplan.name} could not be made"
        snapshot, tried = self.snapshot, self.tried
        if start.commit != snapshot.commit:
            snapshot, tried = snapshot.with_work(start.commit, start.tree), {}
        work = self.of
        attempts = Attempts(
            replace(self.plan.attempt, task=prompt),
            work.settings,
            work.entry,
            dict(work.reserve),
            prefix=f"{path}/",
            version=version,
            # Results of other versions and tries stay: what they made may be all there is.
            label=f"{work.label}{subplan.name}-{version}-{number}-",
            lanes=work.lanes,
            retry=work.retry,
            env=work.env,
        )
        try:
            async with self.workspaces.using(snapshot=snapshot) as workspace:
                if workspace.sparse:
                    attempts = replace(attempts, cone=await in_thread(cone_for, subplan, workspace.base.entries))
                result = await attempts.make(self.run, workspace, self.processes, resumed=True, tried=tried)
        except OSError as failure:
            if machinery(failure) is None:
                raise
            raise StoppedError(f"{stopped}: {failure}") from failure
        except WorkspaceError as failure:
            if machinery(failure) is not None:
                raise StoppedError(f"{stopped}: {failure}") from failure
            return Outcome(Status.FAILED, error=str(failure), kind=getattr(failure, "kind", "workspace"))
        except SamplingError as failure:
            if failure.kind in STOPPING:
                raise StoppedError(f"{stopped}: {failure}") from failure
            result = failure.result
        if result.reason is Reason.CAP and not result.success:
            errors = [attempt.error for attempt in result.attempts if attempt.error is not None]
            said = [error.message for error in errors if error.kind == "budget"]
            raise BudgetSpentError(said[-1] if said else result.short or "the budget is spent")
        if not result.success:
            return _failed(result, attempts.options)
        return await in_thread(self._made, subplan, start, result)

    def _made(self, subplan: Subplan, start: Point, result: SamplingResult) -> Outcome:
        assert result.winner is not None
        facts = result.winner.receipt
        commit = str(facts["judged"])
        wrote = [change.path for change in changed_between(self.repository, start.commit, commit)]
        output = {
            "commit": commit,
            "tree": facts["tree"],
            "start": start.commit,
            "attempt": result.winner.id,
            "wrote": wrote,
            "outside": list(outside(subplan.declared, wrote)),
            "tests_changed": facts.get("tests_changed", []),
            "left_out": facts.get("refused", []),
        }
        return Outcome(output=output, facts={"ref": facts["ref"], "whole": facts["commit"]})


def cone_for(subplan: Subplan, entries: Entries) -> Cone | None:
    """Part of the project that a subplan is about: its files, what it may write and use, and the folders of these.

    None where nobody says what it is about.
    """
    declared = subplan.declared
    if not declared:
        return None
    paths = [*declared, *subplan.files, *subplan.uses]
    named = {os.fsencode(path.strip("/")) for path in paths if is_literal(path)}
    wide = [path for path in paths if not is_literal(path)]
    wide += [f"{os.fsdecode(path)}/" for path in named if path in entries.folders]
    found = [path for path in entries.files if matches(wide, os.fsdecode(path))] if wide else []
    return Cone.of([*found, *named])


def _failed(result: SamplingResult, options: AttemptOptions) -> Outcome:
    """Outcome of a try that failed: what the best of its attempts fails, or the last error."""
    best = result.winner
    if best is None:
        errors = [attempt.error for attempt in result.attempts if attempt.error is not None]
        if not errors:
            return Outcome(Status.FAILED, error=f"it made nothing: {result.reason}", kind="error")
        return Outcome(Status.FAILED, error=errors[-1].message, kind=errors[-1].kind)
    for command, verdict in zip(options.checks, best.verdicts, strict=False):
        if not verdict.result:
            lines = (verdict.reason or verdict.error or "").strip().splitlines()
            said = f": {lines[0]}" if lines else ""
            output = {"commit": best.receipt.get("judged"), "reason": "\n".join(lines[-20:])}
            return Outcome(Status.FAILED, output, f"fails {command!r}{said}", verdict.error or "check")
    return Outcome(Status.FAILED, error=f"no attempt passed: {result.reason}", kind="check")
