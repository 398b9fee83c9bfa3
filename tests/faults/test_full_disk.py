"""A disk that is really full, and one that is really read-only: a small tmpfs, where this login may mount one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flows import HEAD

ROOT = Path(__file__).parents[2]
BIG = (
    HEAD
    + """
steps:
  - {id: first, type: shell, run: echo first >> /PLACE/trace}
  - id: fan
    type: fan-out
    items: [1, 2, 3, 4, 5, 6, 7, 8]
    max_concurrency: 2
    step: {id: it, type: shell, run: 'echo $BAKEOFF_NODE >> /PLACE/trace; head -c 100000 /dev/zero | tr "\\\\0" x'}
"""
)


@pytest.fixture
def small_disk(tmp_path: Path, mount_tmpfs: Callable[[Path, str], Path]) -> Path:
    return mount_tmpfs(tmp_path / "disk", "600k")


def bakeoff(place: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bakeoff", *argv],
        cwd=place,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_disk_full_stops_clearly_and_resumes(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "flow.yml").write_text(BIG.replace("/PLACE", str(tmp_path)))
    ended = bakeoff(small_disk, "run", "flow.yml", "--run-id", "it", "--quiet")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "space" in ended.stderr or "full" in ended.stderr, ended.stderr
    before = (tmp_path / "trace").read_text().split()
    assert before[0] == "first"
    subprocess.run(["mount", "-o", "remount,size=10m", small_disk], check=True)
    again = bakeoff(small_disk, "resume", "it", "--quiet")
    assert again.returncode == 0, again.stderr
    after = (tmp_path / "trace").read_text().split()
    assert after.count("first") == 1
    assert set(after) == {"first", *(f"fan:it:{index}" for index in range(8))}


def test_read_only_disk_is_one_clear_message(small_disk: Path, tmp_path: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=10m", small_disk], check=True)
    (small_disk / "flow.yml").write_text(HEAD + "steps:\n  - {id: g, type: gate, message: wait}\n")
    assert bakeoff(small_disk, "run", "flow.yml", "--run-id", "it", "--quiet").returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for argv in (["run", "flow.yml"], ["resume", "it"]):
        ended = bakeoff(small_disk, *argv)
        assert ended.returncode == 1
        assert "Traceback" not in ended.stderr
        assert "Read-only" in ended.stderr or "read-only" in ended.stderr or "readonly" in ended.stderr, ended.stderr
        assert len(ended.stderr.strip().splitlines()) <= 2
    assert bakeoff(small_disk, "show", "it", "--json").returncode == 0
