"""The policy of the queue, driven through random worlds by simulation: no git, no processes."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bakeoff.plan.queue.policy import Compose, Items, Probe, Purpose, Trial, first_failing, land
from searches import examples


class World:
    """Changes of which some break when they are together, some cannot be merged after others, and runs that flake.

    Attributes:
        bad: sets of changes that fail whenever all of one are there.
        clash: pairs that cannot be merged; the later one stays out.
        flakes: numbers of test runs, from 0, that fail without a reason.
    """

    def __init__(self, count, bad=(), clash=(), flakes=(), alone=True, width=1):
        self.count, self.bad, self.clash, self.flakes, self.width = (
            count,
            [set(one) for one in bad],
            clash,
            flakes,
            width,
        )
        self.alone = [item for item in range(count) if not self.fails((item,))] if alone else []
        self.runs: list[Probe] = []
        self.rounds = 0

    def fails(self, items):
        return any(one <= set(items) for one in self.bad)

    def chain(self, without) -> Items:
        kept: list[int] = []
        for item in range(self.count):
            if item not in without and not any((other, item) in self.clash for other in kept):
                kept.append(item)
        return tuple(kept)

    def drive(self):
        machine, answer = land(self.alone, self.width), None
        while True:
            try:
                question = machine.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(question, Compose):
                answer = self.chain(question.without)
            else:
                assert 0 < len(question) <= self.width
                self.rounds += 1
                answer = [self.trial(probe) for probe in question]

    def trial(self, probe):
        assert list(probe.items) == sorted(probe.items)
        red = self.fails(probe.items) or len(self.runs) in self.flakes
        self.runs.append(probe)
        return Trial(not red, ("a test",) if red else ())

    def of(self, *purposes):
        return sum(probe.purpose in purposes for probe in self.runs)

    @property
    def landing(self):
        """Runs that it took until it was clear what lands."""
        return len(self.runs) - self.of(Purpose.PARTNER)


def test_all_good_is_one_run():
    for count in (2, 16, 50):
        world = World(count)
        assert world.drive().landed == tuple(range(count))
        assert len(world.runs) == 1


def test_nothing_to_merge_and_one_that_is_known_already_take_none():
    for count in (0, 1):
        world = World(count)
        assert world.drive().landed == tuple(range(count))
        assert world.runs == []


@pytest.mark.parametrize("pair", list(itertools.combinations(range(16), 2)))
def test_a_guilty_pair_among_sixteen(pair):
    world = World(16, [pair])
    outcome = world.drive()
    assert outcome.landed == tuple(item for item in range(16) if item != pair[1])
    (blame,) = outcome.blamed
    assert (blame.item, blame.partner, blame.confirmed, blame.tests) == (pair[1], pair[0], True, ("a test",))
    assert world.landing <= 8
    assert world.of(Purpose.PARTNER) <= 5
    assert sum(world.fails(probe.items) and probe.items[-1] == pair[1] for probe in world.runs) >= 2


@pytest.mark.parametrize("bad", range(16))
def test_one_bad_alone_among_sixteen_that_were_not_tested_alone(bad):
    world = World(16, [(bad,)], alone=False)
    (blame,) = (outcome := world.drive()).blamed
    assert (blame.item, blame.partner, len(outcome.landed)) == (bad, None, 15)
    assert world.landing <= 8
    assert len(world.runs) <= 13


def test_three_bad_of_sixteen():
    most = 0
    for bad in itertools.combinations(range(16), 3):
        world = World(16, [(item,) for item in bad], alone=False)
        outcome = world.drive()
        assert [blame.item for blame in outcome.blamed] == list(bad)
        assert len(outcome.landed) == 13
        most = max(most, world.landing)
    assert most <= 20


def test_a_red_run_that_passes_when_it_is_run_again_blames_nobody():
    world = World(16, flakes=[0])
    outcome = world.drive()
    assert (len(outcome.landed), outcome.blamed, len(outcome.flaky), len(world.runs)) == (16, [], 1, 2)


@pytest.mark.parametrize("flake", range(8))
def test_a_flake_in_a_search_blames_nobody_who_is_innocent(flake):
    for pair in ((0, 15), (4, 10), (7, 8)):
        world = World(16, [pair], flakes=[flake])
        outcome = world.drive()
        assert [blame.item for blame in outcome.blamed] == [pair[1]], (pair, flake)
        assert len(outcome.landed) == 15


def test_what_could_not_be_merged_with_a_culprit_comes_back():
    # 3 clashes with 2, which breaks with 1: when 2 is out, 3 is in.
    world = World(5, [(1, 2)], clash={(2, 3)})
    outcome = world.drive()
    assert outcome.landed == (0, 1, 3, 4)
    assert [(blame.item, blame.partner) for blame in outcome.blamed] == [(2, 1)]


def test_three_that_fail_only_together_name_the_last_with_the_one_before():
    world = World(8, [(1, 3, 6)])
    (blame,) = world.drive().blamed
    assert (blame.item, blame.partner, blame.confirmed) == (6, 3, False)


def test_a_partner_that_cannot_be_looked_for_is_not_named():
    class Entangled(World):
        def trial(self, probe):
            if probe.purpose is Purpose.PARTNER:
                return Trial(None)
            return super().trial(probe)

    (blame,) = Entangled(8, [(2, 6)]).drive().blamed
    assert (blame.item, blame.partner, blame.confirmed) == (6, None, False)


@pytest.mark.soak
@settings(max_examples=examples(100))
@given(st.data())
def test_random_worlds(data):
    count = data.draw(st.integers(1, 14))
    items = st.integers(0, count - 1)
    world = World(
        count,
        bad=data.draw(st.lists(st.sets(items, min_size=1, max_size=3), max_size=4)),
        clash=data.draw(st.sets(st.tuples(items, items).filter(lambda pair: pair[0] < pair[1]), max_size=4)),
        flakes=data.draw(st.sets(st.integers(0, 12), max_size=1)),
        alone=data.draw(st.booleans()),
        width=data.draw(st.integers(1, 5)),
    )
    # One that fails alone and is known to never gets here.
    world.bad = [one for one in world.bad if len(one) > 1 or not world.alone]
    world.alone = [item for item in range(count) if not world.fails((item,))] if world.alone else []
    outcome = world.drive()
    assert not world.fails(outcome.landed)
    blamed = [blame.item for blame in outcome.blamed]
    assert outcome.landed == world.chain(blamed)
    for blame in outcome.blamed:
        # With those before it it truly fails, and not without it.
        earlier = [item for item in world.chain(set(blamed) - {blame.item}) if item <= blame.item]
        known = [one for one in blamed if blamed.index(one) < blamed.index(blame.item)]
        assert world.fails([*world.chain(known)[: world.chain(known).index(blame.item) + 1]]), (blame, earlier)
        if blame.confirmed and not world.flakes:
            assert world.fails((blame.partner, blame.item))
    again = World(count, world.bad, world.clash, world.flakes, False, world.width)
    again.alone = world.alone
    assert again.drive() == outcome
    assert again.runs == world.runs


def test_more_at_once_take_fewer_rounds():
    rounds = {}
    for width in (1, 3, 10):
        worlds = [World(50, [pair], width=width) for pair in ((0, 49), (20, 30), (3, 17))]
        for world in worlds:
            assert len(world.drive().landed) == 49
        rounds[width] = sum(world.rounds for world in worlds)
    assert rounds[1] > rounds[3] > rounds[10]


@given(st.integers(0, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 8))
def test_the_search_finds_the_first_failing_length(good, span, at, width):
    bad = good + span
    first = good + 1 + at % span
    search, told, runs, found = first_failing(good, bad, width), None, Counter(), None
    while found is None:
        try:
            lengths = next(search) if told is None else search.send(told)
        except StopIteration as end:
            found = end.value
            continue
        assert len(lengths) <= width
        assert all(good < length < bad for length in lengths)
        runs.update(lengths)
        told = [length < first for length in lengths]
    assert found == first
    assert all(count == 1 for count in runs.values())
    if width == 1:
        assert len(runs) <= (span - 1).bit_length()
