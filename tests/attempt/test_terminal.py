"""Progress on a terminal."""

from __future__ import annotations

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
