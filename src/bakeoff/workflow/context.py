"""Context of a step and of its run: what a type of step is handed where it stands; the halt that ends a walk early."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.engine.events import NodeStarted, Warned
from bakeoff.engine.journal import CommitQueue
from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.process.command import Processes
from bakeoff.workflow.scope import Naming, Scope, digest

if TYPE_CHECKING:
    from bakeoff.engine.sharing import Shared
    from bakeoff.jobs.session import Asker
    from bakeoff.model.protocol import Model
    from bakeoff.settings import Settings
    from bakeoff.workflow.models import StepModel
    from bakeoff.workflow.step_type import StepTypes
    from bakeoff.workspace.workspace import Workspace


WORKSPACES = "#workspaces"
"""The decision in the journal of a run that bakeoff's repository may hold results of."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Why nothing more is to start here.

    Attributes:
        status: what the run is to be called.
        error: the message for a person; None for a pause.
        gate: what a person must decide: `step_id`, `message`, `options`, `choice`.
        raised: the node has no record of its own: an expression could not be evaluated.
        kind: which sort of failure, for `retry`.
    """

    status: RunStatus
    error: str | None
    path: str
    gate: Mapping[str, Any] | None = None
    raised: bool = False
    kind: str | None = None


@dataclass(slots=True)
class RunContext:
    """Context of a run, which all its steps share.

    Attributes:
        run: where results are committed.
        run_step: runs one step where it stands, whatever its type; returns why nothing may follow it, if so.
        project: the folder that steps work in.
        slot: of a step with `workspace: slot`, its slot's top, as code in this process sees it; else None.
        workflow_dir: folder of the workflow file, for `context.workflow_dir`; None when it has none.
        asker: somebody at a terminal; None when nobody is there.
        environment: variables that the workflow sets for every step.
        defaults: `integration`, `model` and `options` of the workflow.
        depth: how many workflow calls this one is inside of.
        allow_unquoted: let text from agents into shell commands as it is.
        lanes: lanes that steps around this one name for all they hold.
        cwd: the folder that a step around this one gives to all it holds.
        secrets: the variables whose values are masked in this run.
        announcement: how many calls of agents there may be, to be said before the first; None where none is known.
        said: what was warned of already and is not to be said again.
        shared: what steps share besides, by name; made by the first who needs it.
        places: keeps open the workspaces that steps share; None where nothing is run. `models` likewise.
    """

    run: Run
    processes: Processes
    settings: Settings
    step_types: StepTypes
    run_step: Callable[[NodeContext], Awaitable[Halt | None]]
    project: str
    workflow_dir: str | None
    asker: Asker | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    depth: int = 0
    allow_unquoted: bool = False
    lanes: tuple[str, ...] = ()
    cwd: str | None = None
    slot: str | None = None
    secrets: frozenset[str] = frozenset()
    announcement: str | None = None
    said: set[Any] = field(default_factory=set)
    shared: dict[str, Any] = field(default_factory=dict)
    places: Shared[Workspace] | None = None
    models: Shared[Model] | None = None

    def warn(self, text: str, path: str | None = None) -> None:
        """Say something to whoever watches the run."""
        self.run.events.emit(Warned(self.run.clock.wall(), text, path))

    def announce(self) -> None:
        """Say how many calls there may be, once in a session."""
        if self.announcement is not None and "calls" not in self.said:
            self.said.add("calls")
            self.warn(self.announcement)


@dataclass(slots=True)
class NodeContext:
    """Context of a node: everything that its type needs to know where it stands.

    `commit_queue`, where there is one, takes the step's own record: nobody sees it before the fan-out has ended.
    """

    run_context: RunContext
    step: Any
    path: str
    scope: Scope
    naming: Naming
    commit_queue: CommitQueue | None = None

    @property
    def run(self) -> Run:
        """The run."""
        return self.run_context.run

    def say(self, text: str) -> None:
        """Say something of the step to whoever watches the run."""
        self.run_context.warn(f"step {self.path}: {text}")

    def value(self, field_name: str, *keys: str | int) -> Any:
        """The value of one of the step's fields, evaluated here."""
        return self.step.template(field_name, *keys).evaluate(self.scope)

    def values(self, field_name: str) -> dict[Any, Any]:
        """The values of a list's or mapping's parts, evaluated here."""
        return {key: template.evaluate(self.scope) for key, template in self.step.templates(field_name).items()}

    def key(self, *parts: Any) -> str:
        """The step's key: a digest of `parts` and, unless it is independent, of all that went before."""
        return digest("" if self.step.independent else self.scope.chain, self.step.type, *parts)

    def started(self) -> float:
        """Announce a node that holds others; returns the time."""
        now = self.run.clock.wall()
        self.run.events.emit(NodeStarted(now, self.path, self.step.type))
        return now

    async def steps(
        self, steps: Sequence[Any], scope: Scope | None = None, naming: Naming | None = None
    ) -> Halt | None:
        """Run steps one after the other here; returns why it stopped early, if it did.

        Passes on JournalError: the journal cannot be written.
        """
        scope, naming = scope or self.scope, naming or self.naming
        for step in steps:
            halt = await self.run_context.run_step(
                NodeContext(self.run_context, step, naming.path(step.id), scope, naming)
            )
            if halt is not None:
                return halt
        return None

    async def kept_or(self, make: Callable[[NodeContext], Mapping[str, Any]]) -> Record:
        """The record of a node whose choice is made before its children run; the first choice stands for good."""
        kept = await self.run.kept(self.path)
        if kept is not None:
            return kept
        output = make(self)
        now = self.started()
        record = Record(self.path, self.step.type, Status.COMPLETED, output, started_at=now, ended_at=now)
        return await self.run.commit(record)

    async def ended(self, started_at: float, output: Mapping[str, Any], **more: Any) -> Record:
        """Commit the record of a node that holds others, and make it visible to later steps."""
        status = more.pop("status", Status.COMPLETED)
        ended_at = max(started_at, self.run.clock.wall())
        record = Record(self.path, self.step.type, status, output, started_at=started_at, ended_at=ended_at, **more)
        record = await self.run.commit(record)
        self.add(record)
        return record

    def expect(self, known: Mapping[str, Any]) -> None:
        """Show the steps inside this one what is known of its output before it has ended."""
        self.scope.expect(Record(self.path, self.step.type, Status.RUNNING, known), self.step.id)

    def add(self, record: Record) -> None:
        """Make a record visible to later steps."""
        self.scope.add(record, self.step.id)


def where(step: StepModel, path: str, failure: BakeoffError | str) -> str:
    """The message of a failure with the place in the file that it comes from."""
    line, column = step.position
    return f"step {path} (line {line}, column {column}): {failure}"


def halted_by(context: NodeContext, record: Record) -> Halt | None:
    """The halt that a step's own record means, if any."""
    if record.status in (Status.COMPLETED, Status.SKIPPED) or record.continued:
        return None
    if record.status is Status.PAUSED:
        gate = (record.facts or {}).get("gate")
        return Halt(RunStatus.PAUSED, None, context.path, gate)
    facts = record.facts or {}
    status = RunStatus.ABORTED if record.output.get("aborted") else RunStatus.FAILED
    return Halt(status, f"step {context.path}: {record.error}", context.path, facts.get("gate"), kind=record.kind)
