"""The normalised report: what a run came to, without anything that depends on when, how often or how wide it ran.

Two runs of a file with deterministic steps that do not halt have the same normalised report whatever their bound
was and wherever they were interrupted and resumed. These are the fields it leaves out:
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RUN_FIELDS = frozenset({"run_id", "created_at", "updated_at", "damaged"})
"""Of the run: its name, its times, and which lines of its journal were lost."""

STEP_FIELDS = frozenset({"started_at", "ended_at", "attempts", "retries"})
"""Of a step: its times, and how often it was started."""

OUTPUT_FIELDS = frozenset({"max_concurrency"})
"""Of an output: how wide it was asked to be."""

FACTS = frozenset({"traceback", "session_id"})
"""Of a step's facts: what names addresses and sessions of one machine."""


def normalised(state: Mapping[str, Any]) -> dict[str, Any]:
    """The normalised report of a run's state (`show --json`); equal for equal results."""
    found = {name: value for name, value in state.items() if name not in RUN_FIELDS}
    found["steps"] = {path: _step(step) for path, step in sorted(state["steps"].items())}
    return found


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in step.items() if name not in STEP_FIELDS}
    if found.get("output"):
        found["output"] = _output(found["output"])
    if found.get("facts"):
        found["facts"] = {name: value for name, value in found["facts"].items() if name not in FACTS}
    return found


def _output(value: Any) -> Any:
    """Outputs may hold others (`results`); the place of a file differs from run to run, its size does not."""
    if isinstance(value, Mapping):
        return {
            name: _output(part)
            for name, part in value.items()
            if name not in OUTPUT_FIELDS and not (str(name).endswith("_file") and f"{str(name)[:-5]}_bytes" in value)
        }
    return [_output(part) for part in value] if isinstance(value, list) else value
