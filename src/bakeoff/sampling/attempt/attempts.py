"""Attempts at one task: what makes them, what judges them, and what one call of the agent may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.agent.cost import tells_cost, unknown_cost
from bakeoff.agent.entry import Entry
from bakeoff.api.durable import DurableRun
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.jobs.costs import announcement
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.checks.command import CommandRequirement
from bakeoff.judge.checks.score import ScoreRequirement
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.commands import COMMANDS
from bakeoff.judge.timing.in_slots import SlotRace
from bakeoff.judge.timing.race import Options
from bakeoff.process.command import Processes
from bakeoff.report.words import counted
from bakeoff.sampling.action import Maker
from bakeoff.sampling.attempt.given import GivenMaker
from bakeoff.sampling.attempt.maker import AgentMaker
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import Preflight, Tried, paths_in, say_protected
from bakeoff.sampling.attempt.strategy import AttemptStrategy, BenchStrategy
from bakeoff.sampling.attempt.view import JOB_NAME
from bakeoff.sampling.result import SamplingResult
from bakeoff.sampling.sample import sample
from bakeoff.settings import Settings
from bakeoff.workspace.sandbox.policy import check_policy
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.workspace import Workspace

AGENTS = "agents"
"""The lane that every call of an agent holds."""


def reserve_for(options: AttemptOptions, settings: Settings, entry: Entry | None) -> dict[str, float]:
    """Reservation of one call of the agent from the budget that the options set, as far as it can be said before.

    Passes on BakeoffError: what this agent uses cannot be known.
    """
    if entry is None:
        return {}
    return agent_reserve(entry, options.model, settings.max_usd, options.max_cost, options.max_tokens, options.attempts)


def loose(entry: Entry, reserve: Mapping[str, float]) -> str:
    """That the agent may spend more money than a call reserves, in words; empty where it cannot."""
    if entry.can_cap_cost or "usd" not in reserve:
        return ""
    return f"{entry.name} cannot be held to the {reserve['usd']:g} usd reserved for a call"


def agent_reserve(
    entry: Entry, model: str | None, most: float | None, max_cost: float | None, max_tokens: float | None, calls: int
) -> dict[str, float]:
    """Reservation of one call of an agent.

    Args:
        entry: the agent.
        model: that it is asked to use; None for its own choice.
        most: USD that one call may cost; None: a share of the ceiling.
        max_cost: the ceiling on money.
        max_tokens: the ceiling on tokens.
        calls: that share the ceiling on money.

    Raises:
        BakeoffError: what this agent uses cannot be known.
    """
    reserve = {"calls": 1.0}
    if max_tokens is not None:
        if not entry.reports_usage:
            raise BakeoffError(f"a ceiling on tokens: {entry.name} does not report how many it used; set one on calls")
        reserve["tokens"] = 1.0  # how many a call takes cannot be said before; one must be left
    if max_cost is not None:
        if not tells_cost(entry, model or entry.model):
            raise BakeoffError(f"a ceiling on money: {unknown_cost(entry)}, or a ceiling on tokens or calls")
        reserve["usd"] = min(most or max_cost / calls, max_cost)
    return reserve


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts at one task, ready to be made in a run.

    Attributes:
        options: what was asked for.
        entry: the agent; None where commits and patches are judged that exist.
        reserve: what one call may use at most, by kind.
        prefix: the path that their nodes stand under, where a run holds more than these.
        version: what results depend on besides, where the same run holds others.
        label: what the names of results and log files begin with.
        lanes: lanes that every leaf holds besides.
        retry: which failures of a call or a check are tried again.
        budget: whether the options' ceilings hold for these attempts alone, and not for the whole run.
        all_tokens: what a call counts that does not say how many tokens it used; None where nobody counts.
        env: further variables for agents and checks.
        cone: the files that an agent is to have in its slot where that may be sparse; None for all.
    """

    options: AttemptOptions
    settings: Settings
    entry: Entry | None
    reserve: dict[str, float]
    prefix: str | None = None
    version: str = ""
    label: str = ""
    lanes: tuple[str, ...] = ()
    retry: Retry = ONCE
    budget: bool = False
    all_tokens: int | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    cone: Cone | None = None

    def announcement(self) -> str:
        """Announcement of costs: most calls, and how far the budget can be overshot; to be said before the first."""
        options, entry = self.options, self.entry
        assert entry is not None
        calls = f"at most {counted(options.most_calls, 'call')} of {entry.name}"
        return announcement(
            calls, options.ceilings, turned_away=self.retry.attempts - 1, loose=loose(entry, self.reserve)
        )

    async def preflight(
        self, run: Run, workspace: Workspace, processes: Processes, warn: Callable[[str], None]
    ) -> dict[str, Tried]:
        """See on the snapshot that what is made can be judged; what the checks came to there, by command.

        Passes on PreflightError: it cannot.
        """
        prefix = "" if self.prefix is None else f"{self.prefix}/"
        await say_protected(self.options, workspace.base, paths_in(self.options.task), warn)
        how: dict[str, Any] = {"prefix": prefix, "label": self.label, "lanes": self.lanes, "env": self.env}
        return await Preflight.of(self.options, self.settings, run, workspace, processes, warn, **how).carry_out()

    async def make(
        self,
        run: Run,
        workspace: Workspace,
        processes: Processes,
        *,
        resumed: bool = False,
        tried: Mapping[str, Tried] | None = None,
    ) -> SamplingResult:
        """Make and judge them.

        Args:
            run: where they are nodes.
            workspace: where they work.
            processes: runs agents and checks.
            resumed: an earlier session may have left results that no record names.
            tried: what checks came to on the snapshot, by command, as far as that is known.

        Passes on SamplingError: an error that no attempt can avoid.
        """
        options = self.options
        policy = check_policy(options.sandbox or self.settings.sandbox, self.settings)
        ground = CheckRunner(workspace, processes, run.root / "logs", self.settings.grace, policy, self.label, self.env)
        bases = {command: one.base for command, one in (tried or {}).items()}
        base = None if options.may_edit else workspace.snapshot.commit  # who may edit tests may take some out
        requirements: list[Any] = [
            CommandRequirement(command, ground, timeout=options.check_timeout, base=base, on_base=bases.get(command))
            for command in options.checks
        ]
        if options.score is not None:
            requirements.append(ScoreRequirement(options.score, ground, timeout=options.check_timeout))
        for requirement in requirements:
            requirement.lanes = (*requirement.lanes, *self.lanes)
        strategy = self._strategy(ground)
        return await sample(
            self._maker(run, workspace, processes, resumed),
            requirements,
            strategy=strategy,
            run=DurableRun(run),
            name=JOB_NAME,
            prefix=self.prefix,
            version=self.version,
            reserve=self.reserve,
            budget=options.ceilings if self.budget else None,
            retry=self.retry,
            lanes=self.lanes if self.entry is None else (AGENTS, *self.lanes),
        )

    def _strategy(self, ground: CheckRunner) -> AttemptStrategy:
        options = self.options
        how: dict[str, Any] = {
            "loop_budget": options.repair + 1,
            "concurrency_budget": options.attempts,
            "mode": "fastest" if options.mode == "fastest" else "deterministic",
        }
        if options.bench is None:
            return AttemptStrategy(compare=options.score is not None or bool(options.refs), **how)
        measured = Options(options.min_speedup, options.seconds, fork_seconds=COMMANDS.fork_seconds)
        timing = SlotRace(ground, options.bench, options.bench_output == "same", measured, BenchLock())
        return BenchStrategy(timing, self.lanes, **how)

    def _maker(self, run: Run, workspace: Workspace, processes: Processes, resumed: bool) -> Maker:
        options, settings, run_id = self.options, self.settings, run.root.name
        if self.entry is None:
            return GivenMaker(options.refs, workspace, options.protection, run_id)
        all_tokens = self.all_tokens
        if options.max_tokens is not None:
            all_tokens = max(all_tokens or 0, int(options.max_tokens) + 1)
        return AgentMaker(
            self.entry,
            options.task,
            workspace,
            processes,
            options.protection,
            run_id,
            run.root / "logs",
            model=options.model or self.entry.model,
            max_usd=self.reserve.get("usd", settings.max_usd),
            timeout=options.timeout,
            grace=settings.grace,
            all_tokens=all_tokens,
            resumed=resumed,
            level=options.agent_sandbox or settings.agent_sandbox,
            sockets=settings.agent_sockets,
            cone=self.cone,
            label=self.label,
            env=self.env,
        )
