"""Winners tested as they would be applied: what fails without instrumentation, and what is slow except while timed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bakeoff.judge.checks import runner_output
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.judges.applied_tests import PAIRS, AppliedTests, Run

pytestmark = pytest.mark.anyio

GOOD = Judgement(None, "", {"tests": 2})
CANDIDATE = Candidate("files/a.py", {"a.py": b"x = 1\n"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def run(seconds: float, passing: Sequence[str] = ("a", "b"), failing: Sequence[str] = ()) -> Run:
    names = frozenset([*passing, *failing])
    return Run(runner_output.Tests("pytest", len(names), len(failing), 0, tuple(failing), "junit", names), seconds)


async def judged(original: Sequence[Run], candidate: Sequence[Run]) -> tuple[Judgement, int]:
    """Judgement, and how many runs were made."""
    runs = {None: list(original), CANDIDATE.id: list(candidate)}
    count = 0

    async def made(one: Candidate | None) -> Run:
        nonlocal count
        count += 1
        return runs[None if one is None else one.id].pop(0)

    applied = AppliedTests(None, None)  # type: ignore[arg-type]
    return await applied.judge(made, CANDIDATE, GOOD), count


async def test_what_passes_as_before_is_kept_with_its_receipt() -> None:
    found, count = await judged([run(2.0)], [run(1.0)])
    assert (found.reason, count) == (None, 2)
    assert found.receipt == {"tests": 2, "as_applied": {"tests": 2, "seconds": 1.0, "seconds_before": 2.0}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (run(1.0, ["a"], ["b"]), "b: as it would be applied it fails, and passes with the original"),
        (run(1.0, ["a"]), "b: as it would be applied it does not run, and passes with the original"),
        (Run(None, 1.0, "pytest gave no report (exit status 3): none"), "as it would be applied: pytest gave no"),
    ],
)
async def test_a_test_that_passes_with_the_original_counts(found: Run, said: str) -> None:
    judgement, _ = await judged([run(1.0)], [found])
    assert judgement.reason == "test-failed"
    assert judgement.detail.startswith(said)


async def test_what_fails_with_the_original_too_is_nobodys_fault() -> None:
    judgement, _ = await judged([run(1.0, ["a"], ["b"])], [run(1.0, ["a"], ["b"])])
    assert judgement.same


async def test_where_the_original_gives_no_report_nothing_is_said_but_why() -> None:
    judgement, _ = await judged([Run(None, 1.0, "pytest gave no report")], [run(9.0)])
    assert judgement.same
    assert judgement.receipt["as_applied"] == {"tests": 0, "why": "pytest gave no report"}


async def test_tests_that_are_slower_each_time_tell_of_code_that_is_slow_unless_timed() -> None:
    judgement, count = await judged([run(1.0)] * PAIRS, [run(1.5)] * PAIRS)
    assert (judgement.reason, count) == ("not-faster", 2 * PAIRS)
    assert judgement.detail == "as it would be applied: the tests take 1.5 s with it, and 1.0 s with the original"


async def test_a_busy_machine_makes_nobody_slow() -> None:
    judgement, count = await judged([run(1.0)] * 3, [run(3.0), run(2.0), run(1.05)])
    assert (judgement.reason, count) == (None, 6)


async def test_tests_that_are_no_slower_than_the_original_mostly_is_are_not_slow() -> None:
    """Under growing load each pair may say so by chance; the quickest run beside the median does not."""
    before, after = [1.0, *(2.0 + n for n in range(PAIRS - 1))], [1.5 + 1.5 * n for n in range(PAIRS)]
    judgement, count = await judged([run(seconds) for seconds in before], [run(seconds) for seconds in after])
    assert (judgement.reason, count) == (None, 2 * PAIRS)
