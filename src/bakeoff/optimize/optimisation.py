"""One optimisation: candidates from all sources, the judge that is asked for, and the winner as a commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from bakeoff.engine.record import Outcome
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.checks.command import CommandRequirement
from bakeoff.judge.checks.missing_files import what_to_copy
from bakeoff.judge.checks.protected import USUAL, Protection, unmatched
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.commands import COMMANDS
from bakeoff.judge.timing.in_slots import SlotRace
from bakeoff.judge.timing.race import Options
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.behaviour import Behaviour, open_behaviour
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.candidate_state import CandidateState
from bakeoff.optimize.context.surroundings import Surroundings, surroundings
from bakeoff.optimize.errors import BehaviourError, BenchError
from bakeoff.optimize.judges.command_judge import CommandJudge
from bakeoff.optimize.judges.function_judge import FunctionJudge, write_files
from bakeoff.optimize.judges.judge import Judge
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.original import Original
from bakeoff.optimize.pipeline import Pipeline
from bakeoff.optimize.source_code.definitions import Definition, locate
from bakeoff.optimize.sources.given import Given
from bakeoff.optimize.sources.paid_sources import PaidSources
from bakeoff.optimize.sources.source import Context, Source
from bakeoff.optimize.target import Target, parse_bench_target, parse_target
from bakeoff.process.command import Processes
from bakeoff.settings import Settings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.results.results import Result
from bakeoff.workspace.sandbox.policy import check_policy
from bakeoff.workspace.workspace import Workspace


def target_of(options: OptimizeOptions) -> Target:
    """Target that the options name. Passes on TargetError: it is written wrongly."""
    return parse_target(options.target) if options.bench is None else parse_bench_target(options.target)


@dataclass(slots=True)
class Optimisation:
    """Work on one target, of a run of its own or a step of a workflow.

    Attributes:
        options: what was asked for.
        settings: the project's.
        warn: told in words what went wrong without ending anything.
        prefix: what the paths of its nodes begin with.
        label: what the name of its result begins with.
        lanes: that all leaves in slots hold besides their own.
        paid: models and agents that propose.
    """

    options: OptimizeOptions
    settings: Settings
    warn: Callable[[str], None]
    prefix: str = ""
    label: str = ""
    lanes: tuple[str, ...] = ()
    paid: PaidSources | None = None

    @property
    def target(self) -> Target:
        """Target that is optimised."""
        return target_of(self.options)

    async def carry_out(
        self, run: Run, workspace: Workspace, processes: Processes
    ) -> tuple[dict[str, Any], str | None]:
        """Judge all there is: `winner`, its number or None, and `result`, what it is kept as.

        Returns these facts, and what was said if the budget was spent.

        Raises:
            BakeoffError: something a person has to mend.
            BehaviourError: the tests say nothing of the original.
            BenchError: a check, or the command that is timed, does not.
        """
        try:
            winner, spent = await self._winner(run, workspace, processes)
        except (BehaviourError, BenchError) as failure:
            if (misses := await in_thread(what_to_copy, str(failure), workspace.base)) is not None:
                raise BakeoffError(f"{failure}\nIt {misses}") from failure
            raise
        facts: dict[str, Any] = {"winner": None if winner is None else winner.number}
        if winner is not None:
            facts["result"] = await self._keep(run, workspace, winner)
        return facts, spent

    async def _winner(
        self, run: Run, workspace: Workspace, processes: Processes
    ) -> tuple[CandidateState | None, str | None]:
        """The winner, and what was said if the budget was spent."""
        options, target, lock = self.options, self.target, BenchLock(told=self.warn)
        original = Original(workspace)
        source = await self._source(workspace, original)
        definition = locate(source, target.qualname) if target.qualname else None
        text = "" if definition is None else source[definition.start : definition.end].decode("utf-8", "replace")
        context = Context(target, source, text, bench=options.bench or "")
        async with open_behaviour(self._behaviour_options()) as checker, AsyncExitStack() as stack:
            judge = self._judge(run, workspace, processes, checker, lock, original, definition)
            paid: list[Source] = []
            if self.paid is not None:
                write = partial(self._commit, run, workspace)
                paid = await self.paid.sources(stack, run, workspace, processes, write, lock, self.warn, self.prefix)
            pipeline = Pipeline(
                run,
                judge,
                [*self._sources(workspace, run, original), *paid],
                context,
                original.files,
                partial(in_thread, self._look_around, original, source),
                repairs=options.repairs,
                refinements=options.refinements,
                warn=self.warn,
                prefix=self.prefix,
                lanes=self.lanes,
                most=judge.most if isinstance(judge, CommandJudge) else None,
                seconds=options.seconds,
            )
            if any(run.find(f"{self.prefix}source:{source.name}/propose") is None for source in paid):
                await judge.begin()
            return await pipeline.find(), pipeline.spent

    async def _source(self, workspace: Workspace, original: Original) -> bytes:
        """The target's file; empty where the target is the project.

        Raises:
            BakeoffError: there is no such file, or candidates may not change it.
        """
        target = self.target
        source = b"" if target.is_project else await in_thread(original.content, str(target.path))
        if source is None:
            raise BakeoffError(f"{target.path}: the project has no such file")
        if self.options.protect:
            for said in await in_thread(lambda: unmatched(self.options.protect, workspace.base.entries.files)):
                self.warn(said)
        is_paid = self.paid is not None and bool(self.paid.models or self.paid.agents)
        if is_paid and not target.is_project and self._protection(workspace).covers(str(target.path)):
            raise BakeoffError(f"{target.path} is a test, or configures tests: candidates are judged by it as it is")
        return source

    def _behaviour_options(self) -> BehaviourOptions:
        options = self.options
        return BehaviourOptions(
            level=options.level or self.settings.sandbox,
            trust=options.trust,
            cold=options.cold,
            inputs=options.inputs,
            tests=options.tests,
            messages=options.messages,
        )

    def _judge(
        self,
        run: Run,
        workspace: Workspace,
        processes: Processes,
        checker: Behaviour,
        lock: BenchLock,
        original: Original,
        definition: Definition | None,
    ) -> Judge:
        """The judge that is asked for: of the function by its tests, or by commands."""
        options, by_tests = self.options, None
        if definition is not None and not options.checks:
            prepare = partial(self._baseline, run, workspace, checker, lock)
            by_tests = FunctionJudge(
                workspace, checker, prepare, lock, options, processes, original.files, definition.is_async
            )
        if options.bench is not None:
            return self._command_judge(run, workspace, processes, lock, by_tests)
        assert by_tests is not None, "checks go with a bench"
        return by_tests

    def _command_judge(
        self, run: Run, workspace: Workspace, processes: Processes, lock: BenchLock, by_tests: FunctionJudge | None
    ) -> CommandJudge:
        """The judge by commands.

        Raises:
            BakeoffError: there are too few slots to race in.
        """
        options, settings = self.options, self.settings
        assert options.bench is not None
        logs = run.root / "logs"
        logs.mkdir(exist_ok=True)
        policy = check_policy(options.level or settings.sandbox, settings)
        runner = CheckRunner(workspace, processes, logs, settings.grace, policy, self.label, busy=lock.working)
        timing = SlotRace(
            runner,
            options.bench,
            options.bench_output == "same",
            Options(options.min_speedup, options.seconds, options.seed, COMMANDS.fork_seconds),
            lock,
        )
        if timing.most < 1:
            raise BakeoffError("timing a command takes two slots at once: allow --max-parallel 2 at least")
        checks = [CommandRequirement(command, runner, timeout=options.check_timeout) for command in options.checks]
        base = workspace.snapshot.commit, workspace.snapshot.tree
        write = partial(self._base_of, run, workspace)
        return CommandJudge(run, timing, checks, write, base, by_tests, self._protection(workspace), self.prefix)

    def _protection(self, workspace: Workspace) -> Protection:
        """Protection of the files that candidates may not change."""
        return Protection(protect=self.options.protect).within(workspace.base.entries.files)

    def _look_around(self, original: Original, source: bytes) -> Surroundings:
        if not self.target.qualname:
            return Surroundings({}, ())
        name = self.target.qualname.rpartition(".")[2]
        tests = USUAL.within(original.workspace.base.entries.files)
        return surroundings(self.target, source, original.mentioning(name), original.content, tests)

    async def _baseline(self, run: Run, workspace: Workspace, checker: Behaviour, lock: BenchLock) -> Baseline:
        """Made anew by each session: it holds values that no record can."""
        found: list[Baseline] = []

        async def work(_: int) -> Outcome:
            async with workspace.lease() as slot, workspace.lease_free() as other, lock.working():
                slots = [slot] if other is None else [slot, other]
                for each in slots:
                    each.disposable = True
                found.append(await checker.prepare(slots, self.target))
            return Outcome(output=found[0].receipt())

        before = f"{self.prefix}baseline:"
        session = sum(path.startswith(before) for path in run.history.records) + 1
        await run.leaf(f"{before}{session}", "baseline", work, lanes=None)
        return found[0]

    def _sources(self, workspace: Workspace, run: Run, original: Original) -> list[Source]:
        options = self.options
        sources: list[Source] = []
        if options.candidates or options.refs:
            leave_out = partial(self._protected, original)
            sources.append(Given(workspace, run.root.name, options.candidates, options.refs, leave_out))
        if options.rules and self.target.qualname:
            from bakeoff.optimize.sources.rules import RulesSource

            sources.append(RulesSource())
        return sources

    def _protected(self, original: Original, changes: Mapping[str, bytes | None]) -> list[str]:
        """Those of the changed files that candidates are judged by."""
        return self._protection(original.workspace).touched(
            changes, lambda path: original.content(path) or b"", lambda path: changes[path] or b""
        )

    async def _keep(self, run: Run, workspace: Workspace, winner: CandidateState) -> dict[str, Any]:
        """The winner as a commit of bakeoff's repository."""

        async def work(_: int) -> Outcome:
            made = await self._result(run, workspace, winner.candidate, f"candidate-{winner.number}")
            return Outcome(output={"ref": made.ref, "commit": made.commit, "judged": made.commit})

        record = await run.leaf(f"{self.prefix}winner:{winner.number}", "result", work, lanes=self.lanes)
        return dict(record.output)

    async def _commit(self, run: Run, workspace: Workspace, candidate: Candidate) -> str:
        """A candidate as a commit that others can build on."""
        return (await self._base_of(run, workspace, candidate)).commit

    async def _base_of(self, run: Run, workspace: Workspace, candidate: Candidate) -> Result:
        return await self._result(run, workspace, candidate, f"base-{candidate.id}")

    async def _result(self, run: Run, workspace: Workspace, candidate: Candidate, name: str) -> Result:
        async with workspace.lease() as slot:
            await in_thread(write_files, slot.outside, candidate)
            return await slot.commit(f"{self.label}{name}", f"optimise {self.target}, run {run.root.name}")
