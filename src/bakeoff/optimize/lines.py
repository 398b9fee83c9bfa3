"""Progress of an optimisation: a line for each thing that is known, and a table of what is at work."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.engine.events import Event, NodeEnded, NodeStarted
from bakeoff.engine.record import Record
from bakeoff.jobs.progress import Progress, Row, took, work_rows
from bakeoff.optimize.all_functions.ranked import ProfiledTests
from bakeoff.optimize.options import NOTHING
from bakeoff.report.escape import one_line
from bakeoff.report.marks import MARKS, WITHOUT
from bakeoff.report.words import counted, duration

PROFILED_EVERY = 10.0
"""Seconds between two lines that say how far the tests under a profiler are."""

_CANDIDATE = re.compile(r"((?:function:\d+/)?)candidate:(\d+)(/behaviour|/applied)?")

_SOURCE = re.compile(r"(?:function:\d+/)?source:(.+)")

_STAGES = {
    "baseline": "runs the tests on the original",
    "bench": "runs the commands on the original",
    "behaviour": "is judged",
    "applied": "is tested as it would be applied",
    "ranking": "runs the tests under a profiler",
    "race": "measures, with the machine alone",
    "profile": "times lines",
}
"""What is said of the nodes that take time."""


class OptimizeProgress(Progress):
    """Formatter of an optimisation; see `Progress`."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        self.stands: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.profiled, self.profiled_at = "", self.began

    def noted(self, event: Event) -> Iterator[str]:
        """See `Progress`."""
        match event:
            case NodeStarted():
                if (what := _work(event.path)) is not None:
                    self.begin(event.path, what)
                if event.type == "race":
                    yield "▶ measuring, with the machine alone"
            case ProfiledTests():
                yield from self._profiled(event)
            case NodeEnded() if event.record.final:
                yield from self._ended(event.record, took(event))

    def _profiled(self, event: ProfiledTests) -> Iterator[str]:
        """On a terminal that is drawn; elsewhere it is said now and then."""
        self.profiled = f"{counted(event.ended, 'test')} have ended, now {event.test}"
        now = time.monotonic()
        if not self.on_terminal and now - self.profiled_at >= PROFILED_EVERY:
            self.profiled_at = now
            yield f"· the tests under a profiler: {self.profiled}"

    def _ended(self, record: Record, took: str) -> Iterator[str]:
        output = record.output
        match record.type:
            case "baseline":
                tests = counted(int(output["tests"]), "test")
                calls = f"{output['recorded']} calls to repeat, {output['derived']} derived"
                yield f"· the original: {tests}, {calls} ({took})"
            case "bench":
                by = {"checks": "checks are met", "nothing": "nothing judges behaviour"}.get(output["judged_by"], "")
                yield f"· the original takes {output['seconds']:.3g} s{f', {by}' if by else ''} ({took})"
            case "ranking":
                self.profiled = ""
                ranked = enumerate(output["functions"], 1)
                self.functions = {f"function:{number}/": str(one["target"]) for number, one in ranked}
                yield f"· {counted(len(self.functions), 'function')} that tests reach ({took})"
            case "function":
                how = "faster" if output["winner"] is not None else output["error"] or "no winner"
                sign, _ = MARKS["completed" if output["winner"] is not None else WITHOUT]
                yield f"{sign} {self.functions.get(f'{record.path}/', record.path)}: {how}"
            case "race":
                yield from self._raced(record)
            case _ if (match := _CANDIDATE.fullmatch(record.path)) is not None:
                yield from self._candidate(match, output, took)

    def _raced(self, record: Record) -> Iterator[str]:
        for name, speed in record.output["speeds"].items():
            number = record.path[: record.path.rindex("race:")] + name
            found = speed["speedup"]
            figure = "" if found is None else f": {found['estimate']:.2f}x"
            if found is not None:
                figure += f", at least {found['low']:.2f}x" if found["low"] else " so far"
            self.stands[number] = f"{speed['verdict']}{figure}"
            yield f"· {self._name(number)} {speed['verdict']}{figure}"

    def _candidate(self, match: re.Match[str], output: Mapping[str, Any], took: str) -> Iterator[str]:
        """A candidate was found (it has no stage), was judged, or was tested as it would be applied."""
        number = match[1] + match[2]
        if match[3] is None:
            self.names[number] = str(output["candidate"]["origin"])
            if output["twin"] is not None:
                self.stands[number] = "duplicate"
                yield f"- {self._name(number)}: duplicate"
        elif output["reason"] is None and output.get("receipt", {}).get("judged_by") == NOTHING:
            self.stands[number] = "not judged"
            yield f"- {self._name(number)}: nothing judges its behaviour: no --check was given"
        elif output["reason"] is None and match[3] == "/applied":
            self.stands[number] = "its tests pass as it would be applied"
            yield f"✓ {self._name(number)}: {self.stands[number]} ({took})"
        elif output["reason"] is None:
            self.stands[number] = "behaves the same"
            yield f"✓ {self._name(number)}: behaves the same ({took})"
        else:
            self.stands[number] = str(output["reason"])
            yield f"✗ {self._name(number)}: {output['reason']}: {output['detail']} ({took})"

    def _name(self, number: str) -> str:
        prefix, _, own = number.rpartition("/")
        whose = f"{self.functions.get(f'{prefix}/', prefix)}, " if prefix else ""
        return f"{whose}candidate {own} {self.names.get(number, '')}".strip()

    def head(self) -> str:
        """See `Progress`."""
        return counted(len(self.names), "candidate")

    def now(self, room: int) -> Iterator[Row]:
        """Rows on what is at work, and on how each candidate stands; those that came last where not all have room."""
        now, rows = time.monotonic(), []
        judged = {path: match for path in self.running if (match := _CANDIDATE.fullmatch(path)) is not None}
        for path, match in judged.items():
            what = _STAGES[_stage(path)]
            self.stands[match[1] + match[2]] = f"{what}, {duration(now - self.running[path][1])}"
        rows = [*super().now(room)]
        if self.profiled:
            rows.append([(f"  {self.short(self.profiled, 110)}", "bright_black")])
        left = max(1, room - len(rows))
        for number in list(self.names)[-left:]:
            name = self.short(self.names[number], 50)
            rows.append([(f"  {number.rpartition('/')[2]:>3} {name:<50} {self.stands.get(number, 'waits')}", "")])
        yield from rows

    def at_work(self, most: int) -> Iterator[Row]:
        """See `Progress`: a candidate that is judged has a row of its own."""
        shown = {path: work for path, work in self.running.items() if _CANDIDATE.fullmatch(path) is None}
        yield from work_rows(shown, self.heard, most)


def _work(path: str) -> str | None:
    """Description of a node that takes time; None of others."""
    source = _SOURCE.fullmatch(path)
    return _STAGES.get(_stage(path)) if source is None else f"{one_line(source[1], 60)} is asked"


def _stage(path: str) -> str:
    """Stage of a node: `candidate:3/behaviour` and `race:1` are of the stages `behaviour` and `race`."""
    return path.rpartition("/")[2].partition(":")[0]
