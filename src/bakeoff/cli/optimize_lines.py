"""Progress of an optimisation: a line on standard error for each thing that is known."""

from __future__ import annotations

import re

from bakeoff.cli.say import say
from bakeoff.engine.events import Event, Events, NodeEnded, NodeStarted, RunChanged, Warned
from bakeoff.engine.record import Record
from bakeoff.report.escape import one_line
from bakeoff.report.words import counted, duration

_CANDIDATE = re.compile(r"candidate:(\d+)(/behaviour)?")


class OptimizeLines:
    """Says what happens.

    Args:
        events: what happens.
    """

    def __init__(self, events: Events) -> None:
        self.mask = events.mask_text
        self.names: dict[str, str] = {}
        events.subscribe(self)

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""
        match event:
            case RunChanged() if event.status == "running":
                self._say(f"▶ run {event.run_id}")
            case Warned():
                self._say(f"! {event.text}")
            case NodeStarted() if event.path.startswith("race:"):
                self._say("▶ measuring, with the machine alone")
            case NodeEnded():
                self._ended(event.record, event.reused)

    def _ended(self, record: Record, reused: bool) -> None:
        took = "kept from before" if reused else duration(record.ended_at - record.started_at)
        output = record.output
        if record.type == "baseline":
            self._say(f"· the original: {counted(int(output['tests']), 'test')}, {output['recorded']} calls to repeat, "
                      f"{output['derived']} derived ({took})")  # fmt: skip
        elif record.type == "race":
            for number, speed in output["speeds"].items():
                found = speed["speedup"]
                figure = "" if found is None else f": {found['estimate']:.2f}x, at least {found['low']:.2f}x"
                self._say(f"· {self._name(number)} {speed['verdict']}{figure}")
        elif (match := _CANDIDATE.fullmatch(record.path)) is not None:
            if match[2] is None:
                self.names[match[1]] = str(output["candidate"]["origin"])
                if output["twin"] is not None:
                    self._say(f"- {self._name(match[1])}: duplicate")
            elif output["reason"] is None:
                self._say(f"✓ {self._name(match[1])}: behaves the same ({took})")
            else:
                self._say(f"✗ {self._name(match[1])}: {output['reason']}: {output['detail']} ({took})")

    def _name(self, number: str) -> str:
        return f"candidate {number} {self.names.get(number, '')}".strip()

    def _say(self, text: str) -> None:
        say(one_line(self.mask(text), 400))
