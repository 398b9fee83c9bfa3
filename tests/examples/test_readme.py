"""The README keeps its word: its starts run as they stand, and what it shows and links to is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def start(name: str) -> str:
    """The lines of the start of that name."""
    found = re.search(rf"\*\*{name}\.\*\*.*?\n\n((?:    [^\n]*\n)+)", README, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("name", "shown"), [("Attempt", "attempt 2 wins"), ("Workflow", "ask gate paused")])
def test_starts_run_as_they_stand(name: str, shown: str, tmp_path: Path) -> None:
    lines = start(name)
    assert lines.count("\n") <= 5
    script = "set -e\n" + lines.replace("/tmp", str(tmp_path))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", script], cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout + done.stderr


def test_what_optimize_starts_with_is_what_its_test_runs() -> None:
    assert "bakeoff optimize library/loans.py:returning_readers" in start("Optimize")  # tests/optimize/test_example.py


def test_the_workflow_is_the_example() -> None:
    assert f"```yaml\n{(ROOT / 'examples' / 'first.yml').read_text('utf-8')}```" in README


def test_links_and_pictures_are_there() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README) + re.findall(r'src(?:set)?="([^"]+)"', README):
        assert (ROOT / target).is_file(), target
    pictures = [path for path in (ROOT / "docs" / "pictures").iterdir() if path.suffix in (".svg", ".png")]
    assert len(pictures) == 4
    assert all(path.stat().st_size < 200_000 for path in pictures)
    drawn = [path.read_text("utf-8") for path in pictures if path.suffix == ".svg"]
    assert not any("url(http" in text or "href" in text for text in drawn)
