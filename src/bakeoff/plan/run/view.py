"""A plan as its journal has it, live, ended, or left in the middle; and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus, Status
from bakeoff.plan.run.changes import Change, amended, changes_of
from bakeoff.plan.run.findings import PlanFindings, State
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.subplan_attempts import PREFIX

JOB_NAME = "plan"

DECIDED = "split"
"""The decision that holds the plan that an agent or a model proposed, and what asking took."""

_NODE = re.compile(rf"{PREFIX}([^:/]+):([0-9a-f]+)(?:/(.*))?")


@dataclass(slots=True)
class Worked:
    """Work of one subplan, as the journal tells it.

    Attributes:
        spans: when it was at work: from, to; the end of one that is at work now is None.
        doing: what goes on now, as paths below it.
        now: when this was read, where it is at work.
    """

    spans: list[tuple[float, float | None]] = field(default_factory=list)
    usage: dict[str, float] = field(default_factory=dict)
    calls: int = 0
    doing: list[str] = field(default_factory=list)
    now: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds that it was at work, or is already."""
        return sum(end - begun for begun, end in self.ended_spans)

    @property
    def ended_spans(self) -> list[tuple[float, float]]:
        """The same as `spans`; what goes on ends now, and what was cut off ended when nobody knows: as it began."""
        rest = self.now or 0.0
        return [(begun, max(begun, rest) if end is None else end) for begun, end in self.spans]


@dataclass(slots=True)
class RunView:
    """View of what is known of a run.

    Attributes:
        plan: as it is carried out, with all changes made.
        worked: what each did; one that did nothing is missing.
        findings: what came of it; None while nothing did.
        base: the commit that it started from; None before that is settled.
        split: who split it, and what that took: `by`, `name`, `calls`, `tokens`, `usd`; None where nobody did.
        splitter: who is to split it.
    """

    plan: Plan
    changes: list[Change]
    status: RunStatus
    states: dict[str, State]
    worked: dict[str, Worked]
    findings: PlanFindings | None = None
    base: str | None = None
    split: Mapping[str, Any] | None = None
    splitter: str | None = None

    @property
    def whole(self) -> bool:
        """Whether all landed that should."""
        return self.findings is not None and len(self.findings.landed) == len(self.findings.wanted)

    @property
    def at_work(self) -> float:
        """Seconds that subplans were at work, all added up; side by side each takes longer than it would alone."""
        return sum(worked.seconds for worked in self.worked.values())

    @property
    def elapsed(self) -> float:
        """Seconds in which any subplan was at work."""
        spans = sorted(span for worked in self.worked.values() for span in worked.ended_spans)
        total, reached = 0.0, float("-inf")
        for begun, end in spans:
            total += max(0.0, end - max(begun, reached))
            reached = max(reached, end)
        return total

    @property
    def at_once(self) -> float | None:
        """Average concurrency: how many were at work at once; None where nothing took any time."""
        return self.at_work / self.elapsed if self.elapsed > 0 else None

    def facts(self, name: str | None = None) -> Mapping[str, Any]:
        """Facts that name the commits of the result, or of what a subplan made; empty where there is none."""
        if name is None:
            found = self.findings
            if found is None or found.result is None:
                return {}
            return {"commit": found.result, "judged": found.result, "base": found.base}
        state = self.states.get(name)
        if state is None or state.commit is None:
            return {}
        return {"commit": state.commit, "judged": state.commit, **({"base": state.start} if state.start else {})}


def run_view(history: History, status: RunStatus) -> RunView:
    """View of how the run of this journal stands."""
    changes = changes_of(history)
    now = amended(kept_plan(history), changes)
    snapshot = history.decisions.get("snapshot") or {}
    states = {subplan.name: State() for subplan in now.plan.subplans}
    found = RunView(now.plan, changes, status, states, {}, base=snapshot.get("commit"), split=split_facts(history))
    found.splitter = (history.meta.get("split") or {}).get("name")
    for name in now.skipped:
        states[name] = State(Status.SKIPPED, why="it was to be left out")
    _read_work(history, found)
    if history.ending and history.status is status and "plan" in history.ending:
        found.findings = PlanFindings.from_json(history.ending["plan"])
        found.states = found.findings.states
    return found


def kept_plan(history: History) -> Plan:
    """The plan of a run as it was begun, or as it was proposed then; without subplans before that."""
    return Plan.from_json(history.decisions.get(DECIDED, history.meta)["plan"])


def split_facts(history: History) -> dict[str, Any] | None:
    """Who split the plan, and what that took; None where nobody did, or has not yet."""
    kept = history.decisions.get(DECIDED)
    return None if kept is None else {name: value for name, value in kept.items() if name != "plan"}


def step_view(history: History, status: RunStatus, step: str) -> RunView | None:
    """View of how the plan of a workflow's step stands; None where it has begun none."""
    asked, number = None, 1
    while (kept := history.decisions.get(step_name(step, number))) is not None:
        asked, number = kept, number + 1
    if asked is None:
        return None
    plan, record = Plan.from_json(asked["plan"]), history.records.get(step)
    states = {subplan.name: State() for subplan in plan.subplans}
    ended = record is not None and record.attempts == number - 1
    found = RunView(plan, [], RunStatus.COMPLETED if ended else status, states, {}, base=asked["snapshot"]["commit"])
    _read_work(history, found, f"{asked['prefix']}/")
    for one in record.output.get("subplans", ()) if record is not None and ended else ():
        states[one["name"]] = State.from_json({key: value for key, value in one.items() if key != "name"})
    return found


def step_name(path: str, number: int) -> str:
    """Name of the decision by which the step at `path` begins for the nth time."""
    return f"{path}#plan:{number}"


def _read_work(history: History, found: RunView, prefix: str = "") -> None:
    for path, name, below in _nodes(history.records, prefix):
        record, worked = history.records[path], found.worked.setdefault(name, Worked())
        if not below and name in found.states:
            state = found.states[name]
            state.status, state.why, state.kind = record.status, record.error or "", record.kind
            state.commit, state.start = record.output.get("commit"), record.output.get("start")
            state.tries = record.output.get("tries", 0)
        if below.endswith("/generate"):
            for kind, amount in (record.usage or {}).items():
                if isinstance(amount, int | float):
                    worked.usage[kind] = worked.usage.get(kind, 0.0) + amount
    for path, name, below in _nodes(history.starts, prefix):
        if below.endswith("/generate"):  # also one that was cut off
            found.worked.setdefault(name, Worked()).calls += history.starts[path].attempt
    for span in history.spans:
        node = node_of(span.path, prefix)
        if node is not None and not node[1]:
            found.worked.setdefault(node[0], Worked()).spans.append((span.at, span.ended_at))
    if found.status is RunStatus.RUNNING:
        now = max(SystemClock().wall(), history.updated_at)
        for worked in found.worked.values():
            worked.now = now
        for _, name, below in _nodes(history.open, prefix):
            if name in found.states and found.states[name].status is Status.PENDING:
                found.states[name].status = Status.RUNNING
            if below.endswith("/generate") or "/check:" in below:
                found.worked.setdefault(name, Worked()).doing.append(below)


def node_of(path: str, prefix: str = "") -> tuple[str, str] | None:
    """The subplan that the node at `path` belongs to, and what it is below that; None for others.

    With a `prefix` those that stand below that are meant.
    """
    match = _NODE.fullmatch(path, len(prefix)) if path.startswith(prefix) else None
    return None if match is None else (match[1], match[3] or "")


def _nodes(paths: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    """The nodes that belong to subplans: path, name, and what is below."""
    for path in paths:
        node = node_of(path, prefix)
        if node is not None:
            yield path, *node


def shown_plan(found: RunView) -> dict[str, Any]:
    """JSON of what is told of it besides what all runs have."""
    findings = found.findings
    rounds = [] if findings is None else findings.rounds
    graph = found.plan.graph()
    return {
        "goal": found.plan.goal,
        "split": None if found.split is None else dict(found.split),
        "base": found.base,
        "tip": None if findings is None else findings.tip,
        "result": None if findings is None else findings.result,
        "landed": [] if findings is None else findings.landed,
        "subplans": [_subplan(found, name, sorted(graph.needs[name])) for name in found.states],
        "groups": [{"name": group.name, "goal": group.goal, "parent": group.parent} for group in found.plan.groups],
        "circles": [list(circle) for circle in graph.groups],
        "conflicts": [one.to_json() | {"round": at} for at, found_ in enumerate(rounds, 1) for one in found_.conflicts],
        "culprits": [one.to_json() | {"round": at} for at, found_ in enumerate(rounds, 1) for one in found_.culprits],
        "dropped": [one.to_json() | {"round": at} for at, found_ in enumerate(rounds, 1) for one in found_.dropped],
        "overlaps": [] if findings is None else [asdict(one) for one in findings.overlaps],
        "rounds": len(rounds),
        "runs": sum(one.runs for one in rounds),
        "changes": [change.to_json() for change in found.changes],
        "seconds": round(found.elapsed, 3),
        "at_work": round(found.at_work, 3),
        "at_once": None if found.at_once is None else round(found.at_once, 2),
    }


def _subplan(found: RunView, name: str, needs: list[str]) -> dict[str, Any]:
    subplan, state, worked = found.plan.find(name), found.states[name], found.worked.get(name) or Worked()
    return {
        "name": name,
        "parent": subplan.parent,
        "goal": subplan.goal,
        "after": needs,
        "files": len(subplan.files),
        "writes": list(subplan.writes),
        **state.to_json(),
        "status": state.status.value,
        "seconds": round(worked.seconds, 3),
        "calls": worked.calls,
        "usage": {kind: round(amount, 9) for kind, amount in worked.usage.items() if amount},
    }
