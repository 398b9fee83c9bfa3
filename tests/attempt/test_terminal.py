"""Progress on a terminal."""

from __future__ import annotations

import json
import os
import sys

from attempt.conftest import FIX, FIXED
from cli.terminal import Terminal


def test_progress_is_live_on_a_terminal(lab):
    lab.agent(f"while [ ! -e {lab.place}/go ]; do sleep 0.02; done; {FIX}")
    argv = [sys.executable, "-m", "bakeoff", "attempt", "x", "--agent", "fake", "--check", FIXED]
    terminal = Terminal(argv, lab.root, {**os.environ, "TERM": "xterm"})
    terminal.wait_for("1 at work")
    terminal.wait_for("▶ attempt 1  ")
    (lab.place / "go").touch()
    terminal.wait_for("✓ attempt 1, check 1")
    terminal.wait_for("attempt 1 wins")
    assert terminal.wait() == 0


def test_that_an_agent_at_work_is_not_stuck_is_seen(lab):
    """When it last printed something, and the tokens that it has told of so far."""
    turn = {"type": "turn.completed", "usage": {"input_tokens": 1200, "cached_input_tokens": 0, "output_tokens": 34}}
    said = {"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}
    lab.agent(
        f"echo '{json.dumps(turn)}'; while [ ! -e {lab.place}/go ]; do sleep 0.02; done; {FIX}; "
        f"echo '{json.dumps(said)}'",
        more='events = "codex"', say=f"echo '{json.dumps(turn)}'",
    )  # fmt: skip
    argv = [sys.executable, "-m", "bakeoff", "attempt", "x", "--agent", "fake", "--check", FIXED]
    terminal = Terminal(argv, lab.root, {**os.environ, "TERM": "xterm"})
    terminal.wait_for(" ago, 1,234 tokens")
    (lab.place / "go").touch()
    terminal.wait_for("attempt 1 wins")
    assert terminal.wait() == 0
