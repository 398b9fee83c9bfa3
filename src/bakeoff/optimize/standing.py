"""An optimisation as its journal has it: live, ended, or left in the middle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.entrant import Entrant, judgement_of, profile_of
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.sources.source import ProfileLine

JOB = "optimize"


@dataclass(slots=True)
class Standing:
    """What is known of a run.

    Attributes:
        options: what was asked for.
        entrants: the candidates by number.
        baseline: the receipt of the original; None while there is none.
        bench: of a command that is timed: what it gives where nothing was changed, and what judges behaviour.
        winner: the number of the winner; None while or where there is none.
        result: names the commit that the winner is kept as.
        snapshot: the commit that all is compared with.
        profiles: where the time goes, by number of the candidate.
        races: the speeds that each race found, by number of the candidate.
        usage: what is paid for.
    """

    options: OptimizeOptions
    status: RunStatus
    entrants: dict[int, Entrant] = field(default_factory=dict)
    baseline: Mapping[str, Any] | None = None
    bench: Mapping[str, Any] | None = None
    winner: int | None = None
    result: Mapping[str, Any] | None = None
    snapshot: str | None = None
    profiles: dict[int, tuple[ProfileLine, ...]] = field(default_factory=dict)
    races: list[dict[int, Speed]] = field(default_factory=list)
    usage: Mapping[str, float] = field(default_factory=dict)

    @property
    def chosen(self) -> Entrant | None:
        """The winner."""
        return None if self.winner is None else self.entrants.get(self.winner)

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        chosen = self.chosen
        shown: dict[str, Any] = {} if self.options.bench is None else {"bench": self.bench and dict(self.bench)}
        return shown | {
            "baseline": None if self.baseline is None else dict(self.baseline),
            "candidates": [entrant.to_json() for entrant in self.entrants.values()],
            "winner": None if chosen is None else chosen.file,
        }


def standing(history: History, status: RunStatus) -> Standing:
    """How the run of this journal stands."""
    found = Standing(OptimizeOptions.from_json(history.meta["options"]), status)
    found.usage = {kind: round(amount, 9) for kind, amount in history.usage.items() if amount}
    found.snapshot = (history.decisions.get("snapshot") or {}).get("commit")
    if history.ending and history.status is status:
        found.winner, found.result = history.ending.get("winner"), history.ending.get("result")
    read_nodes(found, history, "")
    return found


def read_nodes(found: Standing, history: History, prefix: str) -> None:
    """Add what the nodes say whose paths begin with `prefix`."""
    records = {path[len(prefix) :]: record for path, record in history.records.items() if path.startswith(prefix)}
    number = 1
    while (record := records.get(f"candidate:{number}")) is not None:
        kept = record.output
        entrant = Entrant(number, kept["source"], Candidate.from_json(kept["candidate"]), kept["twin"])
        judged = records.get(f"candidate:{number}/behaviour")
        entrant.judgement = None if judged is None or not judged.final else judgement_of(judged)
        found.entrants[number] = entrant
        number += 1
    races = sorted((int(path[5:]), record) for path, record in records.items() if path.startswith("race:"))
    for _, record in races:
        if not record.final:
            continue
        speeds = {int(name): Speed.from_json(speed) for name, speed in record.output["speeds"].items()}
        found.races.append(speeds)
        for number, speed in speeds.items():
            found.entrants[number].speed = speed
    for path, record in records.items():
        if path.startswith("baseline:") and record.final:
            found.baseline = record.output
        elif path == "bench" and record.final:
            found.bench = record.output
        elif path.startswith("profile:") and record.final:
            found.profiles[int(path.removeprefix("profile:"))] = profile_of(record)
