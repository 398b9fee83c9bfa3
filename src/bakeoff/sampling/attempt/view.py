"""The attempts of a run as its journal has them: live, ended, or left in the middle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.judge.timing.speed import Speed
from bakeoff.judge.verdict import ValidationResult, from_json
from bakeoff.report.words import reported
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.generation import UNMADE

JOB_NAME = "attempt"

_INSIDE = r"attempt:(\d+)/(?:(generate)|check:(\d+).*)"
_PATH = re.compile(f".*/{_INSIDE}")


@dataclass(slots=True)
class AttemptView:
    """One attempt.

    Attributes:
        id: from 1; `lane` and `round` from 0.
        status: `passed`, `failed`, `error`, `running`, or `unfinished` (stopped in the middle, or not wanted any more).
        verdicts: by the number of the requirement; one that is missing was not judged.
        facts: what its maker says (`ref`, `commit`, `judged`, `tree`, `diff`, `tests_changed`, `session_id`, ...).
        seconds: what making and judging it took, waits not included.
        usage: of its calls, as reported.
        speed: against the snapshot, where a command was timed.
    """

    id: int
    lane: int
    round: int
    status: str = "unfinished"
    verdicts: dict[int, ValidationResult] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    seconds: float = 0.0
    usage: Mapping[str, Any] = field(default_factory=dict)
    speed: Speed | None = None

    @property
    def score(self) -> float | None:
        """The sum of its scores; None where there are none."""
        scores = [verdict.score for verdict in self.verdicts.values() if verdict.score is not None]
        return sum(scores) if scores else None

    @property
    def met(self) -> int:
        """Count of the requirements that it meets."""
        return sum(verdict.result for verdict in self.verdicts.values())

    def to_json(self, names: list[str], timed: bool = False) -> dict[str, Any]:
        """As `--json` prints it; with `bench` where a command is `timed`."""
        checks = []
        for rank, name in enumerate(names):
            verdict = self.verdicts.get(rank)
            shown: dict[str, Any] = {"check": name, "verdict": "skipped" if verdict is None else verdict.verdict}
            if verdict is not None:
                shown |= {"reason": verdict.reason, "score": verdict.score, "error": verdict.error}
                shown["receipt"] = verdict.receipt
            checks.append(shown)
        found = {name: getattr(self, name) for name in ("id", "lane", "round", "status", "error", "kind", "seconds")}
        found |= {"score": self.score, "usage": reported(self.usage), "checks": checks}
        if timed:
            found["bench"] = None if self.speed is None else self.speed.to_json()
        return found | {"receipt": dict(self.facts)}


@dataclass(slots=True)
class RunView:
    """The attempts of a run, or of a workflow's step.

    Attributes:
        winner: the id of the winner; None while or where there is none.
        closest: the best failure, where the run ended without a winner; None where none could be judged.
        snapshot: the commit that attempts started from.
    """

    options: AttemptOptions
    attempts: dict[int, AttemptView]
    status: RunStatus
    winner: int | None = None
    closest: int | None = None
    reason: str | None = None
    snapshot: str | None = None

    @property
    def names(self) -> list[str]:
        """The requirements in their order."""
        score = self.options.score
        return [*self.options.checks, *([] if score is None else [f"score: {score}"])]

    @property
    def chosen(self) -> AttemptView | None:
        """The winner."""
        return None if self.winner is None else self.attempts.get(self.winner)


def run_view(history: History, status: RunStatus) -> RunView:
    """View of how the run of this journal stands."""
    options = AttemptOptions.from_json(history.meta["options"])
    snapshot = history.decisions.get("snapshot") or {}
    ending = history.ending if history.status is status else {}
    found = _read(history, RunView(options, {}, status, snapshot=snapshot.get("commit")), ending, _PATH)
    for record in history.records.values():
        if record.type == BENCH and record.status is Status.COMPLETED:
            for name, speed in record.output["speeds"].items():
                found.attempts[int(name)].speed = Speed.from_json(speed)
    return found


def asked_name(path: str, number: int) -> str:
    """Name of the decision by which the step at `path` begins for the nth time."""
    return f"{path}#attempts" if number == 1 else f"{path}#attempts.{number}"


def step_view(history: History, status: RunStatus, path: str) -> RunView | None:
    """View of how the attempts of a workflow's step stand; None where it has made none."""
    asked, number = None, 1
    while (decided := history.decisions.get(asked_name(path, number))) is not None:
        asked, number = decided, number + 1
    if asked is None:
        return None
    record = history.records.get(path)
    ending = (record.facts or {}) if record is not None else {}
    options, snapshot = AttemptOptions.from_json(asked["options"]), asked["snapshot"]["commit"]
    found = RunView(options, {}, RunStatus.COMPLETED if record else status, snapshot=snapshot)
    return _read(history, found, ending, re.compile(f"{re.escape(asked['prefix'])}/{_INSIDE}"))


def _read(history: History, found: RunView, ending: Mapping[str, Any], inside: re.Pattern[str]) -> RunView:
    options, status = found.options, found.status
    found.winner, found.closest = ending.get("winner"), ending.get("closest")
    found.reason = ending.get("reason")
    by_tree: dict[str, dict[int, ValidationResult]] = {}
    checks: dict[int, dict[int, Record]] = {}
    for path, record in history.records.items():
        match = inside.fullmatch(path)
        if match is None:
            continue
        view = _view(found, int(match[1]), options)
        view.seconds += record.ended_at - record.started_at
        if match[2]:
            _made(view, record)
        else:
            checks.setdefault(view.id, {})[int(match[3])] = record
    for number, records in checks.items():
        view = found.attempts[number]
        view.verdicts = {rank: _verdict(record) for rank, record in sorted(records.items())}
        by_tree.setdefault(str(view.facts.get("tree")), {}).update(view.verdicts)
    for path, start in history.starts.items():
        match = inside.fullmatch(path)
        if match is not None:
            view = _view(found, int(match[1]), options)
            if path in history.open and status is RunStatus.RUNNING:
                view.status = "running"
            elif not view.usage and view.status == "unfinished":
                reply = history.checkpoints.get(path)
                view.usage = dict(start.reserved if reply is None else reply.usage)
    for view in found.attempts.values():
        if view.status == "made":  # an equal tree is judged once
            view.verdicts = view.verdicts or dict(by_tree.get(str(view.facts.get("tree")), {}))
            view.status = _judged(view, len(found.names), status)
    found.attempts = dict(sorted(found.attempts.items()))
    return found


def _view(found: RunView, number: int, options: AttemptOptions) -> AttemptView:
    view = found.attempts.get(number)
    if view is None:
        lane, round_ = divmod(number - 1, options.repair + 1)
        view = found.attempts[number] = AttemptView(number, lane, round_)
    return view


def _made(view: AttemptView, record: Record) -> None:
    view.facts, view.usage = record.facts or {}, record.usage or {}
    if record.status is Status.COMPLETED:
        view.status = "made"
    elif record.kind != UNMADE:
        view.status, view.error, view.kind = "error", record.error, record.kind


def _verdict(record: Record) -> ValidationResult:
    if record.status is Status.COMPLETED:
        return from_json(record.output["verdict"])
    return ValidationResult(False, record.error or "", error=record.kind or "error")


def _judged(view: AttemptView, count: int, status: RunStatus) -> str:
    if any(not verdict.result for verdict in view.verdicts.values()):
        return "failed"
    if len(view.verdicts) == count:
        return "passed"
    return "running" if status is RunStatus.RUNNING else "unfinished"
