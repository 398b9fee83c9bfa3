"""Which inputs a fork is asked to call, and how often: no more than shows, and no less."""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from bakeoff.judge.timing.plan import (
    ENOUGH_WORK,
    MOST_CALLS,
    MOST_INPUTS,
    MOST_REPEATS,
    MOST_WORK,
    SEEN_WORK,
    WORK,
    Known,
    Plan,
    choice,
    weighty,
)

NANOSECONDS = st.lists(st.floats(1.0, 1e9), min_size=1, max_size=12)


def inputs(nanoseconds: list[float], fresh: int = 0) -> list[Known]:
    """Inputs that take so long, the first `fresh` of them derived."""
    return [Known(b"%d" % place, place < fresh, b"", each) for place, each in enumerate(nanoseconds)]


def plan(nanoseconds: list[float], fresh: int = 0, *, reuse: bool = True) -> Plan:
    return Plan.of(inputs(nanoseconds, fresh), False, True, 1.0, waits=False, reuse=reuse)


def work(made: Plan) -> float:
    """Nanoseconds of calls in a fork, but for the single ones."""
    once = sum(count * each.nanoseconds for count, each in zip(made.calls, made.inputs, strict=True))
    return (1 + made.repeats + made.extra) * once


def test_a_batch_takes_ten_microseconds_and_heavy_is_a_tenth_of_all() -> None:
    made = plan([100.0, 4_000.0, 200.0, 50_000.0, 45_700.0, 9_999.0], fresh=2)
    assert made.calls == [MOST_CALLS, 2, 50, 1, 1, 1]
    assert (made.weights.fresh, made.weights.heavy, made.weights.work) == ([0, 1], [3, 4], 109_999.0)
    assert plan([1.0] * 10).weights.heavy == list(range(10))
    assert [plan([taken]).repeats for taken in (4_999_999.0, 5e6)] == [2, 0]


def test_a_job_calls_all_inputs_in_an_order_of_its_own() -> None:
    made = plan([1.0, 2.0, 3.0, 4.0])
    jobs = [made.job(random.Random(seed)) for seed in range(9)]
    assert {tuple(sorted(job.order)) for job in jobs} == {(0, 1, 2, 3)}
    assert len({tuple(job.order) for job in jobs}) > 1
    assert all((job.inputs, job.depth, job.seed) == ([b"0", b"1", b"2", b"3"], 0, 0) for job in jobs)


@given(NANOSECONDS, st.integers(1, 16))
@example([4e6], 16)
def test_a_fork_does_so_many_times_as_much_as_before_up_to_the_bound(nanoseconds: list[float], factor: int) -> None:
    made = plan(nanoseconds)
    before = work(made)
    grown = made.grow(factor)
    assert grown is (work(made) > before)
    if not made.repeats:
        assert not grown, "calls that take long are made once"
    elif factor * before < MOST_WORK:
        assert work(made) == factor * before
    else:
        assert work(made) <= MOST_WORK + before


@given(NANOSECONDS)
def test_what_a_fork_does_shows_on_the_clock_outside(nanoseconds: list[float]) -> None:
    made = plan(nanoseconds)
    before = work(made)
    made.show()
    if made.repeats:
        assert SEEN_WORK * 0.999 <= work(made) < max(SEEN_WORK + before, before * 1.001)


@given(st.lists(st.integers(1, 16), min_size=1, max_size=4))
def test_arguments_that_cannot_be_used_again_are_made_again(factors: list[int]) -> None:
    made = plan([100.0], reuse=False)
    wanted = made.repeats
    for factor in factors:
        wanted = min(MOST_REPEATS, factor * wanted)
        before = made.repeats
        assert made.grow(factor) is (wanted > before)
        assert (made.repeats, made.extra) == (wanted, 0)


@given(NANOSECONDS)
@example([1.0] * 11 + [50.0])
@example([1.0] * 5 + [70.0])
def test_the_lightest_are_left_out_where_they_tell_next_to_nothing(nanoseconds: list[float]) -> None:
    known = inputs(nanoseconds)
    kept = weighty(known)
    left_out = [each for each in known if each not in kept]
    assert bool(left_out) or nanoseconds != [1.0] * 5 + [70.0]
    assert sum(each.nanoseconds for each in left_out) <= 0.1 * sum(nanoseconds) * 1.001
    assert all(4 * each.nanoseconds * len(known) < sum(nanoseconds) * 1.001 for each in left_out)


@given(NANOSECONDS, st.lists(st.floats(1.0, 1e9), max_size=24), st.integers())
def test_some_of_both_kinds_are_chosen_and_not_too_many(fresh: list[float], seen: list[float], seed: int) -> None:
    known = inputs([*fresh, *seen], len(fresh))
    chosen = choice(known, random.Random(seed))
    assert len(chosen) <= MOST_INPUTS
    assert len({each.call for each in chosen}) == len(chosen)
    bearable = [each for each in known if each.nanoseconds <= WORK] or known
    assert all(each in bearable for each in chosen)
    assert {each.fresh for each in chosen} == {each.fresh for each in bearable}
    of_fresh = sum(each.fresh for each in chosen)
    if of_fresh and sum(each.nanoseconds for each in chosen) <= ENOUGH_WORK:
        assert len(chosen) - of_fresh <= max(of_fresh, 8)


def test_code_is_warm_before_first_calls_count() -> None:
    """CPython specialises what ran some times: a loop of fewer turns would look slower at first calls."""
    made = plan([1_000.0] * 6).job(random.Random(0))
    assert made.later == made.order[3:]
    assert [made.repeated(place) - made.calls[place] * made.repeats for place in made.order] == [6, 6, 6, 0, 0, 0]
    long, alone = (plan(taken).job(random.Random(0)) for taken in ([200_000.0] * 6, [1_000.0]))
    assert (long.warming, alone.warming) == (0, 0)
