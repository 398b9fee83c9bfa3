"""An optimisation as its journal has it: live, ended, or left in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.judge.timing.speed import UNDECIDED, Speed
from bakeoff.optimize.all_functions.ranked import Ranked
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.candidate_state import CandidateState, judgement_of, profile_of
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.sources.source import ProfileLine

JOB_NAME = "optimize"


@dataclass(slots=True)
class FunctionView:
    """One of the functions of a run for all of them.

    Attributes:
        ranked: what it takes of the tests' time.
        run_view: its own optimisation.
        error: what ended that; None where nothing did.
        ended: whether it has ended.
    """

    ranked: Ranked
    view: RunView
    error: str | None = None
    ended: bool = False

    @property
    def status(self) -> str:
        """`faster`, `no winner`, `failed`, or `open`."""
        if self.view.winner is not None:
            return "faster"
        if not self.ended:
            return "open"
        return "no winner" if self.error is None else "failed"

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        chosen = self.view.chosen
        speedup = None if chosen is None else chosen.to_json()["speedup"]
        own = {"status": self.status, "error": self.error, "speedup": speedup}
        return self.ranked.to_json() | own | self.view.to_json()


@dataclass(slots=True)
class RunView:
    """View of what is known of a run.

    Attributes:
        options: what was asked for.
        entrants: the candidates by number.
        baseline: the receipt of the original; None while there is none.
        bench: of a command that is timed: what it gives where nothing was changed, and what judges behaviour.
        winner: the number of the winner; None while or where there is none. Of a run for all functions, how many won.
        result: names the commit that the winner is kept as.
        snapshot: the commit that all is compared with.
        profiles: where the time goes, by number of the candidate.
        races: the speeds that each race found, by number of the candidate.
        usage: what is paid for.
        unreported: kinds of it that some call did not report.
        functions: of a run for all functions, in their order.
    """

    options: OptimizeOptions
    status: RunStatus
    entrants: dict[int, CandidateState] = field(default_factory=dict)
    baseline: Mapping[str, Any] | None = None
    bench: Mapping[str, Any] | None = None
    winner: int | None = None
    result: Mapping[str, Any] | None = None
    snapshot: str | None = None
    profiles: dict[int, tuple[ProfileLine, ...]] = field(default_factory=dict)
    races: list[dict[int, Speed]] = field(default_factory=list)
    usage: Mapping[str, float] = field(default_factory=dict)
    unreported: Set[str] = frozenset()
    functions: list[FunctionView] = field(default_factory=list)

    @property
    def chosen(self) -> CandidateState | None:
        """The winner."""
        return None if self.winner is None else self.entrants.get(self.winner)

    @property
    def undecided(self) -> list[CandidateState]:
        """Of a run for one function that has no winner: who may be found faster in more time."""
        if self.winner is not None or self.options.every or self.status is not RunStatus.COMPLETED:
            return []
        return [entrant for entrant in self.entrants.values() if entrant.reason == UNDECIDED]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        if self.options.every:
            won = ", ".join(each.ranked.target for each in self.functions if each.status == "faster")
            functions = [each.to_json() for each in self.functions]
            return {"baseline": None, "candidates": [], "winner": won or None, "functions": functions}
        chosen = self.chosen
        shown: dict[str, Any] = {} if self.options.bench is None else {"bench": self.bench and dict(self.bench)}
        return shown | {
            "baseline": None if self.baseline is None else dict(self.baseline),
            "candidates": [entrant.to_json() for entrant in self.entrants.values()],
            "winner": None if chosen is None else chosen.file,
        }


def run_view(history: History, status: RunStatus) -> RunView:
    """View of how the run of this journal stands."""
    found = RunView(OptimizeOptions.from_json({**history.meta["options"], **history.inputs}), status)
    found.unreported = history.unreported
    found.usage = {kind: round(amount, 9) for kind, amount in history.usage.items() if amount}
    found.snapshot = (history.decisions.get("snapshot") or {}).get("commit")
    if history.ending and history.status is status:
        found.winner, found.result = history.ending.get("winner"), history.ending.get("result")
    if found.options.every:
        _read_functions(found, history)
    else:
        read_nodes(found, history, "")
    return found


def _read_functions(found: RunView, history: History) -> None:
    ranking = history.records.get("ranking")
    names = [] if ranking is None or not ranking.final else ranking.output["functions"]
    for number, name in enumerate(names[: found.options.top], 1):
        ranked, path = Ranked.from_json(name), f"function:{number}"
        own = RunView(replace(found.options, target=ranked.target, every=False), found.status)
        read_nodes(own, history, f"{path}/")
        one = FunctionView(ranked, own)
        record = history.records.get(path)
        if record is not None and record.final:
            one.ended, one.error = True, record.output["error"]
        for each in own.entrants:
            if f"{path}/winner:{each}" in history.records:
                own.winner = each
        found.functions.append(one)


def read_nodes(found: RunView, history: History, prefix: str) -> None:
    """Add what the nodes say whose paths begin with `prefix`."""
    records = {path[len(prefix) :]: record for path, record in history.records.items() if path.startswith(prefix)}
    number = 1
    while (record := records.get(f"candidate:{number}")) is not None:
        kept = record.output
        entrant = CandidateState(number, kept["source"], Candidate.from_json(kept["candidate"]), kept["twin"])
        judged = records.get(f"candidate:{number}/applied") or records.get(f"candidate:{number}/behaviour")
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
