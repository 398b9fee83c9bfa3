"""Trials of merges in `benchmarks/merges`: which tests of a project break on what the rules make of a merge."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.merges.trials import Trial, try_merges

BASE = "import os\n\n\ndef one():\n    return 1\n"
TESTS = "import mod\n\ndef test_one():\n    assert mod.one() == 1\n"


@pytest.fixture
def merged(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes a clone in which both sides added an import, merged by people as told, with these tests."""

    def git(*words: str) -> None:
        user = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *user, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(text: str, tests: str) -> None:
        (tmp_path / "mod.py").write_text(text)
        (tmp_path / "test_mod.py").write_text(tests)
        git("add", ".")
        git("commit", "-qm", "c")

    def make(people: str, tests: str) -> Path:
        git("init", "-q")
        commit(BASE, tests)
        git("checkout", "-qb", "theirs")
        commit(BASE.replace("import os\n", "import os\nimport re\n"), tests)
        git("checkout", "-q", "main")
        commit(BASE.replace("import os\n", "import os\nimport sys\n"), tests)
        git("merge", "-q", "-s", "ours", "--no-commit", "theirs")
        commit(people, tests)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (TESTS, (1, ())),
        (TESTS + "\ndef test_two():\n    assert mod.two() == 2\n", (2, ("test_mod::test_two",))),
        ("import nothing_like_it\n", (0, ())),
    ],
)
def test_tests_that_pass_on_what_people_made_alone_are_broken(
    merged: Callable[[str, str], Path], tests: str, expected: tuple[int, tuple[str, ...]]
) -> None:
    people = BASE.replace("import os\n", "import os\nimport re\nimport sys\n") + "\n\ndef two():\n    return 2\n"
    (trial,) = try_merges(merged(people, tests), sys.executable)
    assert isinstance(trial, Trial)
    assert (trial.passed, trial.broken) == expected
    assert trial.files == ("mod.py",)
