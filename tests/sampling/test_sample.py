"""The call itself: options, budgets, timeouts, events, hooks, durable runs, sync twin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

import bakeoff
import bakeoff.engine.events
from bakeoff import (
    Events,
    Generation,
    MultiTurnStrategy,
    RejectionSamplingStrategy,
    RepairTemplateStrategy,
    Requirement,
    Retry,
    SamplingError,
    ValidationResult,
    current_attempt,
    durable,
    sample,
    sample_sync,
)
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.judge.requirement import Cost
from bakeoff.model.protocol import Message, ModelError, Reply, Request, Usage
from bakeoff.model.retrying import retried
from bakeoff.sampling.events import AttemptEnded, Repaired, SamplingEnded, SamplingStarted
from bakeoff.sampling.usage import UsageTotal, settled, total
from sampling.worlds import Backend, rate_limited, real, says_pass, unauthorised, virtual

SOURCE = str(Path(bakeoff.__file__).parents[1])


def rejection(loops: int, lanes: int = 1, mode: Any = "deterministic") -> RejectionSamplingStrategy:
    return RejectionSamplingStrategy(loop_budget=loops, concurrency_budget=lanes, mode=mode)


def failing() -> Backend:
    return Backend(lambda n: (0.01, f"no {n}"))


# Options.


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"attempt_timeout": 0}, ValueError, "attempt_timeout"),
        ({"check_timeout": float("nan")}, ValueError, "check_timeout"),
        ({"deadline": "1"}, TypeError, "deadline"),
        ({"order": "random"}, ValueError, "cheap_first"),
        ({"budget": {"gold": 1}}, ValueError, "gold"),
        ({"budget": {"usd": 1}}, ValueError, "reserve"),
        ({"budget": {"tokens": 100}}, ValueError, "max_tokens"),
        ({"reserve": {"calls": -1}}, ValueError, "calls"),
        ({"retry": 3}, TypeError, "Retry"),
        ({"lanes": "agents"}, TypeError, "lanes"),
        ({"name": 3}, TypeError, "name"),
        ({"speed": 3}, TypeError, r"sample\(\).*speed"),
        ({"strategy": "best"}, TypeError, "SamplingStrategy"),
        ({"strategy": RejectionSamplingStrategy}, TypeError, "SamplingStrategy"),
        ({"run": 3}, TypeError, "name of a run"),
        ({"requirements": [3]}, TypeError, "requirement"),
    ],
)
def test_options_are_checked_before_anything_is_asked(options: Any, kind: Any, said: str) -> None:
    model = failing()
    requirements = options.pop("requirements", ())
    with pytest.raises(kind, match=said):
        virtual(lambda: sample("go", requirements, model=model, **options))
    assert model.started == 0


def test_a_prompt_needs_a_model() -> None:
    with pytest.raises(TypeError, match="model="):
        virtual(lambda: sample("go"))
    with pytest.raises(TypeError, match="judge="):
        virtual(lambda: sample(named, ["polite"]))


async def named(attempt: Any) -> str:
    return f"made {attempt.id}"


def test_without_a_strategy_there_are_two_rounds() -> None:
    result = virtual(lambda: sample("go", [says_pass], model=failing()))
    assert (len(result.attempts), result.strategy) == (2, "RejectionSamplingStrategy")
    assert result.reason == "budget exhausted"


def test_one_requirement_need_be_no_list() -> None:
    judge = Backend(lambda _: (0, "yes"))
    assert virtual(lambda: sample("go", "polite", model=Backend(lambda _: (0, "text")), judge=judge)).success
    assert virtual(lambda: sample("go", says_pass, model=Backend(lambda _: (0, "pass")))).success


# Time.


def place() -> Any:
    found = current_attempt()
    assert found is not None
    return found


def test_a_stuck_call_is_cut_and_counted() -> None:
    async def main() -> None:
        model = Backend(lambda n: (1000.0 if n == 1 else 0.1, "pass"))
        result = await sample("go", [says_pass], strategy=rejection(2), model=model, attempt_timeout=5)
        assert [one.status for one in result.attempts] == ["error", "passed"]
        assert result.errors[1].kind == "timeout"
        assert (result.usage.unknown, model.aborted, model.in_flight) == (1, 1, 0)
        assert anyio.current_time() == pytest.approx(5.1)

    virtual(main)


def test_a_model_that_fails_until_the_time_is_over_is_named() -> None:
    class Overloaded:
        async def generate(self, request: Request) -> Reply:
            async def ask() -> Reply:
                raise ModelError("the server is overloaded", "overload")

            return await retried(ask, Retry(attempts=99, delay=1), Random(1))

    async def main() -> None:
        result = await sample("go", [says_pass], strategy=rejection(1), model=Overloaded(), attempt_timeout=5)
        (error,) = result.errors.values()
        assert error.kind == "timeout"
        assert error.message.endswith("until then its model had failed: the server is overloaded")

    virtual(main)


def test_checks_have_what_is_left_of_the_attempt() -> None:
    async def slow(_: str) -> bool:
        await anyio.sleep(1000)
        return True

    async def main() -> None:
        result = await sample("go", [slow], strategy=rejection(1), model=failing(), attempt_timeout=5)
        assert result.attempts[0].status == "error"
        assert result.errors[1].kind == "timeout"
        assert anyio.current_time() == pytest.approx(5)

    virtual(main)


def test_a_stuck_check_is_an_error_of_its_own() -> None:
    async def slow(_: str) -> bool:
        await anyio.sleep(1000)
        return True

    async def main() -> None:
        requirements = [Requirement("slow", slow, timeout=7), says_pass, slow]
        result = await sample("go", requirements, strategy=rejection(1), model=failing(), check_timeout=9)
        verdicts = result.attempts[0].verdicts
        assert [(one.verdict, one.error) for one in verdicts] == [
            ("error", "timeout"), ("failed", None), ("error", "timeout"),
        ]  # fmt: skip
        assert anyio.current_time() == pytest.approx(16.01)

    virtual(main)


def test_the_deadline_ends_everything_and_keeps_what_there_is() -> None:
    async def main() -> None:
        model = Backend(lambda n: (1.0 if n < 3 else 1000.0, f"no {n}"))
        result = await sample("go", [says_pass], strategy=rejection(5, 2), model=model, deadline=4)
        assert (result.reason, result.success, result.result) == ("deadline reached", False, "no 1")
        assert model.in_flight == 0
        late = Backend(lambda n: (1.0 if n == 2 else 1000.0, "pass"))
        result = await sample("go", [says_pass], strategy=rejection(1, 2), model=late, deadline=4)
        assert (result.reason, result.success) == ("passed", True)
        chained = RepairTemplateStrategy(concurrency_budget=2)
        late = Backend(lambda _: (1.0 if place().id == 2 else 1000.0, "pass"))
        assert (await sample("go", [says_pass], strategy=chained, model=late, deadline=4)).success
        assert anyio.current_time() == pytest.approx(12)

    virtual(main)


# Budgets and usage.


def test_judges_count_against_the_budget() -> None:
    async def main() -> None:
        judge = Backend(lambda _: (0.01, "no"))
        model = failing()
        result = await sample("go", ["polite"], strategy=rejection(9), model=model, judge=judge, budget={"calls": 5})
        assert (model.started, judge.started) == (3, 2)
        assert result.reason == "cap reached"
        assert [one.status for one in result.attempts] == ["failed", "failed", "error"]
        assert result.errors[3].kind == "budget"
        assert (result.usage.calls, result.usage.tokens) == (5, 550)

    virtual(main)


def test_a_cancelled_judge_counts_as_unknown() -> None:
    async def main() -> None:
        judge = Backend(lambda n: (0.01 if n == 1 else 1000, "yes"))
        strategy = rejection(1, 2, "fastest")
        model = Backend(lambda n: (0.01, f"text {n}"))
        result = await sample("go", ["polite"], strategy=strategy, model=model, judge=judge)
        assert (result.usage.calls, result.usage.unknown, judge.in_flight) == (4, 1, 0)

    virtual(main)


def test_a_price_must_be_known() -> None:
    async def main() -> None:
        priced = Backend(lambda n: (0, Reply(f"no {n}", Usage(10, 100, usd=0.4))))
        result = await sample(
            "go", [says_pass], strategy=rejection(9), model=priced, budget={"usd": 1}, reserve={"usd": 0.5}
        )
        assert (priced.started, result.reason, result.usage.usd) == (2, "cap reached", pytest.approx(0.8))
        with pytest.raises(ValueError, match="'polite' does not say"):
            await sample("go", ["polite"], model=priced, budget={"usd": 1}, reserve={"usd": 0.5})

    virtual(main)


def test_missing_usage_counts_as_the_reservation() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0, Reply(f"no {n}")))
        request = Request(prompt="go", max_tokens=100)
        result = await sample(request, [says_pass], strategy=rejection(9), model=model, budget={"tokens": 350})
        assert (model.started, result.usage.unknown, result.usage.tokens) == (3, 3, 0)

    virtual(main)


def test_what_was_refused_costs_no_tokens_and_what_failed_does() -> None:
    async def main(failure: ModelError) -> int:
        model = Backend(lambda n: (0, failure))
        request = Request(prompt="go", max_tokens=100)
        await sample(request, [says_pass], strategy=rejection(9), model=model, budget={"tokens": 350})
        return model.started

    assert virtual(lambda: main(rate_limited())) == 9
    assert virtual(lambda: main(ModelError("lost", "connection"))) == 3
    assert virtual(lambda: main(ModelError("no", "refusal", usage=Usage(10, 10)))) == 9


def test_usage_adds_up() -> None:
    whole = total([UsageTotal(1, 2, 3, 4, None, 0), UsageTotal(1, 2, 3, 4, 0.5, 1)])
    whole.add(Usage(1, None, 2, 0.25))
    assert whole == UsageTotal(2, 5, 6, 10, 0.75, 1)
    assert UsageTotal(*whole.to_json()) == whole
    assert settled(Usage(1, 2, None, 0.1)) == {
        "calls": 1, "input_tokens": 1, "output_tokens": 2, "tokens": 3, "usd": 0.1,
    }  # fmt: skip


# Events and hooks.


def listen(seen: list[Any]) -> Events:
    events = Events()
    events.subscribe(lambda event: seen.append(event) if isinstance(event, bakeoff.engine.events.JobEvent) else None)
    return events


def order(seen: list[Any]) -> list[str]:
    return [type(event).__name__ for event in seen]


def test_events_tell_everything_in_order() -> None:
    seen: list[Any] = []
    result = virtual(
        lambda: sample(
            "go", [says_pass], strategy=RepairTemplateStrategy(loop_budget=2), model=failing(), events=listen(seen)
        )
    )
    assert order(seen) == ["SamplingStarted", "AttemptEnded", "Repaired", "AttemptEnded", "SamplingEnded"]
    started, first, repaired, second, ended = seen
    assert len({event.sampling_id for event in seen}) == 1
    assert (started.strategy, started.loop_budget) == ("RepairTemplateStrategy", 2)
    assert [first.attempt, second.attempt] == result.attempts
    assert (repaired.kind, repaired.failed, repaired.next_id) == ("template", first.attempt, 2)
    assert repaired.feedback == "- The requirement of most tests."
    assert (ended.success, ended.iterations_used, ended.reason, ended.result) == (False, 2, "budget exhausted", result)


def test_there_is_one_end_whatever_happens() -> None:
    async def cancelled(events: Events) -> None:
        with anyio.move_on_after(1):
            await sample("go", model=Backend(lambda _: (1000, "x")), events=events)

    async def fails(events: Events) -> None:
        with pytest.raises(SamplingError):
            await sample("go", model=Backend(lambda _: (0, unauthorised())), events=events)

    async def broken(events: Events) -> None:
        async def hook(event: Any) -> None:
            if isinstance(event, AttemptEnded):
                raise OSError("hook")

        with pytest.raises(OSError, match="hook"):
            await sample("go", model=failing(), events=events, hooks=[hook])

    async def passes(events: Events) -> None:
        await sample("go", model=failing(), events=events)

    for case, reason in ((cancelled, "cancelled"), (fails, "SamplingError"), (broken, "OSError"), (passes, "passed")):
        seen: list[Any] = []
        virtual(lambda case=case, seen=seen: case(listen(seen)))
        assert order(seen)[0] == "SamplingStarted"
        assert order(seen).count("SamplingEnded") == 1
        assert order(seen)[-1] == "SamplingEnded"
        assert seen[-1].reason.startswith(reason)
        assert (seen[-1].error is None) is (case is passes)


def test_a_hook_may_change_the_budgets_and_nothing_else() -> None:
    async def main() -> None:
        async def widen(event: Any) -> None:
            if isinstance(event, SamplingStarted):
                event.loop_budget, event.concurrency_budget = 3, 4

        model = failing()
        result = await sample("go", [says_pass], strategy=rejection(1), model=model, hooks=[widen])
        assert (len(result.attempts), model.peak) == (12, 4)
        assert (result.loop_budget, result.concurrency_budget) == (3, 4)

        async def zero(event: Any) -> None:
            if isinstance(event, SamplingStarted):
                event.loop_budget = 0

        untouched = failing()
        with pytest.raises(ValueError, match="loop_budget"):
            await sample("go", [says_pass], model=untouched, hooks=[zero])
        assert untouched.started == 0

        async def meddle(event: Any) -> None:
            event.strategy = "mine"
            raise AssertionError("it may not")

        with pytest.raises(AttributeError, match="loop_budget"):
            await sample("go", [says_pass], model=untouched, hooks=[meddle])

    virtual(main)


def test_hooks_know_their_attempt() -> None:
    seen: list[tuple[int, Any]] = []

    async def hook(event: Any) -> None:
        if isinstance(event, (AttemptEnded, Repaired)):
            seen.append((event.attempt.id if isinstance(event, AttemptEnded) else event.next_id, current_attempt()))

    virtual(lambda: sample("go", [says_pass], strategy=MultiTurnStrategy(loop_budget=2), model=failing(), hooks=[hook]))
    assert [number for number, _ in seen] == [1, 2, 2]
    assert all(place is not None and place.id == number for number, place in seen)


def test_a_hook_is_waited_for_when_the_end_is_a_cancellation() -> None:
    seen: list[str] = []

    async def hook(event: Any) -> None:
        if isinstance(event, SamplingEnded):
            await anyio.sleep(0.1)
            seen.append(event.reason)

    async def main() -> None:
        with anyio.move_on_after(1):
            await sample("go", model=Backend(lambda _: (1000, "x")), hooks=[hook])

    virtual(main)
    assert seen == ["cancelled"]


# Durable runs.


class Paid:
    """Makes and checks, and counts what it was asked; stops the world where it is told to."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.made: list[int] = []
        self.checked: list[str] = []
        self.stop_at = stop_at

    async def make(self, attempt: Any) -> Any:
        if attempt.id == self.stop_at:
            raise KeyboardInterrupt
        self.made.append(attempt.id)
        said = (Message("user", f"task {attempt.id}"),)
        return Generation(f"text {attempt.id}", Usage(10, 100), said, {"tree": f"t{attempt.id}"})

    def requirement(self, passing: int = 0) -> Requirement:
        async def check(subject: Any) -> Any:
            self.checked.append(subject.output)
            assert subject.conversation[0].content.startswith("task")
            return ValidationResult(subject.output == f"text {passing}", "wrong", 0.5, usage=Usage(1, 2))

        return Requirement("is right", check, cost=Cost.MODEL, takes_subject=True)


@pytest.mark.parametrize("kind", [RejectionSamplingStrategy, RepairTemplateStrategy])
def test_an_interrupted_sampling_pays_nothing_twice(kind: Any, tmp_path: Path) -> None:
    strategy = kind(loop_budget=5)

    async def main(paid: Paid) -> Any:
        return await sample(paid, [paid.requirement(5)], strategy=strategy, run="r", project=tmp_path, dedup=False)

    first = Paid(stop_at=4)
    with pytest.raises(KeyboardInterrupt):
        real(lambda: main(first))
    assert (first.made, len(first.checked)) == ([1, 2, 3], 3)
    second = Paid()
    result = real(lambda: main(second))
    assert (second.made, second.checked) == ([4, 5], ["text 4", "text 5"])
    assert result.success
    assert [one.output for one in result.attempts] == [f"text {n}" for n in range(1, 6)]
    assert result.attempts[0].conversation == (Message("user", "task 1"),)
    assert result.attempts[0].receipt == {"tree": "t1"}
    assert result.attempts[0].verdicts == [ValidationResult(False, "wrong", 0.5, usage=Usage(1, 2))]
    assert (result.usage.calls, result.usage.tokens, result.usage.unknown) == (10, 565, 0)
    third = Paid()
    again = real(lambda: main(third))
    assert (third.made, third.checked) == ([], [])
    assert (again.result, again.usage, again.reason) == (result.result, result.usage, result.reason)
    paths = list(RunFolder(RunStore(tmp_path).runs / "r").history().records)
    assert sum(path.endswith("/attempt:3/generate") for path in paths) == 1
    assert sum("/attempt:3/check:0:" in path for path in paths) == 1


def test_a_killed_sampling_pays_nothing_twice(tmp_path: Path) -> None:
    program = f"""
import os, signal, sys
sys.path.insert(0, {SOURCE!r})
import bakeoff
import bakeoff.engine.events

async def make(attempt):
    if attempt.id == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    print("made", attempt.id, flush=True)
    return f"text {{attempt.id}}"

async def check(text):
    print("checked", text, flush=True)
    return text == "text 6"

bakeoff.sample_sync(make, [check],
    strategy=bakeoff.RejectionSamplingStrategy(loop_budget=6), run="r", project={str(tmp_path)!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    again = subprocess.run(
        [sys.executable, "-c", program.replace("os.kill(", "(lambda *_: 0)(")], capture_output=True, text=True
    )
    said = again.stdout.splitlines()
    assert said[-4:] == ["made 5", "checked text 5", "made 6", "checked text 6"]
    assert "made 1" not in said
    assert again.returncode == 0, again.stderr


def test_prompts_are_durable_too_and_other_prompts_are_others(tmp_path: Path) -> None:
    async def main(prompt: str, model: Backend, requirements: Any = (says_pass,)) -> Any:
        return await sample(prompt, requirements, strategy=rejection(3), model=model, run="r", project=tmp_path)

    first = failing()
    real(lambda: main("go", first))
    again, other = failing(), failing()
    result = real(lambda: main("go", again))
    assert (again.started, result.attempts[2].conversation) == (0, (Message("user", "go"),))
    assert result.attempts[0].receipt["request_id"] == "r1"
    assert result.usage.tokens == 330
    real(lambda: main("stop", other))
    assert other.started == 3
    rejudged: list[str] = []

    async def another(text: str) -> bool:
        rejudged.append(text)
        return False

    real(lambda: main("go", again, [another]))
    assert (again.started, rejudged) == (0, ["no 1", "no 2", "no 3"])


def test_twins_are_not_judged_again_by_another_attempt(tmp_path: Path) -> None:
    async def make(attempt: Any) -> str:
        if attempt.id == 1 and hold:
            await anyio.sleep(0.05)
            raise KeyboardInterrupt
        return "same"

    async def check(text: str) -> bool:
        checked.append(text)
        return False

    async def main() -> Any:
        return await sample(make, [check], strategy=rejection(1, 2), run="r", project=tmp_path)

    checked: list[str] = []
    hold = True
    with pytest.raises(KeyboardInterrupt):
        real(main)
    assert checked == ["same"]
    hold = False
    result = real(main)
    assert checked == ["same"]
    assert [one.status for one in result.attempts] == ["failed", "failed"]


def test_errors_are_final_unless_they_are_permanent(tmp_path: Path) -> None:
    async def main(model: Backend, run: str) -> Any:
        return await sample("go", [says_pass], strategy=rejection(2), model=model, run=run, project=tmp_path)

    real(lambda: main(Backend(lambda n: (0, rate_limited() if n == 1 else "no")), "a"))
    again = failing()
    result = real(lambda: main(again, "a"))
    assert (again.started, result.errors[1].kind, result.errors[1].exception) == (0, "rate_limit", None)
    with pytest.raises(SamplingError):
        real(lambda: main(Backend(lambda n: (0, unauthorised())), "b"))
    mended = Backend(lambda n: (0, "pass"))
    assert real(lambda: main(mended, "b")).success
    assert mended.started == 1


def test_a_durable_cap_holds_over_sessions(tmp_path: Path) -> None:
    async def main(model: Backend, calls: int) -> Any:
        return await sample(
            "go", [says_pass], strategy=rejection(9), model=model, run="r", project=tmp_path, budget={"calls": calls}
        )

    first, second, third = failing(), failing(), failing()
    assert real(lambda: main(first, 4)).reason == "cap reached"
    assert real(lambda: main(second, 4)).reason == "cap reached"
    assert real(lambda: main(third, 6)).reason == "cap reached"
    assert (first.started, second.started, third.started) == (4, 0, 2)


def test_a_lambda_cannot_be_found_again(tmp_path: Path) -> None:
    async def other(attempt: Any) -> str:
        return "pass"

    other.__qualname__ = "<lambda>"
    with pytest.raises(ValueError, match="name="):
        real(lambda: sample(other, run="r", project=tmp_path))
    assert real(lambda: sample(other, run="r", project=tmp_path, name="mine")).success


def test_inside_an_open_run_it_shares_bound_budget_and_journal(tmp_path: Path) -> None:
    async def item(number: int) -> str:
        result = await sample(
            f"task {number}", [says_pass], strategy=rejection(2, 2), model=model, run=handles[0], budget={"calls": 3}
        )
        return str(result.reason)

    async def agent(attempt: Any) -> str:
        return str(await handles[0].call(double, attempt.id))

    async def double(number: int) -> int:
        return number * 2

    async def main(handle: Any) -> Any:
        handles[:] = [handle]
        reasons = await handle.fan_out(item, range(3), max_concurrency=3)
        nested = await sample(agent, strategy=rejection(1), run=handle, reserve={"calls": 1})
        with pytest.raises(TypeError, match="open run"):
            await sample("go", model=model, run=handle, project=tmp_path)
        return reasons, nested.result

    handles: list[Any] = []
    model = failing()
    found = real(lambda: durable(main, run="r", project=tmp_path, max_parallel=2, budget={"calls": 50}))
    assert found == (["cap reached"] * 3, "2")
    assert (model.started, model.peak <= 2) == (9, True)
    before = model.started
    assert real(lambda: durable(main, run="r", project=tmp_path, max_parallel=2, budget={"calls": 50})) == found
    assert model.started == before

    async def late() -> None:
        await sample("go", model=model, run=handles[0])

    with pytest.raises(bakeoff.BakeoffError, match="over"):
        real(late)


def test_a_child_budget_remembers_what_was_spent(tmp_path: Path) -> None:
    async def main(handle: Any) -> Any:
        return await sample("go", [says_pass], strategy=rejection(9), model=model, run=handle, budget={"calls": 4})

    async def stops(handle: Any) -> Any:
        await sample("go", [says_pass], strategy=rejection(2), model=model, run=handle, budget={"calls": 4})
        raise ValueError("stop")

    model = failing()
    with pytest.raises(ValueError, match="stop"):
        real(lambda: durable(stops, run="r", project=tmp_path))
    result = real(lambda: durable(main, run="r", project=tmp_path))
    assert (model.started, result.reason, len(result.attempts)) == (4, "cap reached", 4)


def test_two_calls_of_an_open_run_that_keeps_nothing_are_two() -> None:
    async def main(handle: Any) -> None:
        for _ in range(2):
            await sample("go", [says_pass], strategy=rejection(2), model=model, run=handle)

    model = failing()
    virtual(lambda: durable(main))
    assert model.started == 4


def test_retries_are_on_record(tmp_path: Path) -> None:
    async def main() -> Any:
        model = Backend(lambda n: (0, rate_limited() if n < 3 else "pass"))
        return await sample(
            "go", [says_pass], model=model, run="r", project=tmp_path, retry=Retry(attempts=3, delay=0.001)
        )

    first, again = real(main), real(main)
    assert first.usage.calls == again.usage.calls == 3


# The sync twin.


def test_the_sync_twin_works_with_and_without_a_loop() -> None:
    assert sample_sync("go", [says_pass], model=Backend(lambda _: (0, "pass"))).success

    async def inside() -> bool:
        return sample_sync("go", [says_pass], model=Backend(lambda _: (0, "pass"))).success

    assert real(inside)


def test_importing_the_sampler_imports_nothing_heavy() -> None:
    """How long it takes is measured by the benchmark."""
    program = "import sys; from bakeoff import sample; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=True)
    heavy = {"pydantic", "httpx", "httpcore", "click", "rich", "yaml", "jsonschema", "numpy", "trio", "ssl"}
    assert heavy & set(done.stdout.split()) == set()


MELLEA = Path(__file__).parents[2] / ".tools/peers/mellea/bin/python"


@pytest.mark.skipif(not MELLEA.exists(), reason="mellea is a peer of the benchmark: python -m benchmarks sampling")
def test_mellea_samples_with_our_strategies() -> None:
    done = subprocess.run(
        [MELLEA, Path(__file__).with_name("mellea_cases.py")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["early"] == [True, "pass", 8, 1, 0]
    assert found["not_stopped"] == {}
    assert found["template"][:3] == [True, "pass", 3]
    assert "An earlier answer did not meet" in found["template"][3][1]
    assert found["conversation"][:3] == [True, "pass", 3]
    assert len(json.loads(found["conversation"][3][2])) == 5
    assert found["judged"] == [True, 4, [[False], [True]]]
    assert found["failed"] == [False, 0]


class Raising:
    def __init__(self, error: Exception) -> None:
        self.error, self.calls = error, 0

    async def generate(self, request: Request) -> Reply:
        self.calls += 1
        raise self.error


def test_a_fault_of_the_program_is_raised_at_once():
    model = Raising(AttributeError("no such thing"))
    with pytest.raises(AttributeError, match="no such thing"):
        sample_sync("x", [Requirement("any", lambda text: True)], strategy=rejection(3), model=model)
    assert model.calls == 1


def test_errors_alone_are_named_by_the_reason_and_the_text():
    model = Raising(ModelError("the room is on fire", "server"))
    result = sample_sync("x", [Requirement("any", lambda text: True)], strategy=rejection(2), model=model)
    assert (result.success, result.reason, model.calls) == (False, "every attempt ended in an error", 2)
    assert "server: the room is on fire" in str(result)


def test_what_a_model_of_ones_own_needs_is_at_the_top():
    assert (bakeoff.Reply, bakeoff.Request, bakeoff.ModelError) == (Reply, Request, ModelError)
    assert hasattr(bakeoff.Model, "generate")


def test_a_boolean_of_numpy_is_a_verdict():
    numpy_bool = type("bool_", (), {"__module__": "numpy", "__bool__": lambda self: True})
    assert ValidationResult(numpy_bool()).result is True
    with pytest.raises(TypeError):
        ValidationResult("yes")  # type: ignore[arg-type]
