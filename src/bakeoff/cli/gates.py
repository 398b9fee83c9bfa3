"""The gates that a run waits at."""

from __future__ import annotations

from bakeoff.engine.control import send
from bakeoff.engine.history import History
from bakeoff.engine.record import Record, Status
from bakeoff.engine.store import RunFolder


def waiting_gates(folder: RunFolder) -> dict[str, tuple[str, ...]]:
    """The options of each gate that waits, by path; of a live run it is asked, of another its journal.

    Passes on BakeoffError: the journal cannot be read, or the run does not answer.
    """
    reply = send(folder.root, {"do": "gates"}, timeout=5.0)
    if reply is not None:
        return {path: tuple(options) for path, options in reply["gates"].items()}
    return open_gates(folder.history())


def open_gates(history: History) -> dict[str, tuple[str, ...]]:
    """The same, of a run that nobody runs now."""
    return {path: options for path, record in history.records.items() if (options := gate_options(record)) is not None}


def gate_options(record: Record) -> tuple[str, ...] | None:
    """The options of a gate that paused; None for any other node, and for one that only holds such a gate."""
    gate = (record.facts or {}).get("gate")
    if record.status is not Status.PAUSED or not gate or gate.get("step_id") != record.path:
        return None
    return tuple(gate["options"])
