"""JSON of a plan's run, as `--json` prints it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bakeoff.plan.run.view import RunView, Worked


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
