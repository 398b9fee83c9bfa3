"""A run's state as plain data: what `show --json` prints and the HTML report draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import Record, RunStatus, Status, Stored
from bakeoff.engine.store import RunFolder
from bakeoff.report.words import reported


def run_state(folder: RunFolder, history: History | None = None) -> dict[str, Any]:
    """The whole state of a run, live or not; `history` where its journal has been read already.

    Passes on JournalError: its journal cannot be read.
    """
    history = history or folder.history()
    status, error = folder.status_and_error(history)
    return {
        "run_id": folder.id,
        "workflow_id": history.meta.get("workflow_id"),
        "status": status.value,
        "error": error,
        "created_at": history.meta.get("created_at"),
        "updated_at": history.updated_at,
        "usage": {kind: round(amount, 9) for kind, amount in history.usage.items() if amount},
        "inputs": history.inputs,
        "current_step_id": history.ending.get("current_step_id"),
        "current_step_index": history.ending.get("current_step_index"),
        "gate": history.ending.get("gate") if status is not RunStatus.RUNNING else None,
        "outputs": history.ending.get("outputs"),
        "damaged": history.damaged,
        "steps": steps(history, status),
    }


def steps(history: History, status: RunStatus) -> dict[str, Any]:
    """Every node by path; a step inside a loop also by its bare id, for its newest pass."""
    found: dict[str, Any] = {}
    for path, record in history.records.items():
        found[path] = _step(record, history)
    unfinished = {path: start for path, start in history.starts.items() if path not in history.records}
    for path, start in {**unfinished, **history.open}.items():
        live = status is RunStatus.RUNNING
        found[path] = {
            "type": None,
            "status": (Status.RUNNING if live else Status.PENDING).value,
            "input": None,
            "output": None,
            "error": None if live else "interrupted before it ended",
            "started_at": start.at,
            "ended_at": None,
            "attempts": start.attempt,
        }
    for path, shown in list(found.items()):
        if bare := _bare(path, history):
            found[bare] = shown
    return found


def _bare(path: str, history: History) -> str | None:
    """The id under which a step of a loop's pass is known in the file; None for any other path."""
    head, _, number = path.rpartition(":")
    loop, _, step = head.rpartition(":")
    if not number.isdigit() or not loop or "/" in step:
        return None
    record = history.records.get(loop)
    is_loop = (
        record.type in ("while", "do-while")
        if record
        else f"{loop}#0" in history.decisions or f"{loop}#1" in history.decisions
    )
    return step if is_loop else None


def _step(record: Record, history: History) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": record.type,
        "status": record.status.value,
        "input": record.input or {},
        "output": output(record, history),
        "error": record.error,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "attempts": record.attempts,
    }
    if record.usage:
        shown["usage"] = reported(record.usage)
    if record.kind:
        shown["kind"] = record.kind
    if record.facts:
        shown["facts"] = record.facts
    if record.continued:
        shown["continued"] = True
    if record.path in history.retries:
        shown["retries"] = history.retries[record.path]
    return shown


def output(record: Record, history: History) -> dict[str, Any]:
    """A record's output with collected results put together, and excerpts for what is kept in files."""
    facts = record.facts or {}
    shown: dict[str, Any] = {}
    if record.type == "fan-out" and "template" in facts:
        shown["items"] = history.decisions.get(f"{record.path}#items")
        paths = (f"{record.path}:{facts['template']}:{index}" for index in range(facts["collected"]))
        shown["results"] = [_collected(history.records.get(path), history) for path in paths]
    elif record.type == "fan-in" and "gathered" in facts:
        shown["results"] = [
            _collected(history.records.get(path) if path else None, history) for path in facts["gathered"]
        ]
    return shown | displayed(record.output)


def _collected(record: Record | None, history: History) -> Mapping[str, Any]:
    return output(record, history) if record else {}


def displayed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for display: of one kept in a file its excerpt, with `NAME_file` and `NAME_bytes` beside it."""
    shown: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Stored):
            shown |= {name: value.excerpt, f"{name}_file": value.path, f"{name}_bytes": value.size}
        else:
            shown[name] = value
    return shown
