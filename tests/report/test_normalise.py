"""What the normalised report leaves out, and that it leaves out nothing else."""

from __future__ import annotations

import copy
from typing import Any

from bakeoff.report.normalise import normalised

STATE: dict[str, Any] = {
    "run_id": "r",
    "status": "completed",
    "created_at": 1.0,
    "updated_at": 2.0,
    "damaged": [3],
    "usage": {"calls": 2},
    "steps": {
        "b": {"status": "completed", "output": None, "error": None, "started_at": 1, "ended_at": 2, "attempts": 3},
        "a": {
            "status": "failed",
            "retries": ["x"],
            "facts": {"traceback": "at 0x1", "evidence": "exit-status"},
            "output": {
                "max_concurrency": 8,
                "item_count": 1,
                "results": [{"stdout": "x", "stdout_file": "/here/a.out", "stdout_bytes": 5, "own_file": "kept"}],
            },
        },
    },
}


def test_times_attempts_width_and_places_are_left_out() -> None:
    before = copy.deepcopy(STATE)
    report = normalised(STATE)
    assert report == {
        "status": "completed",
        "usage": {"calls": 2},
        "steps": {
            "a": {
                "status": "failed",
                "facts": {"evidence": "exit-status"},
                "output": {
                    "item_count": 1,
                    "results": [{"stdout": "x", "stdout_bytes": 5, "own_file": "kept"}],
                },
            },
            "b": {"status": "completed", "output": None, "error": None},
        },
    }
    assert list(report["steps"]) == ["a", "b"]
    assert before == STATE, "the state itself was changed"


def test_results_that_differ_stay_different() -> None:
    other = copy.deepcopy(STATE)
    other["steps"]["a"]["output"]["results"][0]["stdout"] = "y"
    assert normalised(other) != normalised(STATE)
