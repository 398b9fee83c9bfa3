"""What a merge says while it runs."""

from __future__ import annotations

from bakeoff.cli.display import Display
from bakeoff.engine.events import Events, NodeEnded, NodeStarted, Warned
from bakeoff.engine.record import Record, Status
from bakeoff.judge.verdict import ValidationResult, to_json
from bakeoff.plan.events import QueueSaid
from bakeoff.plan.queue.lines import MergeProgress


def ended(path, verdict=None, error=None, reused=False):
    status = Status.FAILED if verdict is None else Status.COMPLETED
    output = {} if verdict is None else {"verdict": to_json(verdict)}
    return NodeEnded(2.0, Record(path, "check", status, output, error, started_at=1.0, ended_at=2.0), reused)


def drawn(progress, room):
    return "\n".join("".join(text for text, _ in row) for row in progress.now(room))


def test_lines_and_what_runs_now(capsys):
    events = Events()
    lines = MergeProgress(("one", "two"))
    Display(events, lines)
    events.emit(NodeStarted(1.0, "own:2:abcdef0123/check:1", "check"))
    events.emit(NodeStarted(1.0, "merged:3:abcdef0123/check:2", "check"))
    events.emit(NodeStarted(1.0, "lockfile:abcdef", "lockfile"))
    now = drawn(lines, 5)
    assert "2 checks running" in now
    assert "▶ two alone, check 1" in now
    assert "▶ test run 3 of the merge, check 2" in now
    assert drawn(lines, 1).count("▶") == 1
    events.emit(ended("own:2:abcdef0123/check:1", ValidationResult(True)))
    events.emit(ended("own:9:again:abcdef0123/check:1", ValidationResult(True), reused=True))
    events.emit(ended("merged:3:abcdef0123/check:2", ValidationResult(False, "exit status 1\nmore")))
    events.emit(ended("base:abcdef0123/check:1", error="no sandbox"))
    events.emit(ended("lockfile:abcdef", ValidationResult(True)))
    events.emit(QueueSaid(1.0, "two conflicts with one"))
    events.emit(Warned(1.0, "careful"))
    assert "0 checks running" in drawn(lines, 5)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "✓ two alone, check 1 (1.00 s)",
        "✓ result 9 alone once more, check 1 (kept from before)",
        "✗ test run 3 of the merge, check 2: exit status 1 (1.00 s)",
        "✗ the base, check 1: no sandbox (1.00 s)",
        "· two conflicts with one",
        "! careful",
    ]
