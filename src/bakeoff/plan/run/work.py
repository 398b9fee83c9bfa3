"""Work of a plan inside of a run that is open: its own run, or a step of a workflow. Its result is kept at refs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.agent.entry import Entry
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, check_request
from bakeoff.engine.events import Warned
from bakeoff.engine.run import Run
from bakeoff.jobs.costs import announcement
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.plan.errors import PlanError
from bakeoff.plan.merge.chain import Merger
from bakeoff.plan.merge.fetch import keep
from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.run.changes import Change, amended
from bakeoff.plan.run.context import PlanContext
from bakeoff.plan.run.execution import Execution
from bakeoff.plan.run.findings import PlanFindings
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.subplan_attempts import SubplanAttempts
from bakeoff.plan.schedule.writes import is_literal
from bakeoff.process.command import Processes
from bakeoff.report.words import counted
from bakeoff.sampling.attempt.attempts import agent_reserve, loose
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import Preflight, Tried, say_protected
from bakeoff.sampling.attempt.session import TURNED_AWAY
from bakeoff.settings import Settings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.landing.applying import as_user
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.sandbox.policy import check_policy
from bakeoff.workspace.shared_workspaces import Workspaces
from bakeoff.workspace.snapshot.submodules import Submodules
from bakeoff.workspace.workspace import Workspace


def agent_of(
    options: AttemptOptions, settings: Settings, project: str, calls: int, spent: float = 0.0
) -> tuple[Entry, dict[str, float]]:
    """The agent that is asked for, and what one of `calls` may use of what the ceilings leave after `spent` USD.

    Passes on BakeoffError: it is unknown, not there, or cannot work under the budget.
    """
    entry = find_entry(options.agent, settings, options.endpoint)
    left = options.max_cost
    check_request(entry, AgentRequest(options.task, model=options.model), project)
    if left is not None:
        left = max(0.0, left - spent)
    return entry, agent_reserve(entry, options.model, settings.max_usd, left, options.max_tokens, calls)


@dataclass(frozen=True, slots=True)
class PlanWork(PlanContext):
    """A plan, ready to be carried out in a run."""

    @classmethod
    def of(
        cls, plan: Plan, settings: Settings, project: str, changes: Sequence[Change] = (), spent: float = 0.0
    ) -> PlanWork:
        """The work of a plan with changes, `spent` USD of whose ceiling went into splitting it.

        Raises:
            PlanError: there is nothing in it.

        Passes on BakeoffError: the plan is wrong, or its agent is unknown, not there, or cannot work under the budget.
        """
        if not plan.subplans:
            raise PlanError("the plan has no subplans")
        now = amended(plan, changes)
        now.plan.graph()  # says what is wrong before anything is begun
        options = now.plan.attempt
        entry, reserve = agent_of(options, settings, project, len(plan.subplans) * options.attempts, spent)
        return cls(now, settings, entry, reserve, replace(TURNED_AWAY, attempts=1 + options.retries), len(changes))

    def announcement(self) -> str:
        """Announcement of costs: calls at most, and how far the budget can be overshot; for before the first one."""
        options, count = self.plan.attempt, len(self.plan.subplans)
        calls = f"{counted(count, 'subplan')}, at most {counted(self.plan.most_calls, 'call')} of {self.entry.name}"
        more = self.retry.attempts - 1
        return announcement(calls, options.ceilings, turned_away=more, loose=loose(self.entry, self.reserve))

    async def carry_out(
        self,
        run: Run,
        workspace: Workspace,
        workspaces: Workspaces,
        processes: Processes,
        say: Callable[[str], None] | None = None,
        tried: Mapping[str, Tried] | None = None,
    ) -> PlanFindings:
        """Have all subplans made and merged; what lands stands at refs of the run, and nothing of the user's moves.

        Args:
            run: where all is recorded.
            workspace: of what the plan starts from.
            workspaces: of what later subplans start from.
            processes: runs agents and checks.
            say: told in words what goes on; events of the run, where left out.
            tried: what checks came to on the snapshot; they are run there first, where left out.

        Passes on PreflightError: a check cannot judge. BakeoffError: one could not be run.
        """
        options, repository, merge = self.plan.attempt, workspace.repository, self.settings.merge
        git = as_user(workspace.base.project, repository.git())
        rules = Rules(merge.union, merge.lockfiles, merge.structured)
        tried = await self._preflight(run, workspace, processes, say) if tried is None else tried
        name = run.root.name
        submodules = Submodules(workspace.base.project.root)
        attributes = await in_thread(lambda: workspace.base.rules)
        merger = Merger(git, rules, self.plan.config.strategy, f"bakeoff run {name}", submodules, attributes)
        subplans = SubplanAttempts(self, run, workspaces, workspace.snapshot, repository, processes, tried)
        policy = check_policy(options.sandbox or self.settings.sandbox, self.settings)
        logs, grace = run.root / "logs", self.settings.grace
        runner = CheckRunner(workspace, processes, logs, grace, policy, self.label, self.env)
        known = {
            number: verdict
            for number, command in enumerate(options.checks)
            if command in tried and (verdict := tried[command].verdict) is not None
        }
        execution = Execution(self, run, subplans, merger, runner, repository, say, known)
        if unknown := self._unknown(workspace):
            execution.say(f"no such file, so to be made or a mistake: {', '.join(unknown)}")
        waiting = [subplan.name for subplan in self.plan.subplans if subplan.after]
        if waiting and self.plan.config.execution_mode == "parallel":
            execution.say(f"in the mode parallel nobody waits: `after` counts for nothing of {', '.join(waiting)}")
        found = await execution.carry_out(workspace.snapshot.commit)
        found.result = await in_thread(keep_result, git, repository, name, found, self.plan.goal, self.label)
        return found

    async def _preflight(
        self, run: Run, workspace: Workspace, processes: Processes, say: Callable[[str], None] | None
    ) -> dict[str, Tried]:
        """See `Preflight`."""

        def warn(text: str) -> None:
            run.events.emit(Warned(run.clock.wall(), text))

        options, told = self.plan.attempt, say or warn
        named = [path for subplan in self.plan.subplans for path in subplan.declared if is_literal(path)]
        await say_protected(options, workspace.base, named, told)
        how: dict[str, Any] = {"prefix": self.prefix, "label": self.label, "lanes": self.lanes, "env": self.env}
        return await Preflight.of(options, self.settings, run, workspace, processes, told, **how).carry_out()

    def _unknown(self, workspace: Workspace) -> list[str]:
        """Files of subplans that are not there."""
        entries = workspace.base.entries
        named = dict.fromkeys(path.rstrip("/") for subplan in self.plan.subplans for path in subplan.files)
        return [p for p in named if os.fsencode(p) not in entries.files and os.fsencode(p) not in entries.folders]


def keep_result(git: Git, repository: Repository, run: str, found: PlanFindings, goal: str, label: str) -> str | None:
    """Keep refs of the run at what it made: `base`, `tip` and `result` after the label; the last commit. Blocks.

    The same findings give the same commit. None where nothing landed. Passes on GitError: it cannot be written.
    """
    if not found.landed:
        keep(repository, run, {f"{label}base": found.base, f"{label}tip": found.tip})
        return None
    tree, date = git.line("log", "-1", "--format=%T %ct", found.tip).split(" ")
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{date} +0000")
    title = goal.strip().splitlines()[0][:72]
    message = f"{title}\n\nbakeoff run {run}: {', '.join(found.landed)}"
    dated = git.at(env={**git.env, **dates})
    result = dated.line("commit-tree", "-p", found.base, "-m", message, tree)
    keep(repository, run, {f"{label}base": found.base, f"{label}tip": found.tip, f"{label}result": result})
    return result
