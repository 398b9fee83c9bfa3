"""The example that README and `make demo` run: it is worth optimising, and its tests pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema

from bakeoff.cli.schema import output_schema

EXAMPLE = Path(__file__).parents[2] / "examples" / "optimize"


def test_the_rules_make_the_example_more_than_three_times_as_fast(tmp_path: Path) -> None:
    project = shutil.copytree(EXAMPLE, tmp_path / "library")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    words = [
        "optimize",
        "library/loans.py:returning_readers",
        "--seconds",
        "180",
        "--json",
        "--markdown",
        "text.md",
        "--run-id",
        "r",
    ]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff", *words], cwd=project, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    jsonschema.validate(found, output_schema("optimize"))
    (won,) = (one for one in found["candidates"] if one["file"] == found["winner"])
    assert won["speedup"]["low"] > 3
    assert won["receipt"]["speed"]["remeasured"]
    assert "membership-set" in (project / "text.md").read_text()

    def look(*args: str, status: int = 0) -> str:
        more = subprocess.run([sys.executable, "-m", "bakeoff", *args], cwd=project, capture_output=True, text=True)
        assert more.returncode == status, more.stderr
        return more.stdout + more.stderr

    jsonschema.validate(json.loads(look("show", "r", "--json")), output_schema("show"))
    assert "last_year_set = _as_set(last_year)" in look("show", "r")
    assert "behaves the same" in look("watch", "r")
    assert look("report", "r", "--markdown", "-o", "-").startswith((project / "text.md").read_text())
    look("report", "r", "-o", "page.html")
    page = (project / "page.html").read_text()
    assert "<h2>Speed-ups</h2><div" in page
    assert "+    last_year_set = _as_set(last_year)" in page
