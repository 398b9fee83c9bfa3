from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FLOW = """
workflow: {id: w, name: w}
steps:
  - {id: a, type: shell, run: "kill -s $SIGNAL $COORDINATOR"}
  - {id: b, type: shell, run: "touch went-on"}
"""


@pytest.mark.parametrize("signal", ["HUP", "INT"])
def test_a_signal_that_was_ignored_on_entry_stays_ignored(tmp_path: Path, signal: str) -> None:
    (tmp_path / "w.yml").write_text(FLOW)
    start = f"trap '' {signal}; export SIGNAL={signal} COORDINATOR=$$; exec {sys.executable} -m bakeoff run w.yml -q"
    done = subprocess.run(["sh", "-c", start], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "went-on").exists()
