"""The optimisation job: starts a run, takes one up again."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.events import Warned
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.machine import cpu_allowance
from bakeoff.engine.mask import Masker
from bakeoff.engine.process import Processes
from bakeoff.engine.record import Outcome, RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, Terms, run_session
from bakeoff.engine.spawner import Spawner
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.judge.command import LANE as TESTS
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.behaviour import Behaviour, open_behaviour
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.entrant import Entrant
from bakeoff.optimize.judging import SlotJudge, write_files
from bakeoff.optimize.options import CEILINGS, OptimizeOptions
from bakeoff.optimize.pipeline import BENCH, Pipeline
from bakeoff.optimize.sources.given import Given, check_given
from bakeoff.optimize.sources.hiring import Hired, hire
from bakeoff.optimize.sources.source import Context, Source
from bakeoff.optimize.standing import JOB
from bakeoff.optimize.surroundings import Surroundings, surroundings
from bakeoff.optimize.target import Target, locate, parse_target
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.sampling.attempt.given import check_refs
from bakeoff.sampling.attempt.job import Conditions
from bakeoff.settings import Settings, load_settings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.results import Result
from bakeoff.workspace.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace, open_workspace


async def start(
    store: RunStore, options: OptimizeOptions, conditions: Conditions, run_id: str | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    Passes on BakeoffError: the settings, the target, a candidate or the run id are wrong.
    """
    job = _Job(store.project, options, load_settings(store.project), conditions)
    job.check()
    check_given(options.candidates)
    check_refs(store.project, options.refs)
    folder = store.create(run_id or store.new_id())
    meta = {
        "run_id": folder.id,
        "job": JOB,
        "workflow_id": None,
        "name": options.target,
        "project": str(store.project),
        "options": options.to_json(),
        "created_at": SystemClock().wall(),
    }
    return folder, await job.run(folder, meta)


async def resume(
    store: RunStore, run_id: str, conditions: Conditions, inputs: Mapping[str, str] | None = None
) -> tuple[RunFolder, Ending]:
    """Go on with a run: no judgement, no race and no generation that has ended is made again.

    Raises:
        BakeoffError: the run cannot be resumed, or an input (a new ceiling) is wrong.
    """
    folder = store.open(run_id)
    history = folder.history()
    if history.meta.get("job") != JOB:
        raise BakeoffError(f"run {run_id} is no optimisation")
    status, _ = folder.standing(history)
    if status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
        raise BakeoffError(f"run {run_id} is {status}; it cannot be resumed")
    if folder.alive():
        folder.lock().release()  # says by whom it is run
    options = OptimizeOptions.from_json({**history.meta["options"], **history.inputs})
    options = options.with_inputs(inputs or {})
    job = _Job(store.project, options, load_settings(store.project), conditions)

    async def prepare(run: Run) -> None:
        if inputs:
            await run.note("inputs", {name: getattr(options, name) for name in CEILINGS}).committed()

    return folder, await job.run(folder, None, prepare)


class _Job:
    """One session.

    Passes on BakeoffError: the target is written wrongly; a model or an agent is unknown or not there, or cannot work
    under the budget.
    """

    def __init__(self, project: Path, options: OptimizeOptions, settings: Settings, conditions: Conditions) -> None:
        self.project, self.options, self.settings, self.conditions = project, options, settings, conditions
        self.target: Target = parse_target(options.target)
        self.hired = hire(options, settings, str(project))
        at_once = options.parallel or settings.lanes.get(TESTS) or cpu_allowance()
        most = conditions.max_parallel or settings.max_parallel
        self.lanes = {**settings.lanes, TESTS: at_once, BENCH: 1, LEAVES: max(most, 2), **self.hired.lanes}

    def check(self) -> None:
        """See that the target is there, where it can be seen without a snapshot.

        Passes on TargetError: it is not.
        """
        path = self.project / self.target.path
        if self.options.base is None and path.is_file():
            locate(path.read_bytes(), self.target.qualname)

    def _warn(self, text: str) -> None:
        self.conditions.events.emit(Warned(SystemClock().wall(), text))

    async def run(
        self,
        folder: RunFolder,
        meta: Mapping[str, Any] | None,
        prepare: Callable[[Run], Awaitable[None]] | None = None,
    ) -> Ending:
        """The session, to its end."""
        base = {**os.environ, "BAKEOFF_RUN_ID": folder.id}
        masker = Masker()
        spawner = Spawner(token=str(folder.root), base_env=base, masker=masker, adopt=self.conditions.adopt)
        terms = Terms(
            lanes=Lanes(self.lanes),
            ceilings=self.options.ceilings,
            events=self.conditions.events,
            masker=masker,
            catch_signals=self.conditions.catch_signals,
            processes=spawner,
        )

        async def job(run: Run) -> Ending:
            async with spawner:
                ending = await self.carry_out(run, folder, spawner)
            return ending

        return await run_session(folder, job, terms, meta=meta, prepare=prepare)

    async def carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        """Judge all there is and say how it ended."""
        if self.hired.models or self.hired.agents:
            self._warn(self.hired.announcement())
        taken = run.history.decisions.get("snapshot")
        async with open_workspace(
            self.project,
            self.settings,
            folder.id,
            base=self.options.base,
            snapshot=None if taken is None else Snapshot(**{**taken, "left_out": ()}),
            slots=self.lanes[TESTS] + 1 + self.lanes.get(AGENTS, 0) * bool(self.hired.agents),
            processes=spawner,
        ) as workspace:
            work = Optimisation(self.options, self.settings, self._warn, hired=self.hired)
            await run.decide("snapshot", lambda: asdict(workspace.snapshot) | {"left_out": []})
            try:
                facts, spent = await work.carry_out(run, workspace, spawner)
            finally:
                for text in workspace.warnings:
                    self._warn(text)
            status = RunStatus.COMPLETED if spent is None else RunStatus.BUDGET_SPENT
            return Ending(status, spent, facts)


@dataclass(slots=True)
class Optimisation:
    """What a run of its own and a step of a workflow do alike.

    Attributes:
        options: what was asked for.
        settings: the project's.
        warn: told in words what went wrong without ending anything.
        prefix: what the paths of its nodes begin with.
        label: what the name of its result begins with.
        lanes: that all leaves in slots hold besides their own.
        hired: models and agents that propose.
    """

    options: OptimizeOptions
    settings: Settings
    warn: Callable[[str], None]
    prefix: str = ""
    label: str = ""
    lanes: tuple[str, ...] = ()
    hired: Hired | None = None

    @property
    def target(self) -> Target:
        """The function."""
        return parse_target(self.options.target)

    async def carry_out(
        self, run: Run, workspace: Workspace, processes: Processes
    ) -> tuple[dict[str, Any], str | None]:
        """Judge all there is: `winner`, its number or None, and `result`, what it is kept as.

        Returns these facts, and what was said if the budget was spent.

        Passes on BakeoffError: something a person has to mend.
        """
        winner, spent = await self._winner(run, workspace, processes)
        facts: dict[str, Any] = {"winner": None if winner is None else winner.number}
        if winner is not None:
            facts["result"] = await self._keep(run, workspace, winner)
        return facts, spent

    async def _winner(self, run: Run, workspace: Workspace, processes: Processes) -> tuple[Entrant | None, str | None]:
        """The winner, and what was said if the budget was spent.

        Raises:
            BakeoffError: there is no such file.
        """
        options, lock = self.options, BenchLock()
        original = _Original(workspace)
        source = await in_thread(original.content, str(self.target.path))
        if source is None:
            raise BakeoffError(f"{self.target.path}: the project has no such file")
        definition = locate(source, self.target.qualname)
        context = Context(self.target, source, source[definition.start : definition.end].decode("utf-8", "replace"))
        asked = BehaviourOptions(
            level=options.level or self.settings.sandbox,
            trust=options.trust,
            cold=options.cold,
            inputs=options.inputs,
            tests=options.tests,
        )
        async with open_behaviour(asked) as checker, AsyncExitStack() as stack:

            async def prepare() -> Baseline:
                return await self._baseline(run, workspace, checker, lock)

            judge = SlotJudge(
                workspace, checker, prepare, lock, options, processes, original.files, definition.is_async
            )
            paid: list[Source] = []
            if self.hired is not None:
                write = partial(self._commit, run, workspace)
                paid = await self.hired.sources(stack, run, workspace, processes, write, lock, self.warn)
            pipeline = Pipeline(
                run,
                judge,
                [*self._sources(workspace, run), *paid],
                context,
                original.files,
                partial(in_thread, self._look_around, original, source),
                repairs=options.repairs,
                refinements=options.refinements,
                warn=self.warn,
                prefix=self.prefix,
                lanes=self.lanes,
            )
            return await pipeline.find(), pipeline.spent

    def _look_around(self, original: _Original, source: bytes) -> Surroundings:
        name = self.target.qualname.rpartition(".")[2]
        return surroundings(self.target, source, original.mentioning(name), original.content)

    async def _baseline(self, run: Run, workspace: Workspace, checker: Behaviour, lock: BenchLock) -> Baseline:
        """Made anew by each session: it holds values that no record can."""
        found: list[Baseline] = []

        async def work(_: int) -> Outcome:
            async with workspace.lease() as slot, lock.working():
                slot.disposable = True
                found.append(await checker.prepare(slot, self.target))
            return Outcome(output=found[0].receipt())

        before = f"{self.prefix}baseline:"
        session = sum(path.startswith(before) for path in run.history.records) + 1
        await run.leaf(f"{before}{session}", "baseline", work, lanes=None)
        return found[0]

    def _sources(self, workspace: Workspace, run: Run) -> list[Source]:
        sources: list[Source] = []
        if self.options.candidates or self.options.refs:
            sources.append(Given(workspace, run.root.name, self.options.candidates, self.options.refs))
        if self.options.rules:
            from bakeoff.optimize.sources.rules import RulesSource

            sources.append(RulesSource())
        return sources

    async def _keep(self, run: Run, workspace: Workspace, winner: Entrant) -> dict[str, Any]:
        """The winner as a commit of bakeoff's repository."""

        async def work(_: int) -> Outcome:
            made = await self._result(run, workspace, winner.candidate, f"candidate-{winner.number}")
            return Outcome(output={"ref": made.ref, "commit": made.commit, "judged": made.commit})

        record = await run.leaf(f"{self.prefix}winner:{winner.number}", "result", work, lanes=self.lanes)
        return dict(record.output)

    async def _commit(self, run: Run, workspace: Workspace, candidate: Candidate) -> str:
        """A candidate as a commit that others can build on."""
        return (await self._result(run, workspace, candidate, f"base-{candidate.id}")).commit

    async def _result(self, run: Run, workspace: Workspace, candidate: Candidate, name: str) -> Result:
        async with workspace.lease() as slot:
            await in_thread(write_files, slot.outside, candidate)
            return await slot.commit(f"{self.label}{name}", f"optimise {self.target}, run {run.root.name}")


class _Original:
    """Files of the snapshot. Its functions block."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known: dict[str, bytes | None] = {}

    def content(self, path: str) -> bytes | None:
        """Of a file; None where there is none."""
        if path not in self._known:
            git = self.workspace.repository.git()
            name = self.workspace.snapshot.commit.encode() + b":" + path.encode("utf-8", "surrogateescape")
            status, out, _ = git.both("cat-file", "blob", name, statuses=(0, 128))
            self._known[path] = out if status == 0 else None
        return self._known[path]

    def mentioning(self, word: str) -> list[str]:
        """Paths of Python files in which a word occurs."""
        git, commit = self.workspace.repository.git(), self.workspace.snapshot.commit
        argv = ("grep", "-l", "-z", "-w", "-F", "-e", word, commit, "--", "*.py")
        _, out, _ = git.both(*argv, statuses=(0, 1))
        names = [os.fsdecode(each) for each in out.split(b"\0") if each]
        return [name.removeprefix(f"{commit}:") for name in names]

    def files(self, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Of several files."""
        return {path: self.content(path) for path in paths}
