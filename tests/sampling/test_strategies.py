"""What each strategy asks, in which order, and what it chooses."""

from __future__ import annotations

import math
import random
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff import (
    BestOfNStrategy,
    EscalationStrategy,
    Generation,
    MajorityVotingStrategy,
    MultiTurnStrategy,
    RejectionSamplingStrategy,
    RepairTemplateStrategy,
    Requirement,
    SamplingError,
    SamplingStrategy,
    ValidationResult,
    current_attempt,
    sample,
)
from bakeoff.model.protocol import Message, ModelError, Request
from bakeoff.sampling.result import SamplingResult
from bakeoff.sampling.similarity import exact, normalised, numeric, rouge_l, similarities
from sampling.worlds import Backend, rate_limited, real, says_pass, virtual
from searches import examples

ALL: list[Any] = [
    RejectionSamplingStrategy,
    RepairTemplateStrategy,
    MultiTurnStrategy,
    BestOfNStrategy,
    MajorityVotingStrategy,
    lambda **options: EscalationStrategy(Backend(lambda n: (0, "a")), Backend(lambda n: (0, "b")), **options),
]


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("name", ["loop_budget", "concurrency_budget"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None])
def test_budgets_are_whole_numbers(make: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        make(**{name: value})


@pytest.mark.parametrize("make", ALL)
def test_both_budgets_together_have_a_ceiling(make: Any) -> None:
    make(loop_budget=100, concurrency_budget=1000)
    with pytest.raises(ValueError, match="the most attempts of one sampling"):
        make(loop_budget=101, concurrency_budget=1000)


@pytest.mark.parametrize("make", ALL)
def test_a_mode_must_be_known(make: Any) -> None:
    with pytest.raises(ValueError, match="fastest"):
        make(mode="slowest")


# Repair.


def test_a_template_gets_the_original_request_and_the_last_failures() -> None:
    async def short(text: str) -> tuple[bool, str]:
        return len(text) < 3, f"{len(text)} characters"

    async def polite(text: str) -> bool:
        return "!" in text

    async def main() -> None:
        model = Backend(lambda n: (0, ["long text", "longer text!", "ok!"][n - 1] if n < 4 else "ok"))
        request = Request((Message("system", "be brief"), Message("user", "go")), temperature=0.5)
        requirements = [Requirement("short", short), Requirement("polite", polite)]
        result = await sample(request, requirements, strategy=RepairTemplateStrategy(loop_budget=4), model=model)
        assert not result.success
        first, second, third, _ = (one.messages for one in model.requests)
        assert first == request.messages
        assert second[0] == third[0] == Message("system", "be brief")
        assert second[1].content.startswith("go\n\nAn earlier answer")
        assert "- short: 9 characters\n- polite\n" in second[1].content
        assert "- short: 12 characters\nWrite" in third[1].content
        assert model.requests[1].temperature == 0.5

    virtual(main)


def test_a_conversation_grows_in_its_own_lane() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0.01, f"t{n}"))
        strategy = MultiTurnStrategy(loop_budget=3, concurrency_budget=2, template="wrong: {failures}")
        result = await sample("go", [says_pass], strategy=strategy, model=model)
        by_id = {attempt.id: attempt for attempt in result.attempts}
        assert [(one.id, one.lane, one.round) for one in result.attempts] == [
            (1, 0, 0), (2, 0, 1), (3, 0, 2), (4, 1, 0), (5, 1, 1), (6, 1, 2),
        ]  # fmt: skip
        for lane in (0, 1):
            first, second, third = (by_id[3 * lane + round_] for round_ in (1, 2, 3))
            assert [one.role for one in third.conversation] == ["user", "assistant", "user", "assistant", "user"]
            assert third.conversation[1].content == first.output
            assert third.conversation[3].content == second.output
            assert third.conversation[4].content == "wrong: - The requirement of most tests."

    virtual(main)


def test_raw_prompts_are_continued() -> None:
    async def main() -> None:
        for strategy in (RepairTemplateStrategy(loop_budget=2), MultiTurnStrategy(loop_budget=2)):
            model = Backend(lambda n: (0, f"t{n}"))
            result = await sample(Request(prompt="go"), [says_pass], strategy=strategy, model=model)
            said = str(model.requests[1].prompt)
            assert said.startswith("go")
            assert ("t1" in said) is isinstance(strategy, MultiTurnStrategy)
            assert result.attempts[0].conversation == (Message("user", "go"),)

    virtual(main)


def test_a_template_without_failures_is_refused() -> None:
    with pytest.raises(ValueError, match="failures"):
        RepairTemplateStrategy(template="again")


def test_what_could_not_be_judged_is_said_and_what_was_skipped_is_not() -> None:
    async def broken(_: str) -> bool:
        raise KeyError

    async def main() -> None:
        model = Backend(lambda n: (0, f"t{n}"))
        requirements = [Requirement("breaks", broken), "polite"]
        await sample("go", requirements, strategy=RepairTemplateStrategy(loop_budget=2), model=model)
        assert model.started == 2
        assert "- could not be judged: breaks\nWrite" in model.requests[1].messages[0].content

    virtual(main)


def test_a_conversation_that_grew_too_long_ends_no_other_lane() -> None:
    async def main() -> None:
        def script(n: int) -> tuple[float, Any]:
            place = current_attempt()
            assert place is not None
            if place.id == 2:
                return 0.01, ModelError("too long", "context_length", status=400)
            return 0.01, "pass" if place.id == 4 else f"t{n}"

        model = Backend(script)
        strategy = MultiTurnStrategy(loop_budget=2, concurrency_budget=2)
        result = await sample("go", [says_pass], strategy=strategy, model=model)
        assert result.success
        assert len(result.errors) == 1

        first = Backend(lambda n: (0, ModelError("too long", "context_length", status=400)))
        with pytest.raises(SamplingError, match="once"):
            await sample("go", [says_pass], strategy=strategy.__class__(loop_budget=2), model=first)

    virtual(main)


# Which one is chosen.


@pytest.mark.soak
@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_the_winner_does_not_depend_on_who_is_fast(data: st.DataObject) -> None:
    loops, lanes = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    kind = data.draw(st.sampled_from([RejectionSamplingStrategy, RepairTemplateStrategy, MultiTurnStrategy]))
    passing = data.draw(st.sets(st.integers(1, loops * lanes), max_size=4))
    seed = data.draw(st.integers(0, 1 << 30))
    chained = kind is not RejectionSamplingStrategy
    chance = random.Random(seed)

    async def make(attempt: Any) -> str:
        await anyio.sleep(chance.choice((0, 0.1, 0.2, 0.5)))
        return f"{'pass' if attempt.id in passing else 'no'} {attempt.id}"

    async def check(text: str) -> bool:
        return text.startswith("pass")

    async def main() -> SamplingResult:
        strategy = kind(loop_budget=loops, concurrency_budget=lanes)
        return await sample(make, [check], strategy=strategy)

    result = virtual(main)
    order = {lane * loops + round_ + 1: (round_, lane) for lane in range(lanes) for round_ in range(loops)}
    if passing:
        expected = min(passing, key=lambda one: order[one]) if chained else min(passing)
        assert result.winner.id == expected
        before = [one for one in order if (order[one] < order[expected] if chained else one < expected)]
        judged = {attempt.id for attempt in result.attempts if attempt.judged}
        assert judged >= set(before)
    else:
        assert (result.success, result.winner.id, len(result.attempts)) == (False, 1, loops * lanes)
    ids = [attempt.id for attempt in result.attempts]
    assert ids == sorted(set(ids))


@pytest.mark.soak
@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 6))
def test_fastest_takes_the_first(seed: int, lanes: int) -> None:
    chance = random.Random(seed)
    times = [chance.uniform(0.1, 1) for _ in range(lanes)]

    async def make(attempt: Any) -> str:
        await anyio.sleep(times[attempt.id - 1])
        return f"{attempt.id}"

    async def main() -> tuple[int, float]:
        strategy = RejectionSamplingStrategy(concurrency_budget=lanes, mode="fastest")
        result = await sample(make, [], strategy=strategy)
        assert result.winner is not None
        return result.winner.id, anyio.current_time()

    winner, took = virtual(main)
    assert winner == times.index(min(times)) + 1
    assert took == pytest.approx(min(times))


def test_of_failures_the_best_is_taken() -> None:
    scores = {"t1": 0.1, "t2": 0.9, "t3": 0.9}

    async def scored(text: str) -> ValidationResult:
        return ValidationResult(False, score=scores[text])

    result = virtual(
        lambda: sample(
            "go", [scored], strategy=RejectionSamplingStrategy(loop_budget=3), model=Backend(lambda n: (0, f"t{n}"))
        )
    )
    assert (result.success, result.result) == (False, "t2")
    assert str(result) == "t2"
    assert len(result.result_validations) == 1


def test_nothing_judged_is_no_result() -> None:
    async def main() -> None:
        model = Backend(lambda _: (0, rate_limited()))
        for strategy in (RejectionSamplingStrategy(loop_budget=2), MajorityVotingStrategy(loop_budget=3)):
            result = await sample("go", [says_pass], strategy=strategy, model=model)
            assert (result.success, result.winner, result.result) == (False, None, None)
            assert "rate_limit: too many requests" in str(result)
            assert result.result_validations == []
            assert {error.kind for error in result.errors.values()} == {"rate_limit"}
            assert str(result.errors[1]) == "rate_limit: too many requests"

    virtual(main)


def test_an_empty_output_is_never_a_success() -> None:
    async def main() -> None:
        said = [" \n", "", "text"]
        result = await sample(
            "go", strategy=RejectionSamplingStrategy(loop_budget=3), model=Backend(lambda n: (0, said[n - 1]))
        )
        assert [attempt.status for attempt in result.attempts] == ["error", "error", "passed"]
        assert result.errors[1].kind == "empty"
        assert result.usage.tokens == 330

    virtual(main)


# Best of N.


def test_a_score_may_be_a_function() -> None:
    async def main() -> None:
        for score in (lambda text: float(text[1:]) % 3, ascore):
            model = Backend(lambda n: (0, f"t{n}"))
            strategy = BestOfNStrategy(loop_budget=4, score=score)
            result = await sample("go", [says_small], strategy=strategy, model=model)
            assert (result.result, result.success) == ("t2", True)
            assert result.winner is not None
            assert result.winner.score == 2
            assert [one.description for one, _ in result.result_validations][-1] == "score"
            assert result.attempts[3].verdicts[-1].verdict == "skipped"

    real(main)


async def ascore(text: str) -> float:
    return float(text[1:]) % 3


async def says_small(text: str) -> bool:
    return int(text[1:]) < 4


def test_a_score_that_is_no_number_passes_nothing() -> None:
    async def odd(_: str) -> Any:
        return next(said)

    said = iter([math.nan, True, "3"])
    result = virtual(
        lambda: sample("go", strategy=BestOfNStrategy(loop_budget=3, score=odd), model=Backend(lambda n: (0, f"t{n}")))
    )
    assert not result.success
    assert {attempt.verdicts[0].verdict for attempt in result.attempts} == {"error"}


def test_what_is_good_enough_ends_the_search() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0, f"t{n}"))
        strategy = BestOfNStrategy(loop_budget=9, score=ascore, good_enough=2)
        result = await sample("go", strategy=strategy, model=model)
        assert (result.result, model.started) == ("t2", 2)

    virtual(main)


# Votes.


def test_answers_are_compared() -> None:
    assert exact(" a b ") == "a b"
    assert normalised("It is: A  b!") == normalised("it IS a b")
    six = numeric(6)
    for text in ("It is 42", "42.0", "$42.00", "x = 42.0000000001", "so 4.2e1", "first 3, then 42"):
        assert six(text) == six("42"), text
    assert six("1,234.5") == six("1234.50")
    assert six("-0.0") == six("0")
    assert six("-42") != six("42")
    assert six("none at all") == "none at all"
    assert six("1e999999999999999999999") == "1e999999999999999999999"
    assert rouge_l(["a", "b", "c", "d"], ["a", "x", "c", "d"]) == pytest.approx(0.75)
    assert (rouge_l([], []), rouge_l(["a"], [])) == (1.0, 0.0)


@pytest.mark.soak
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_common_subsequence_is_the_longest(first: list[str], second: list[str]) -> None:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for row, one in enumerate(first):
        for column, other in enumerate(second):
            better = max(table[row][column + 1], table[row + 1][column])
            table[row + 1][column + 1] = table[row][column] + 1 if one == other else better
    if first and second:
        assert rouge_l(first, second) == pytest.approx(2 * table[-1][-1] / (len(first) + len(second)))


def vote(texts: list[Any], requirements: Any = (), **options: Any) -> tuple[SamplingResult, int]:
    async def main() -> tuple[SamplingResult, int]:
        model = Backend(lambda n: (0.01, texts[n - 1]))
        lanes = options.pop("concurrency_budget", len(texts))
        strategy = MajorityVotingStrategy(concurrency_budget=lanes, loop_budget=len(texts) // lanes, **options)
        result = await sample("go", requirements, strategy=strategy, model=model)
        return result, model.started

    return (real if options.get("similarity") == "rouge_l" or callable(options.get("similarity")) else virtual)(main)


def test_each_similarity_votes() -> None:
    assert vote(["a", "b", "b ", "c"])[0].result == "b"
    assert vote(["The cat.", "a dog", "the cat", "A bird"], similarity="normalised")[0].result == "The cat."
    assert vote(["it is 7", "8", "x = 7.0", "9"], similarity="numeric")[0].result == "it is 7"
    texts = ["the cat sat on the mat", "the cat sat on a mat", "dogs bark at night", "the cat lay on the mat"]
    assert vote(texts, similarity="rouge_l")[0].result == texts[0]
    assert vote(["10", "30", "29", "31"], similarity=lambda a, b: float(abs(int(a) - int(b)) < 2))[0].result == "30"
    assert vote(["b", "a"])[0].result == "b"  # of equal ones the lowest id


def test_a_decided_vote_asks_no_further() -> None:
    assert vote(["a"] * 9)[1] == 5
    assert vote(["a"] * 4 + ["b"] + ["c"] * 4)[1] == 9
    assert vote(["a", "a", "b", "a", "a", "a", "a", "a", *"x" * 8], threshold=0.8)[1] == 8
    assert vote(["a", "a", "b", "a", *"x" * 12], threshold=0.75)[1] == 4
    assert vote(["a b c d", "a b c d", "a b c d e", "a b c d", *"wxyz"], similarity="rouge_l", threshold=0.9)[1] == 4
    assert vote(["a"] * 9, mode="fastest", concurrency_budget=3)[1] in (5, 6)


def test_failures_decide_nothing_early() -> None:
    result, asked = vote(["5"] * 8, [says_pass], threshold=0.5)
    assert (asked, result.success, result.result) == (8, False, "5")


@pytest.mark.parametrize("options", [{"similarity": "best"}, {"threshold": 0}, {"threshold": 1.1}, {"min_votes": 0}])
def test_votes_are_checked(options: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        MajorityVotingStrategy(**options)


def test_a_comparison_is_bounded_and_stops() -> None:
    texts = [" ".join(random.Random(n).choices("abcdefgh", k=5000)) for n in range(300)]
    stop: list[bool] = []
    calls: list[int] = []

    def measure(first: Any, second: Any) -> float:
        calls.append(1)
        if len(calls) == 3:
            stop.append(True)
        return 0.0

    assert len(similarities(texts, measure, stop)) == 300
    assert len(calls) == 3
    assert similarities(["x y", "x y"], None, []) == [2.0, 2.0]


# Escalation.


def escalate(fast: list[str], slow: str, **options: Any) -> tuple[SamplingResult, Backend, Backend]:
    async def main() -> Any:
        quick, thorough = Backend(lambda n: (0.01, fast[(n - 1) % len(fast)])), Backend(lambda n: (0.01, slow))
        strategy = EscalationStrategy(quick, thorough, **{"loop_budget": 3, **options})
        return await sample("go", [Requirement("says pass", said)], strategy=strategy), quick, thorough

    return virtual(main)


async def said(text: str) -> tuple[bool, str]:
    return text == "pass", f"it says {text}"


def test_the_slow_model_is_asked_last() -> None:
    result, fast, slow = escalate(["a", "b", "c"], "pass")
    assert (result.success, fast.started, slow.started) == (True, 3, 1)
    assert result.winner is not None
    assert (result.winner.id, result.winner.round) == (4, 3)
    assert slow.requests[0].messages == (Message("user", "go"),)
    result, fast, slow = escalate(["a", "pass"], "never")
    assert (result.success, fast.started, slow.started) == (True, 2, 0)


def test_going_in_circles_ends_a_lane() -> None:
    result, fast, slow = escalate(["a"], "pass", loop_budget=9)
    assert (result.success, fast.started, slow.started) == (True, 2, 1)


def test_when_the_slow_model_fails_the_best_failure_is_taken() -> None:
    result, _, slow = escalate(["a", "b", "c"], "d")
    assert (result.success, result.result, slow.started) == (False, "a", 1)


def test_the_slow_model_is_told() -> None:
    _, _, slow = escalate(["a", "b", "c"], "pass", handover="conversation")
    assert [turn.role for turn in slow.requests[0].messages] == ["user", "assistant", "user"]
    _, _, slow = escalate(["a", "b", "c"], "pass", handover="best")
    assert "The best answer so far:\na\n" in slow.requests[0].messages[0].content
    with pytest.raises(ValueError, match="handover"):
        escalate(["a"], "b", handover="nothing")
    assert "best" in EscalationStrategy(slow, slow, handover="best").identity


def test_escalation_of_functions_and_after_errors() -> None:
    async def make(attempt: Any) -> str:
        return "pass" if attempt.id == 3 else f"no {attempt.feedback}"

    async def main() -> None:
        models = [Backend(lambda n: (0, rate_limited())), Backend(lambda n: (0, "pass"))]
        result = await sample(make, [says_pass], strategy=EscalationStrategy(*models, loop_budget=2))
        assert (result.success, result.attempts[1].output) == (True, "no - The requirement of most tests.")
        result = await sample("go", [says_pass], strategy=EscalationStrategy(*models, loop_budget=2))
        assert result.success
        capped = await sample(
            "go", [says_pass], strategy=EscalationStrategy(*models, loop_budget=2), budget={"calls": 1}
        )
        assert capped.reason == "cap reached"

    virtual(main)


# Actions.


def test_functions_and_makers_make_attempts() -> None:
    class Agent:
        async def make(self, attempt: Any) -> Generation:
            place = current_attempt()
            assert place is not None
            assert (place.id, place.lane, place.round) == (attempt.id, attempt.lane, attempt.round)
            said = Message("user", f"task {attempt.id}")
            return Generation({"n": attempt.id}, conversation=(said,), facts={"tree": f"tree{attempt.id}"})

    seen: list[Any] = []

    async def check(subject: Any) -> bool:
        seen.append((subject.output["n"], subject.conversation[0].content, subject.facts["tree"]))
        return bool(subject.output["n"] == 2)

    async def main() -> None:
        requirement = Requirement("is 2", check, takes_subject=True)
        result = await sample(Agent(), requirement, strategy=RejectionSamplingStrategy(loop_budget=3))
        assert (result.result, result.success) == ({"n": 2}, True)
        assert result.attempts[1].receipt == {"tree": "tree2"}
        assert result.attempts[1].usage.unknown == 1
        assert seen == [(1, "task 1", "tree1"), (2, "task 2", "tree2")]

    virtual(main)


def test_a_function_that_raises_costs_its_attempt() -> None:
    async def make(attempt: Any) -> str:
        if attempt.id == 1:
            raise ValueError("bug")
        if attempt.id == 2:
            raise SamplingError(error, 1, None)  # type: ignore[arg-type]
        return "pass"

    from bakeoff.sampling.result import AttemptError

    error = AttemptError("auth", "inner")
    result = virtual(lambda: sample(make, [says_pass], strategy=RejectionSamplingStrategy(loop_budget=3)))
    assert [one.status for one in result.attempts] == ["error", "error", "passed"]
    assert isinstance(result.errors[1].exception, ValueError)
    assert result.errors[1].message == "ValueError: bug"
    assert result.errors[2].kind == "error"


def test_a_model_must_reply() -> None:
    async def main() -> SamplingResult:
        return await sample("go", model=Mute(lambda _: (0, "x")))

    class Mute(Backend):
        async def generate(self, request: Request) -> Any:
            return "text"

    with pytest.raises(TypeError, match="returns a Reply, not 'text'"):
        virtual(main)


@pytest.mark.parametrize("action", [len, 3, lambda _: "text", object()])
def test_what_is_no_action_is_refused(action: Any) -> None:
    with pytest.raises(TypeError, match="an action is"):
        virtual(lambda: sample(action))


def test_seeds_differ_and_requests_are_their_own() -> None:
    async def main() -> None:
        model = Backend(lambda n: (0, f"t{n}"))
        strategy = RejectionSamplingStrategy(loop_budget=2, concurrency_budget=2)
        result = await sample(Request(prompt="go", seed=7), [says_pass], strategy=strategy, model=model)
        assert sorted(one.seed or 0 for one in model.requests) == [7, 8, 9, 10]
        assert [one.request and one.request.seed for one in result.attempts] == [7, 8, 9, 10]
        plain = Backend(lambda n: (0, f"t{n}"))
        await sample("go", [says_pass], strategy=strategy, model=plain)
        assert len({id(one) for one in plain.requests}) == 4

    virtual(main)


def test_a_strategy_of_ones_own() -> None:
    class Twice(SamplingStrategy):
        """Takes the second that passes."""

        async def search(self, sampler: Any) -> Any:
            make = self.lane_maker(sampler)
            passed = [one for rank in range(4) if (one := await make(rank)).status == "passed"]
            return passed[1]

    class Chain(SamplingStrategy):
        chained = True

    async def main() -> None:
        model = Backend(lambda n: (0, "pass" if n in (2, 4) else f"no {n}"))
        result = await sample("go", [says_pass], strategy=Twice(), model=model)
        assert result.winner is not None
        assert result.winner.id == 4
        again = Backend(lambda n: (0, f"no {n}"))
        await sample("go", [says_pass], strategy=Chain(loop_budget=2), model=again)
        assert [one.messages[0].content for one in again.requests] == ["go", "go"]

    virtual(main)


def test_a_strategy_serves_ten_calls_at_once() -> None:
    strategy = MultiTurnStrategy(loop_budget=3, concurrency_budget=2)

    async def main() -> None:
        found: dict[int, SamplingResult] = {}

        async def one(number: int) -> None:
            model = Backend(lambda n: (0.01 * number, f"{number}.{n}"))
            found[number] = await sample(f"task {number}", [says_pass], strategy=strategy, model=model)

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(one, number)
        for number, result in found.items():
            assert len(result.attempts) == 6
            assert all(str(one.output).startswith(f"{number}.") for one in result.attempts)
            assert all(one.conversation[0].content == f"task {number}" for one in result.attempts)

    virtual(main)


def test_the_current_attempt_is_ones_own() -> None:
    async def make(attempt: Any) -> str:
        await anyio.sleep(random.Random(attempt.id).random())
        return f"{attempt.id} {attempt.lane} {attempt.round}"

    async def check(text: str) -> bool:
        await anyio.sleep(random.Random(text).random())
        place = current_attempt()
        assert place is not None
        assert text == f"{place.id} {place.lane} {place.round}"
        return False

    async def main() -> None:
        for kind in (RejectionSamplingStrategy, RepairTemplateStrategy):
            strategy = kind(loop_budget=5, concurrency_budget=8)
            result = await sample(make, [check], strategy=strategy, order="together")
            assert {verdict.verdict for one in result.attempts for verdict in one.verdicts} == {"failed"}
            assert len(result.attempts) == 40
        assert current_attempt() is None

    virtual(main)


def test_a_thousand_at_once() -> None:
    async def main() -> tuple[int, int]:
        model = Backend(lambda n: (0.05, f"no {n}"))
        strategy = RejectionSamplingStrategy(loop_budget=2, concurrency_budget=500)
        result = await sample("go", [says_pass], strategy=strategy, model=model)
        return model.peak, len(result.attempts)

    assert virtual(main) == (500, 1000)


def test_twenty_twins_are_judged_once() -> None:
    seen: list[str] = []

    async def check(text: str) -> bool:
        seen.append(text)
        return False

    async def main(dedup: bool) -> int:
        seen.clear()
        strategy = RejectionSamplingStrategy(loop_budget=5, concurrency_budget=4)
        await sample("go", [check], strategy=strategy, model=Backend(lambda _: (0.01, "same")), dedup=dedup)
        return len(seen)

    assert virtual(lambda: main(True)) == 1
    assert virtual(lambda: main(False)) == 20
