"""kill -9 at journal writes and at random moments; in the soak at every write and at many more moments."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crash.laboratory import KILLED, Project, Zygote, wait_until_gone

SOAK = bool(os.environ.get("BAKEOFF_SOAK"))
MOMENTS = 200 if SOAK else 4
FIRST = int(os.environ.get("BAKEOFF_FIRST_SEED", "0"))


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.close()


@pytest.fixture(scope="module")
def expected(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The normalised report of a run that nobody interrupted."""
    project = Project.make(tmp_path_factory.mktemp("whole") / "project", zygote)
    assert project.session() == 0, project.stderr()
    report = project.report()
    assert report["status"] == "completed"
    assert report["outputs"] == {"last": "two\n\n"}
    return report


def resumed(project: Project, expected: dict[str, Any], **crash: Any) -> int:
    """One more session after a kill, checked against what the sessions before it left on disk."""
    wait_until_gone(project.folder)
    if project.completed():
        assert project.report() == expected
        return 0
    done = project.committed()
    before = set(itertools.chain(*(project.ran(number) for number in range(1, project.sessions + 1))))
    status = project.session(**crash)
    ran = project.ran(project.sessions)
    assert not set(ran) & done, "a committed node ran twice"
    if status != KILLED:
        assert status == 0, project.stderr()
        assert set(ran) & before == before - done, "the nodes that ran again are not those that were in flight"
        assert project.report() == expected
    return status


@pytest.mark.soak
@pytest.mark.parametrize("half", [0, 1])
def test_killed_at_journal_writes(zygote: Zygote, expected: dict[str, Any], tmp_path: Path, half: int) -> None:
    """Before every eighth commit, and after the one that follows; in the soak before and after every commit."""
    for number in itertools.count(1 + half, 2 if SOAK else 8):
        for when in ("before", "after") if SOAK else (("before", "after")[half],):
            project = Project.make(tmp_path / f"{number}{when}", zygote)
            status = project.session(at=number, when=when)
            if status == 0:
                assert number > 20, "the run has too few commits to mean anything"
                return
            assert status == KILLED, project.stderr()
            assert resumed(project, expected) == 0


@pytest.mark.soak
@pytest.mark.parametrize("slow", [0.0, 0.01])
def test_killed_at_random_moments_again_and_again(
    zygote: Zygote, expected: dict[str, Any], tmp_path: Path, slow: float
) -> None:
    for seed in range(FIRST, FIRST + MOMENTS // 2):
        chance = random.Random(seed)
        project = Project.make(tmp_path / str(seed), zygote)
        try:
            status = project.session(after=chance.uniform(0.0, 0.6), slow=slow)
            for _ in range(chance.randint(0, 2)):
                if status == KILLED:
                    status = resumed(project, expected, after=chance.uniform(0.0, 0.4), slow=slow)
            while status == KILLED:
                status = resumed(project, expected, slow=slow)
            assert status == 0, project.stderr()
            assert project.report() == expected
        except AssertionError as failure:
            failure.add_note(f"replay: BAKEOFF_FIRST_SEED={seed} pytest tests/crash -k random")
            raise
