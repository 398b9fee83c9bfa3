"""The cases that any sampler must get right, against models that await, that detach, and that are servers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

import bakeoff
from bakeoff import (
    BestOfNStrategy,
    MajorityVotingStrategy,
    MultiTurnStrategy,
    RejectionSamplingStrategy,
    RepairTemplateStrategy,
    Requirement,
    Retry,
    SamplingError,
    ValidationResult,
    sample,
)
from bakeoff.model.protocol import ModelError, Request
from sampling.worlds import Backend, backend, rate_limited, real, says_pass, unauthorised, virtual

SOURCE = str(Path(bakeoff.__file__).parents[1])
KINDS = ["inline", "detached", "http"]


def rejection(loops: int, lanes: int, mode: Any = "deterministic") -> RejectionSamplingStrategy:
    return RejectionSamplingStrategy(loop_budget=loops, concurrency_budget=lanes, mode=mode)


def play(kind: str, main: Any) -> Any:
    """In virtual time where the model is in the process; a server needs the real one."""
    return (real if kind == "http" else virtual)(main)


@pytest.mark.parametrize("kind", KINDS)
def test_1_losers_really_stop(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (0.05, "pass") if n == 1 else (2.0, "no")) as model:
            since = anyio.current_time()
            result = await sample("go", [says_pass], strategy=rejection(5, 8, "fastest"), model=model)
            assert anyio.current_time() - since < (0.1 if kind != "http" else 1.0)
            if kind == "http":
                await anyio.sleep(0.005)
            assert (model.started, model.completed, model.aborted, model.in_flight) == (8, 1, 7, 0)
        assert result.success
        assert result.winner is not None
        assert [attempt.status for attempt in result.attempts].count("cancelled") == 7
        assert result.usage.unknown == 7
        assert result.not_stopped == {}

    play(kind, main)


@pytest.mark.parametrize("kind", ["inline", "detached"])
def test_1_on_asyncio(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (0.05, "pass") if n == 1 else (2.0, "no")) as model:
            await sample("go", [says_pass], strategy=rejection(5, 8, "fastest"), model=model)
            assert (model.started, model.completed, model.aborted, model.in_flight) == (8, 1, 7, 0)

    real(main)


def test_1_what_cannot_be_stopped_is_said() -> None:
    async def main() -> None:
        async with backend("deaf", lambda n: (0.05, "pass") if n == 1 else (2.0, "no")) as model:
            result = await sample("go", [says_pass], strategy=rejection(1, 3, "fastest"), model=model)
            assert model.in_flight == 2
        assert sorted(result.not_stopped) == [2, 3]
        assert "detaches" in result.not_stopped[2][0]

    virtual(main)


@pytest.mark.parametrize("kind", KINDS)
def test_2_the_caller_gives_up(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda _: (2.0, "no")) as model:
            since = anyio.current_time()
            with anyio.move_on_after(0.6 if kind != "http" else 0.2) as scope:
                await sample("go", [says_pass], strategy=rejection(5, 8), model=model)
            assert scope.cancelled_caught
            assert anyio.current_time() - since < (0.65 if kind != "http" else 1.0)
            if kind == "http":
                await anyio.sleep(0.005)
            assert (model.started, model.aborted, model.in_flight) == (8, 8, 0)
            await anyio.sleep(3 if kind != "http" else 0.02)
            assert model.started == 8

    play(kind, main)


PRESSED = """
import asyncio, sys
sys.path.insert(0, {source!r}); sys.path.insert(0, {tests!r})
import bakeoff
from sampling.worlds import Backend, says_pass

model = Backend(lambda n: (2.0, "no") if n > 4 else (0.0, "no"))

def ready(n):
    if n == 8:
        print("ready", flush=True)
    return (30.0, "no") if n > 4 else (0.0, "no")

model.script = ready
call = lambda: bakeoff.sample_sync(
    "go", [says_pass], strategy=bakeoff.RejectionSamplingStrategy(loop_budget=10, concurrency_budget=4), model=model)

async def inside():
    call()

try:
    asyncio.run(inside()) if {inside} else call()
except KeyboardInterrupt:
    print("interrupted", model.started, model.in_flight, flush=True)
"""


@pytest.mark.parametrize("inside", [False, True])
def test_2_ctrl_c_in_a_sync_call(inside: bool) -> None:
    program = PRESSED.format(source=SOURCE, tests=str(Path(__file__).parents[1]), inside=inside)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        assert child.stdout.readline() == "ready\n"
        os.kill(child.pid, signal.SIGINT)
        assert child.stdout.readline() == "interrupted 8 0\n"
        assert child.wait(60) == 0


@pytest.mark.parametrize("strategy", [RejectionSamplingStrategy, RepairTemplateStrategy, MultiTurnStrategy])
@pytest.mark.parametrize("kind", KINDS)
def test_3_a_transient_error_costs_one_attempt(kind: str, strategy: Any) -> None:
    said = ["no", rate_limited(), "pass"]

    async def main() -> None:
        async with backend(kind, lambda n: (0.01, said[n - 1])) as model:
            result = await sample("go", [says_pass], strategy=strategy(loop_budget=3), model=model)
        assert result.success
        assert [attempt.status for attempt in result.attempts] == ["failed", "error", "passed"]
        error = result.errors[2]
        assert error.kind == "rate_limit"
        assert result.result_index == 1  # of what was judged
        assert result.winner is result.attempts[2]

    play(kind, main)


def test_3_retries_are_taken_by_policy() -> None:
    said = ["no", ModelError("later", "overload", transient=True, retry_after=7.0), "pass"]

    async def main() -> None:
        model = Backend(lambda n: (0.0, said[n - 1]))
        since = anyio.current_time()
        result = await sample(
            "go", [says_pass], strategy=rejection(3, 1), model=model, retry=Retry(attempts=2, delay=0.1)
        )
        assert anyio.current_time() - since == pytest.approx(7.0)
        assert [attempt.status for attempt in result.attempts] == ["failed", "passed"]
        assert result.attempts[1].usage.calls == 2
        assert result.errors == {}

    virtual(main)


@pytest.mark.parametrize("strategy", [RejectionSamplingStrategy, RepairTemplateStrategy, MultiTurnStrategy])
@pytest.mark.parametrize("kind", KINDS)
def test_4_a_dead_lane_does_not_eat_the_budget(kind: str, strategy: Any) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (0.01, rate_limited() if n <= 3 else f"no {n}")) as model:
            result = await sample(
                "go", [says_pass], strategy=strategy(loop_budget=5, concurrency_budget=4), model=model
            )
            assert model.started == 20
        statuses = [attempt.status for attempt in result.attempts]
        assert (statuses.count("failed"), statuses.count("error")) == (17, 3)
        assert result.iterations_used == 20
        assert not result.success
        assert result.reason == "budget exhausted"

    play(kind, main)


@pytest.mark.parametrize("kind", KINDS)
def test_4_a_permanent_error_stops_early(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda _: (0.01, unauthorised())) as model:
            with pytest.raises(SamplingError, match="permanent") as caught:
                await sample("go", [says_pass], strategy=rejection(5, 4), model=model)
            assert model.started <= 4
        assert caught.value.kind == "auth"
        assert caught.value.count == model.started
        assert isinstance(caught.value.__cause__, ModelError)
        assert not caught.value.result.success

    play(kind, main)


def test_4_a_success_lists_the_errors_of_its_siblings() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0.02, "pass") if n == 2 else (0.01, unauthorised()))
        result = await sample("go", [says_pass], strategy=rejection(5, 2), model=model)
        assert result.success
        assert {number: error.kind for number, error in result.errors.items()} == {1: "auth"}

    virtual(main)


SEEDS = 40 if os.environ.get("BAKEOFF_SOAK") else 12


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["inline", "detached"])
def test_5_the_winner_is_reproducible(kind: str) -> None:
    async def once(seed: int, passing: bool) -> tuple[int, str]:
        chance = random.Random(seed)

        def script(n: int) -> tuple[float, str]:
            return chance.uniform(0.005, 0.015), "pass" if passing and n % 3 == 0 else f"no {n}"

        async with backend(kind, script) as model:
            result = await sample("go", [says_pass], strategy=rejection(5, 16), model=model)
            assert model.in_flight == 0
        assert result.winner is not None
        return result.winner.id, result.result

    assert {virtual(lambda seed=seed: once(seed, True)) for seed in range(SEEDS)} == {(3, "pass")}
    assert {virtual(lambda seed=seed: once(seed, False)) for seed in range(SEEDS)} == {(1, "no 1")}


def test_5_only_lower_ids_are_waited_for() -> None:
    async def main() -> None:
        model = Backend(lambda n: ({1: 0.3, 2: 0.1}.get(n, 5.0), "pass" if n == 2 else "no"))
        since = anyio.current_time()
        result = await sample("go", [says_pass], strategy=rejection(1, 4), model=model)
        assert anyio.current_time() - since == pytest.approx(0.3)
        assert [attempt.status for attempt in result.attempts] == ["failed", "passed", "cancelled", "cancelled"]

    virtual(main)


def test_5_fastest_names_attempt_and_lane() -> None:
    async def main() -> None:
        model = Backend(lambda n: (1.0 - n / 10, "pass"))
        result = await sample("go", [says_pass], strategy=rejection(1, 4, "fastest"), model=model)
        assert result.winner is not None
        assert (result.winner.id, result.winner.lane) == (4, 3)

    virtual(main)


@pytest.mark.parametrize("kind", KINDS)
def test_6_a_straggler_strands_nothing(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (2.0 if n == 1 else 0.05, "pass" if n == 7 else f"no {n}")) as model:
            since = anyio.current_time()
            result = await sample("go", [says_pass], strategy=rejection(5, 2, "fastest"), model=model)
            assert anyio.current_time() - since < (0.4 if kind != "http" else 1.5)
            if kind == "http":
                await anyio.sleep(0.005)
            assert model.started <= 10
            assert (model.aborted >= 1, model.in_flight) == (True, 0)
        assert result.success
        assert "cancelled" in [attempt.status for attempt in result.attempts]

    play(kind, main)


def test_7a_an_async_validator_is_awaited() -> None:
    async def never(_: str) -> bool:
        return False

    result = virtual(lambda: sample("go", [never], strategy=rejection(2, 1), model=Backend(lambda n: (0, f"{n}"))))
    assert (result.success, len(result.attempts)) == (False, 2)


@pytest.mark.parametrize("burns", [False, True])
def test_7b_a_blocking_validator_holds_nothing_up(burns: bool) -> None:
    beats = 0

    def blocking(_: str) -> bool:
        """Block until the loop has gone on."""
        seen, end = beats, time.monotonic() + 300
        while beats < seen + 3 and time.monotonic() < end:
            if not burns:
                time.sleep(0.001)
        return beats >= seen + 3

    async def main() -> None:
        async def beat() -> None:
            nonlocal beats
            while True:
                await anyio.sleep(0.001)
                beats += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            model = Backend(lambda n: (0.05, f"text {n}"))
            result = await sample("go", [blocking], strategy=rejection(1, 16), model=model)
            tasks.cancel_scope.cancel()
        assert result.success

    real(main)


def test_7c_a_validator_that_raises_is_an_error_of_its_own() -> None:
    raised: list[str] = []

    async def once(text: str) -> bool:
        if not raised:
            raised.append(text)
            raise KeyError("lost")
        return True

    result = virtual(lambda: sample("go", [once], strategy=rejection(5, 1), model=Backend(lambda n: (0, f"t{n}"))))
    assert result.success
    assert [attempt.status for attempt in result.attempts] == ["failed", "passed"]
    verdict = result.attempts[0].verdicts[0]
    assert (verdict.verdict, verdict.error) == ("error", "KeyError: 'lost'")


ORDERED = """
import sys
sys.path.insert(0, {source!r}); sys.path.insert(0, {tests!r})
import anyio, bakeoff
from sampling.worlds import Backend

async def no(_):
    return False

requirements = [bakeoff.Requirement(f"r{{n}}", no) for n in range(6)]
model = Backend(lambda n: (0, f"t{{n}}"))
strategy = bakeoff.RepairTemplateStrategy(loop_budget=2)
result = anyio.run(lambda: bakeoff.sample("go", requirements, strategy=strategy, model=model))
print([one.description for one, _ in result.result_validations], repr(model.requests[1].messages[0].content))
"""


def test_7d_the_order_is_the_given_one_in_every_process() -> None:
    program = ORDERED.format(source=SOURCE, tests=str(Path(__file__).parents[1]))
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        for seed in range(SEEDS // 2)
    ]
    said = {child.communicate(timeout=60)[0] for child in children}
    assert len(said) == 1
    (text,) = said
    assert text.startswith("['r0', 'r1', 'r2', 'r3', 'r4', 'r5']")
    assert r"- r0\n- r1\n- r2\n- r3\n- r4\n- r5" in text


class Gate:
    """Like a rate gate around a model: waits for its turn, and asks again after a 429."""

    def __init__(self, model: Any, per_second: float) -> None:
        self.model = model
        self.gap = 1 / per_second
        self.next = 0.0

    async def generate(self, request: Request) -> Any:
        while True:
            at = max(self.next, anyio.current_time())
            self.next = at + self.gap
            await anyio.sleep(at - anyio.current_time())
            try:
                return await self.model.generate(request)
            except ModelError as failure:
                if failure.kind != "rate_limit":
                    raise


def test_8_a_gate_composes() -> None:
    async def main() -> None:
        server = Backend(lambda n: (0.2, rate_limited() if n % 20 == 0 else f"no {n}"))
        since = anyio.current_time()
        result = await sample("go", [says_pass], strategy=rejection(5, 64), model=Gate(server, 10))
        assert anyio.current_time() - since < 40
        assert [attempt.status for attempt in result.attempts] == ["failed"] * 320
        assert server.started > 320

    virtual(main)


@pytest.mark.parametrize("kind", KINDS)
def test_8_a_cap_on_calls_is_exact(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (0.01, rate_limited() if n % 7 == 0 else f"no {n}")) as model:
            result = await sample(
                "go",
                [says_pass],
                strategy=rejection(5, 64),
                model=model,
                budget={"calls": 50},
                retry=Retry(attempts=3, delay=0.01),
            )
            assert model.started == 50
        assert result.reason == "cap reached"
        assert result.usage.calls == 50
        assert not result.success

    play(kind, main)


def five(meets: dict[int, int]) -> list[Requirement]:
    """Five requirements; text `t2` meets the last `meets[2]` of them."""

    def requirement(rank: int) -> Requirement:
        async def check(text: str) -> bool:
            return rank >= 5 - meets.get(int(text[1:]), 0)

        return Requirement(f"r{rank}", check)

    return [requirement(rank) for rank in range(5)]


@pytest.mark.parametrize("kind", KINDS)
def test_9_the_best_failure_and_its_cost(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (0.01, f"t{n}")) as model:
            result = await sample("go", five({2: 4}), strategy=rejection(3, 1), model=model)
        assert (result.success, result.result, result.result_index) == (False, "t2", 1)
        assert [[verdict.result for verdict in attempt.verdicts] for attempt in result.attempts] == [
            [False] * 5,
            [False, True, True, True, True],
            [False] * 5,
        ]
        assert (result.usage.tokens, result.usage.unknown) == (330, 0)

    play(kind, main)


def test_9_a_cap_on_tokens_is_kept() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0.01, f"no {n}"))
        result = await sample(
            Request(prompt="go", max_tokens=100),
            [says_pass],
            strategy=rejection(5, 1),
            model=model,
            budget={"tokens": 250},
        )
        assert model.started == 2
        assert (result.reason, result.usage.tokens) == ("cap reached", 220)
        with pytest.raises(ValueError, match="max_tokens"):
            await sample("go", [says_pass], model=model, budget={"tokens": 250})

    virtual(main)


EIGHT = ["5", "7", "5", "5", "7", "5", "7", "5"]


async def is_seven(text: str) -> bool:
    return text == "7"


@pytest.mark.parametrize("kind", KINDS)
def test_10_failures_do_not_outvote(kind: str) -> None:
    async def main() -> None:
        async with backend(kind, lambda n: (0.01, EIGHT[n - 1])) as model:
            result = await sample("go", [is_seven], strategy=MajorityVotingStrategy(concurrency_budget=8), model=model)
            assert model.in_flight == 0
        assert (result.result, result.success) == ("7", True)

    play(kind, main)


def test_10_a_voter_that_errs_has_no_vote() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0.01 * n, rate_limited() if n == 3 else EIGHT[n - 1]))
        result = await sample(
            "go", [], strategy=MajorityVotingStrategy(loop_budget=2, concurrency_budget=4), model=model
        )
        assert (result.result, result.success, model.in_flight) == ("5", True, 0)
        assert list(result.errors) == [3]
        assert result.facts["support"] == 4

    virtual(main)


def test_10_a_long_vote_does_not_stall_the_loop() -> None:
    chance = random.Random(1)
    texts = [
        " ".join(chance.choice("abcdefghijklmnop") + str(chance.randint(0, 9)) for _ in range(200)) for _ in range(64)
    ]

    async def main() -> float:
        """The most processor time that the loop's thread took between two beats: what others take does not count."""
        gaps: list[float] = []

        async def beat() -> None:
            last = time.thread_time()
            while True:
                await anyio.sleep(0.001)
                gaps.append(time.thread_time() - last)
                last += gaps[-1]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            strategy = MajorityVotingStrategy(concurrency_budget=64, similarity="rouge_l")
            result = await sample("go", [], strategy=strategy, model=Backend(lambda n: (0.0, texts[n - 1])))
            tasks.cancel_scope.cancel()
        assert result.facts["votes"] == 64
        return max(gaps)

    assert min(real(main) for _ in range(3)) < 0.05


def test_10_a_decided_vote_ends_early() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0.01, "5"))
        strategy = MajorityVotingStrategy(loop_budget=1, concurrency_budget=64, threshold=0.75)
        result = await sample("go", [], strategy=strategy, model=model)
        assert model.started <= 8
        assert (result.result, result.success) == ("5", True)

    virtual(main)


def test_best_of_n_takes_the_highest_score_of_what_passes() -> None:
    async def scored(text: str) -> ValidationResult:
        return ValidationResult(text != "t4", score=float(text[1:]) % 5)

    async def main() -> None:
        model = Backend(lambda n: (0.01 * (9 - n), f"t{n}"))
        result = await sample(
            "go", [scored], strategy=BestOfNStrategy(loop_budget=2, concurrency_budget=4), model=model
        )
        assert (result.result, result.success, model.started) == ("t3", True, 8)

    virtual(main)
