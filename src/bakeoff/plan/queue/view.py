"""A merge as its journal has it: live, ended, or left in the middle."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.judge.verdict import ValidationResult, from_json
from bakeoff.plan.merge.fetch import Brought
from bakeoff.plan.queue.findings import Findings
from bakeoff.plan.queue.options import MergeOptions

JOB_NAME = "merge"

_NODE = re.compile(r"(own|merged|base)(?::(\d+))?(:again)?:[0-9a-f]+/check:(\d+)")


@dataclass(frozen=True, slots=True)
class Ran:
    """A check that ran.

    Attributes:
        what: `own`, `merged` or `base`.
        number: of the change, from 1, or of the run of merged trees.
        again: whether it was its second run.
        check: which check, from 0.
        verdict: None where it did not end, or could not be run.
    """

    what: str
    number: int
    again: bool
    check: int
    verdict: ValidationResult | None
    error: str | None = None

    @classmethod
    def at(cls, path: str, record: Record | None = None) -> Ran | None:
        """Run of a check that the node at `path` is; None for another node."""
        found = _NODE.fullmatch(path)
        if found is None:
            return None
        done = record is not None and record.status is Status.COMPLETED
        verdict = from_json(record.output["verdict"]) if record is not None and done else None
        error = None if record is None else record.error
        return cls(found[1], int(found[2] or 0), found[3] is not None, int(found[4]) - 1, verdict, error)


@dataclass(slots=True)
class RunView:
    """View of what is known of a run.

    Attributes:
        brought: the commits; None while they are not settled.
        findings: what came of it; None while or where nothing did.
        ran: the checks that ran, in the order in which they ended.
    """

    options: MergeOptions
    status: RunStatus
    brought: Brought | None = None
    findings: Findings | None = None
    ran: list[Ran] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether all landed."""
        return self.findings is not None and len(self.findings.landed) == len(self.options.refs)

    def facts(self) -> Mapping[str, Any]:
        """Facts that name the commits of all that landed, to be shown and landed; empty where nothing did."""
        found = self.findings
        if found is None or not found.landed:
            return {}
        return {"commit": found.tip, "judged": found.tip, "base": found.base}


def run_view(history: History, status: RunStatus) -> RunView:
    """View of how the run of this journal stands."""
    found = RunView(MergeOptions.from_json(history.meta["options"]), status)
    brought = history.decisions.get("brought")
    found.brought = None if brought is None else Brought.from_json(brought)
    if history.ending and history.status is status and "findings" in history.ending:
        found.findings = Findings.from_json(history.ending["findings"])
    records = sorted(history.records.items(), key=lambda entry: entry[1].ended_at)
    found.ran = [ran for path, record in records if (ran := Ran.at(path, record)) is not None]
    return found
