"""Progress of an optimisation: a line for each thing that is known, and on a terminal a table of what is at work."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from bakeoff.cli.lines import Lines, heard_of
from bakeoff.engine.events import Event, Events, NodeEnded, NodeHeard, NodeStarted, RunChanged, Warned
from bakeoff.engine.record import Record
from bakeoff.optimize.all_functions.ranked import ProfiledTests
from bakeoff.optimize.options import NOTHING
from bakeoff.report.escape import one_line
from bakeoff.report.marks import MARKS, WITHOUT
from bakeoff.report.words import counted, duration

if TYPE_CHECKING:
    from rich.text import Text

PROFILED_EVERY = 10.0
"""Seconds between two lines that say how far the tests under a profiler are."""

_CANDIDATE = re.compile(r"((?:function:\d+/)?)candidate:(\d+)(/behaviour)?")

_SOURCE = re.compile(r"(?:function:\d+/)?source:(.+)")

_STAGES = {
    "baseline": "runs the tests on the original",
    "bench": "runs the commands on the original",
    "behaviour": "is judged",
    "ranking": "runs the tests under a profiler",
    "race": "measures, with the machine alone",
    "profile": "times lines",
}
"""What is said of the nodes that take time."""


class OptimizeLines(Lines):
    """Says what happens.

    Args:
        events: what happens.
    """

    def __init__(self, events: Events) -> None:
        super().__init__(events)
        self.names: dict[str, str] = {}
        self.stands: dict[str, str] = {}
        self.running: dict[str, float] = {}
        self.heard: dict[str, NodeHeard] = {}
        self.functions: dict[str, str] = {}
        self.profiled, self.profiled_at = "", self.began

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""
        match event:
            case RunChanged() if event.status == "running":
                self._say(f"▶ run {event.run_id}")
            case Warned():
                self._say(f"! {event.text}")
            case NodeStarted():
                if _work(event.path) is not None:
                    self.running[event.path] = time.monotonic()
                if event.type == "race":
                    self._say("▶ measuring, with the machine alone")
            case ProfiledTests():
                self._profiled(event)
            case NodeHeard():
                self.heard[event.path] = event
            case NodeEnded():
                self.running.pop(event.record.path, None)
                self.heard.pop(event.record.path, None)
                self._ended(event.record, event.reused)

    def _profiled(self, event: ProfiledTests) -> None:
        """On a terminal that is drawn; elsewhere it is said now and then."""
        self.profiled = f"{counted(event.ended, 'test')} have ended, now {event.test}"
        now = time.monotonic()
        if not self.on_terminal and now - self.profiled_at >= PROFILED_EVERY:
            self.profiled_at = now
            self._say(f"· the tests under a profiler: {self.profiled}")

    def _ended(self, record: Record, reused: bool) -> None:
        took = "kept from before" if reused else duration(record.ended_at - record.started_at)
        output = record.output
        if not record.final:
            return
        if record.type == "baseline":
            self._say(f"· the original: {counted(int(output['tests']), 'test')}, {output['recorded']} calls to repeat, "
                      f"{output['derived']} derived ({took})")  # fmt: skip
        elif record.type == "bench":
            by = {"checks": "checks are met", "nothing": "nothing judges behaviour"}.get(output["judged_by"], "")
            self._say(f"· the original takes {output['seconds']:.3g} s{f', {by}' if by else ''} ({took})")
        elif record.type == "ranking":
            self.profiled = ""
            self.functions = {
                f"function:{number}/": str(one["target"]) for number, one in enumerate(output["functions"], 1)
            }
            self._say(f"· {counted(len(self.functions), 'function')} that tests reach ({took})")
        elif record.type == "function":
            how = "faster" if output["winner"] is not None else output["error"] or "no winner"
            sign, _ = MARKS["completed" if output["winner"] is not None else WITHOUT]
            self._say(f"{sign} {self.functions.get(f'{record.path}/', record.path)}: {how}")
        elif record.type == "race":
            for name, speed in output["speeds"].items():
                number = record.path[: record.path.rindex("race:")] + name
                found = speed["speedup"]
                figure = "" if found is None else f": {found['estimate']:.2f}x"
                if found is not None:
                    figure += f", at least {found['low']:.2f}x" if found["low"] else " so far"
                self._stand(number, f"{speed['verdict']}{figure}")
                self._say(f"· {self._name(number)} {speed['verdict']}{figure}")
        elif (match := _CANDIDATE.fullmatch(record.path)) is not None:
            number = match[1] + match[2]
            if match[3] is None:
                self.names[number] = str(output["candidate"]["origin"])
                if output["twin"] is not None:
                    self._stand(number, "duplicate")
                    self._say(f"- {self._name(number)}: duplicate")
            elif output["reason"] is None and output.get("receipt", {}).get("judged_by") == NOTHING:
                self._stand(number, "not judged")
                self._say(f"- {self._name(number)}: nothing judges its behaviour: no --check was given")
            elif output["reason"] is None:
                self._stand(number, "behaves the same")
                self._say(f"✓ {self._name(number)}: behaves the same ({took})")
            else:
                self._stand(number, str(output["reason"]))
                self._say(f"✗ {self._name(number)}: {output['reason']}: {output['detail']} ({took})")

    def _name(self, number: str) -> str:
        prefix, _, own = number.rpartition("/")
        whose = f"{self.functions.get(f'{prefix}/', prefix)}, " if prefix else ""
        return f"{whose}candidate {own} {self.names.get(number, '')}".strip()

    def _stand(self, number: str, how: str) -> None:
        self.stands[number] = how

    def _now(self, room: int) -> Text:
        """What is at work, and how each candidate stands; those that came last where there is no room for all."""
        from rich.text import Text

        now = time.monotonic()
        text = Text(f"{counted(len(self.names), 'candidate')}, {duration(now - self.began)}\n", "bold", end="")
        for path, since in list(self.running.items()):
            if (match := _CANDIDATE.fullmatch(path)) is None:
                heard = heard_of(self.heard.get(path), time.time())
                text.append(f"  ▶ {_work(path)}  ", "cyan").append(f"{duration(now - since)}{heard}\n", "bright_black")
            else:
                self.stands[match[1] + match[2]] = f"is judged, {duration(now - since)}"
        if self.profiled:
            text.append(f"  {one_line(self.mask(self.profiled), 110)}\n", "bright_black")
        left = max(1, room - len(text.plain.splitlines()))
        for number in list(self.names)[-left:]:
            name = one_line(self.mask(self.names[number]), 50)
            text.append(f"  {number.rpartition('/')[2]:>3} {name:<50} {self.stands.get(number, 'waits')}\n")
        return text


def _work(path: str) -> str | None:
    """What is said of a node that takes time; None of others."""
    source = _SOURCE.fullmatch(path)
    return _STAGES.get(_stage(path)) if source is None else f"{one_line(source[1], 60)} is asked"


def _stage(path: str) -> str:
    """What a node does: `candidate:3/behaviour` and `race:1` are of the stages `behaviour` and `race`."""
    return path.rpartition("/")[2].partition(":")[0]
