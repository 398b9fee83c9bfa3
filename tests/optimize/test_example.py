"""The example that README and `make demo` run: it is worth optimising, and its tests pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "optimize"


def test_the_rules_make_the_example_more_than_three_times_as_fast(tmp_path: Path) -> None:
    project = shutil.copytree(EXAMPLE, tmp_path / "library")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    words = ["optimize", "library/loans.py:returning_readers", "--seconds", "180", "--json"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff", *words], cwd=project, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (won,) = (one for one in found["candidates"] if one["file"] == found["winner"])
    assert won["speedup"]["low"] > 3
