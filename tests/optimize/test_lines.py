"""The lines and the live table of an optimisation."""

from __future__ import annotations

import pytest

from bakeoff.cli.display import Display
from bakeoff.engine.events import Events, NodeEnded, NodeStarted, RunChanged, Warned
from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.optimize.lines import OptimizeProgress

SPEED = {"verdict": "faster", "speedup": {"estimate": 2.0, "low": 1.5, "high": None}}


def ended(path: str, output: dict, type_: str = "candidate", status: Status = Status.COMPLETED) -> NodeEnded:
    return NodeEnded(1.0, Record(path, type_, status, output, started_at=0.0, ended_at=1.0))


def drawn(progress: OptimizeProgress, room: int) -> str:
    return "\n".join("".join(text for text, _ in row) for row in progress.now(room))


def entered(number: int, origin: str, twin: int | None = None) -> NodeEnded:
    return ended(f"candidate:{number}", {"candidate": {"origin": origin}, "twin": twin})


def test_each_thing_that_is_known_is_a_line_and_the_table_says_how_all_stand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = Events()
    lines = OptimizeProgress()
    Display(events, lines)
    for event in (
        RunChanged(0.0, "r", RunStatus.RUNNING, None),
        Warned(0.0, "slots are few"),
        entered(1, "rules/one\x1b[2J"),
        entered(2, "rules/two", 1),
        entered(3, "rules/three"),
        entered(4, "rules/four"),
        NodeStarted(0.0, "candidate:4/behaviour", "behaviour", 1, 1),
        ended("candidate:1/behaviour", {"reason": None, "detail": ""}, "behaviour"),
        ended("candidate:3/behaviour", {"reason": "crash", "detail": "it crashed"}, "behaviour"),
        NodeStarted(0.0, "race:1", "race", 1, 1),
    ):
        events.emit(event)
    said = capsys.readouterr().err
    assert "! slots are few" in said
    assert "- candidate 2 rules/two: duplicate" in said
    assert "✗ candidate 3 rules/three: crash: it crashed" in said
    now = drawn(lines, 20)
    assert "4 candidates" in now
    assert "measures, with the machine alone" in now
    rows = {row.split()[0]: row for row in now.splitlines() if row.split()[0].isdigit()}
    assert rows["1"].endswith("behaves the same")
    assert rows["2"].endswith("duplicate")
    assert "is judged" in rows["4"]
    assert "\x1b" not in now
    events.emit(ended("race:1", {"speeds": {"1": SPEED}}, "race"))
    events.emit(ended("race:2", {}, "race", Status.FAILED))
    assert "· candidate 1 rules/one" in capsys.readouterr().err
    now = drawn(lines, 3)
    assert "measures" not in now
    assert len(now.splitlines()) == 3
    assert "faster: 2.00x, at least 1.50x" in drawn(lines, 20)
