"""Judges in sampling: what their errors do, what their calls cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff import RejectionSamplingStrategy, Requirement, Retry, SamplingError, sample
from bakeoff.model.protocol import ModelError, Usage
from sampling.worlds import Backend, rate_limited, real, unauthorised, virtual


def texts() -> Backend:
    return Backend(lambda n: (0.01, f"text {n}"))


def test_a_judge_with_a_wrong_key_stops_everything() -> None:
    async def main() -> None:
        model, judge = texts(), Backend(lambda _: (0.01, unauthorised()))
        strategy = RejectionSamplingStrategy(loop_budget=5, concurrency_budget=4)
        with pytest.raises(SamplingError, match="the judge of 'polite'") as caught:
            await sample("go", ["polite"], strategy=strategy, model=model, judge=judge)
        assert (caught.value.kind, caught.value.count) == ("auth", judge.started)
        assert judge.started <= 4
        assert model.started <= 8
        assert isinstance(caught.value.__cause__, ModelError)
        assert {one.verdicts[0].verdict for one in caught.value.result.attempts if one.judged} == {"error"}

    virtual(main)


def test_a_judge_is_asked_again_by_policy() -> None:
    async def main(retry: Retry) -> Any:
        judge = Backend(lambda n: (0.01, rate_limited() if n < 3 else "yes"))
        strategy = RejectionSamplingStrategy()
        return await sample("go", ["polite"], strategy=strategy, model=texts(), judge=judge, retry=retry)

    again = virtual(lambda: main(Retry(attempts=3, delay=1)))
    assert (again.success, again.usage.calls, again.usage.unknown) == (True, 4, 0)
    once = virtual(lambda: main(Retry()))
    assert (once.success, once.attempts[0].verdicts[0].error) == (False, "rate_limit")


def test_what_a_judge_used_in_vain_counts() -> None:
    async def main(failure: ModelError) -> Any:
        judge = Backend(lambda n: (0.01, failure))
        return await sample("go", ["polite"], strategy=RejectionSamplingStrategy(), model=texts(), judge=judge)

    lost = virtual(lambda: main(ModelError("lost", "connection")))
    assert (lost.usage.calls, lost.usage.unknown) == (2, 1)
    told = virtual(lambda: main(ModelError("no", "refusal", usage=Usage(1, 2))))
    assert (told.usage.tokens, told.usage.unknown) == (113, 0)


def test_a_permanent_error_of_a_judge_is_judged_again_when_it_is_mended(tmp_path: Path) -> None:
    async def main(model: Backend, judge: Backend) -> Any:
        strategy = RejectionSamplingStrategy()
        return await sample("go", ["polite"], strategy=strategy, model=model, judge=judge, run="r", project=tmp_path)

    with pytest.raises(SamplingError):
        real(lambda: main(texts(), Backend(lambda _: (0, unauthorised()))))
    model, judge = texts(), Backend(lambda _: (0, "yes"))
    assert real(lambda: main(model, judge)).success
    assert (model.started, judge.started) == (0, 1)
    kept = real(lambda: main(model, judge))
    assert (kept.success, kept.usage.calls, judge.started) == (True, 2, 1)


def test_a_cap_in_the_middle_of_retries_keeps_the_error_s_name() -> None:
    async def main() -> Any:
        model = Backend(lambda _: (0, rate_limited()))
        strategy = RejectionSamplingStrategy(loop_budget=3)
        retry = Retry(attempts=5, delay=0.1)
        return await sample("go", strategy=strategy, model=model, budget={"calls": 2}, retry=retry)

    result = virtual(main)
    assert (result.reason, result.errors[1].kind, result.usage.calls) == ("cap reached", "rate_limit", 2)


def test_a_plain_hook_is_refused() -> None:
    with pytest.raises(TypeError, match="async function"):
        virtual(lambda: sample("go", model=texts(), hooks=[print]))


def test_a_requirement_of_ones_own_kind_is_durable_too(tmp_path: Path) -> None:
    class Own:
        description, cost = "own", 1
        asked = 0

        async def check(self, subject: Any) -> Any:
            Own.asked += 1
            return await Requirement("r", lambda _: True).check(subject)

    async def main() -> Any:
        return await sample("go", [Own()], model=texts(), run="r", project=tmp_path)

    assert real(main).success
    assert real(main).success
    assert Own.asked == 1
