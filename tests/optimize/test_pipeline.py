"""The pipeline with a scripted judge: in virtual time for what goes on at once, with a real journal for resuming."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from bakeoff.engine.journal import MemoryJournal
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, SessionConfig, run_session
from bakeoff.engine.store import RunStore
from bakeoff.errors import BakeoffError
from bakeoff.judge.timing.speed import Interval, Speed
from bakeoff.optimize.behaviour.differences import Difference
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.context.observed import Observed
from bakeoff.optimize.pipeline import PATIENCE, Pipeline
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine
from bakeoff.optimize.target import Target
from bakeoff.optimize.view import run_view
from bakeoff.workspace.errors import SlotError

SOURCE = b"def work(x):\n    return x\n"
CONTEXT = Context(Target(PurePosixPath("mod.py"), "work"), SOURCE)


def candidate(name: str, body: str | None = None, parent: Candidate | None = None) -> Candidate:
    text = f"def work(x):\n    return {body or f'x, {name!r}'}\n"
    return Candidate(f"fake/{name}", {"mod.py": text.encode()}, parent=None if parent is None else parent.id)


@dataclass
class Fake:
    """A source that gives what it is told to, each after some seconds."""

    first: Sequence[tuple[float, Candidate]] = ()
    name: str = "fake"
    on_repair: Callable[[Sequence[Failure]], Sequence[Candidate]] = lambda failures: ()
    on_refine: Callable[[Sequence[Candidate]], Sequence[Candidate]] = lambda winners: ()
    on_adapt: Callable[[Sequence[Candidate]], Sequence[Candidate]] = lambda lineage: ()
    fails: BakeoffError | None = None
    asked: list[str] = field(default_factory=list)
    reads: frozenset[str] = frozenset()

    async def propose(self, context: Context) -> AsyncIterator[Candidate]:
        self.asked.append("propose")
        for seconds, one in self.first:
            await anyio.sleep(seconds)
            yield one
        if self.fails is not None:
            raise self.fails

    async def repair(self, context: Context, failures: Sequence[Failure]) -> AsyncIterator[Candidate]:
        self.asked.append("repair")
        for one in self.on_repair(failures):
            yield one

    async def refine(
        self, context: Context, winners: Sequence[Candidate], profile: Sequence[ProfileLine]
    ) -> AsyncIterator[Candidate]:
        self.asked.append("refine")
        for one in self.on_refine(winners):
            yield one

    async def adapt(self, context: Context, lineage: Sequence[Candidate]) -> AsyncIterator[Candidate]:
        self.asked.append("adapt")
        for one in self.on_adapt(lineage):
            yield one


@dataclass
class Scripted:
    """A judge that knows each candidate's speed by its name; none: it behaves otherwise."""

    speeds: Mapping[str, float | None]
    seconds: float = 1.0
    racing: float = 5.0
    log: list[str] = field(default_factory=list)
    at_once: int = 0
    peak: int = 0
    dies_in: str = ""
    fall_when_applied: tuple[str, ...] = ()

    @property
    def tests_winners(self) -> bool:
        return bool(self.fall_when_applied)

    async def behaviour(self, one: Candidate) -> Judgement:
        name = one.origin.partition("/")[2]
        self.at_once += 1
        self.peak = max(self.peak, self.at_once)
        try:
            await anyio.sleep(self.seconds)
        finally:
            self.at_once -= 1
        if name == self.dies_in:
            raise BakeoffError("the machine stops")
        self.log.append(f"judged {name} at {anyio.current_time():g}")
        if self.speeds[name] is None:
            return Judgement("behaviour/return", "2 instead of 1", {}, (Difference("behaviour/return", "t", "", "x"),))
        return Judgement(None, "", {})

    async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
        names = {number: one.origin.partition("/")[2] for number, one in candidates.items()}
        self.log.append(f"race {' '.join(names.values())} at {anyio.current_time():g}")
        if "race" in self.dies_in:
            raise BakeoffError("the machine stops")
        await anyio.sleep(self.racing)
        found = {}
        for number, name in names.items():
            speed = self.speeds[name]
            assert speed is not None
            interval = Interval(speed, speed * 0.98, speed * 1.02)
            found[number] = Speed("faster" if speed > 1.05 else "not-faster", speedup=interval, remeasured=True)
        return found

    async def as_applied(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        name = candidate.origin.partition("/")[2]
        self.log.append(f"applied {name}")
        return Judgement("test-failed", "t: it fails", {}) if name in self.fall_when_applied else judgement

    async def profile(self, one: Candidate | None) -> Sequence[ProfileLine]:
        return [ProfileLine(2, 1, 0.5, "x" if one is None else one.origin)]


def original(paths: Any) -> dict[str, bytes | None]:
    return {path: SOURCE if path == "mod.py" else None for path in paths}


def find(judge: Scripted, *sources: Fake, tests: int = 2, **more: Any) -> Pipeline:
    """Run a pipeline to its end in virtual time."""
    told: list[str] = []
    run = Run(journal=MemoryJournal(), lanes=Lanes({"leaves": 64, "tests": tests, "bench": 1}))
    pipeline = Pipeline(run, judge, sources, CONTEXT, original, warn=told.append, **more)

    async def main() -> None:
        await pipeline.find()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    judge.log += [f"! {text}" for text in told]
    return pipeline


def test_who_was_measured_again_wins_over_a_higher_figure_of_the_selection() -> None:
    class Selects(Scripted):
        async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
            found = await super().race(candidates)
            return {number: replace(speed, remeasured=number == 1) for number, speed in found.items()}

    found = find(Selects({"a": 2.0, "b": 2.1}), Fake([(0, candidate(name)) for name in "ab"]))
    assert found.champion is found.candidates[1]


def test_the_fastest_that_behaves_wins_and_each_has_a_reason() -> None:
    judge = Scripted({"a": 1.2, "b": 3.0, "c": None, "d": 1.0})
    found = find(judge, Fake([(0, candidate(name)) for name in "abcd"]))
    assert found.champion is found.candidates[2]
    reasons = [state.reason for state in found.candidates.values()]
    assert reasons == ["faster", "faster", "behaviour/return", "not-faster"]
    assert [state.verdict for state in found.candidates.values()] == ["ACCEPT", "ACCEPT", "REJECT", "REJECT"]
    assert judge.log[-1] == "race a b d at 2"


def test_the_same_in_other_words_is_judged_once_and_the_original_never() -> None:
    first = candidate("a", "[y for y in x]")
    again = candidate("b", "[z for z in x]")
    judge = Scripted({"a": 2.0})
    found = find(judge, Fake([(0, first), (0, again), (0, candidate("c", "(x)"))]))
    assert [state.reason for state in found.candidates.values()] == ["faster", "duplicate", "duplicate"]
    assert found.candidates[2].detail == "candidate 1 in other words"
    assert found.candidates[3].detail == "the original in other words"
    assert [line.partition(" at")[0] for line in judge.log] == ["judged a", "race a"]


def test_one_that_is_too_large_is_invalid_and_no_twin_of_a_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.optimize.candidate.MOST_BYTES", 2 << 20)
    good = candidate("good")
    large = Candidate("fake/large", {"mod.py": (good.files["mod.py"] or b"") + b"#" * (3 << 20)})
    found = find(Scripted({"good": 2.0}), Fake([(0, large), (0, good)]))
    assert [state.reason for state in found.candidates.values()] == ["invalid", "faster"]
    assert found.candidates[1].detail == "its files have 3 MiB, and 2 are the most"


@pytest.mark.parametrize("tests", [1, 2, 5])
def test_the_lane_of_tests_bounds_behaviour_and_is_filled(tests: int) -> None:
    judge = Scripted({f"c{number}": 1.0 for number in range(7)})
    find(judge, Fake([(0, candidate(f"c{number}")) for number in range(7)]), tests=tests)
    assert judge.peak == tests


def test_more_survivors_than_slots_all_get_a_verdict() -> None:
    names = [f"c{number}" for number in range(20)]
    judge = Scripted({name: 1.0 + index / 10 for index, name in enumerate(names)})
    found = find(judge, Fake([(0, candidate(name)) for name in names]), tests=1)
    assert all(state.verdict for state in found.candidates.values())
    assert found.champion is found.candidates[20]


def test_a_slow_source_is_not_waited_for_and_its_candidate_meets_the_champion() -> None:
    judge = Scripted({"a": 1.5, "late": 2.0})
    slow = Fake([(60, candidate("late"))], "slow")
    found = find(judge, Fake([(0, candidate("a"))]), slow)
    assert judge.log == ["judged a at 1", "race a at 1", "judged late at 61", "race a late at 61"]
    assert found.champion is found.candidates[2]


def test_behaviour_is_judged_while_others_are_measured() -> None:
    judge = Scripted({"a": 1.5, "b": 2.0}, racing=30)
    find(judge, Fake([(0, candidate("a")), (3, candidate("b"))]))
    assert judge.log == ["judged a at 1", "race a at 1", "judged b at 4", "race a b at 31"]


def test_a_survivor_does_not_wait_for_ever_for_those_that_are_still_judged() -> None:
    judge = Scripted(dict.fromkeys("abcdefghijklmnopqrst", 1.5), seconds=2)
    find(judge, Fake([(0, candidate(name)) for name in judge.speeds]), tests=1)
    races = [line for line in judge.log if line.startswith("race")]
    assert races[0].endswith(f"at {2 + PATIENCE:g}")


def test_failures_go_back_once_with_what_differs_and_winners_are_refined_then_adapted() -> None:
    base = candidate("a")
    refined = candidate("a2", parent=base)
    adapted = candidate("a3", parent=refined)
    seen: dict[str, Any] = {}

    def repair(failures: Sequence[Failure]) -> Sequence[Candidate]:
        seen["repair"] = [(one.candidate.origin, len(one.differences)) for one in failures]
        return [candidate("mended", parent=failures[0].candidate)]

    def refine(winners: Sequence[Candidate]) -> Sequence[Candidate]:
        seen["refine"] = [one.origin for one in winners]
        return [refined]

    def adapt(lineage: Sequence[Candidate]) -> Sequence[Candidate]:
        seen["adapt"] = [one.origin for one in lineage]
        return [adapted]

    fake = Fake([(0, base), (0, candidate("broken"))], on_repair=repair, on_refine=refine, on_adapt=adapt)
    judge = Scripted({"a": 1.5, "broken": None, "mended": None, "a2": 2.0, "a3": 2.5})
    found = find(judge, fake)
    assert seen == {
        "repair": [("fake/broken", 1)],
        "refine": ["fake/a"],
        "adapt": ["fake/a", "fake/a2", "fake/a3"],
    }
    assert found.champion is not None
    assert found.champion.file == "fake/a3"
    assert fake.asked.count("repair") == 1


def test_a_source_that_fails_ends_nothing_but_itself() -> None:
    judge = Scripted({"a": 1.5, "b": 1.2})
    broken = Fake([(0, candidate("b"))], "broken", fails=BakeoffError("no model answers"))
    found = find(judge, Fake([(1, candidate("a"))]), broken)
    assert found.champion is not None
    assert found.champion.file == "fake/a"
    assert "! source broken: no model answers" in judge.log
    with pytest.raises(BakeoffError, match="does not fit"):
        find(Scripted({}), Fake(name="given", fails=BakeoffError("a.patch does not fit")))
    with pytest.raises(SlotError, match="no slot"):  # which says nothing of the source: the run can be resumed
        find(Scripted({}), Fake(name="agent:me", fails=SlotError("no slot can be made")))


class Slow(Scripted):
    """A judge that takes its time to say what sources read."""

    async def profile(self, one: Candidate | None) -> Sequence[ProfileLine]:
        await anyio.sleep(100)
        return await super().profile(one)

    async def observed(self) -> Observed:
        self.log.append("observed")
        await anyio.sleep(50)
        return Observed({"x": ("int",)}, "- t")


def test_only_those_who_read_it_wait_for_what_is_told_and_it_is_found_out_once() -> None:
    judge = Slow({"a": 1.2, "b": 1.0, "c": 1.0, "d": 1.0}, racing=1)
    first, typed = Fake([(0, candidate("a"))]), Fake([(0, candidate("b"))], "typed", reads=frozenset({"calls"}))
    both = [Fake([(0, candidate(name))], name, reads=frozenset({"calls", "code", "profile"})) for name in "cd"]
    found = find(judge, first, typed, *both, refinements=0)
    judged = [line for line in judge.log if line.startswith("judged")]
    assert judged[:2] == ["judged a at 1", "judged b at 51"]
    assert sorted(line.partition(" at ")[2] for line in judged[2:]) == ["151", "151"]
    assert judge.log.count("observed") == 1
    assert (found.context.argument_types, found.context.tests) == ({"x": ("int",)}, "- t")


@pytest.mark.anyio
@pytest.mark.parametrize("dies_in", ["a", "b", "c", "race"])
async def test_a_resumed_run_judges_only_what_was_not_judged(tmp_path: Path, dies_in: str) -> None:
    speeds = {"a": 1.5, "b": 2.0, "c": None}
    folder = RunStore(tmp_path).create("r")
    meta = {"run_id": "r", "job": "optimize", "created_at": 1.0, "options": {"target": "mod.py:work"}}
    judged: list[str] = []
    for session, death in enumerate([dies_in, dies_in, ""]):
        judge = Scripted(speeds, 0, 0, dies_in=death)
        fake = Fake([(0, candidate(name)) for name in speeds])

        async def job(run: Run, judge: Scripted = judge, fake: Fake = fake) -> Ending:
            winner = await Pipeline(run, judge, [fake], CONTEXT, original).find()
            return Ending(RunStatus.COMPLETED, None, {"winner": winner and winner.number})

        config = SessionConfig(Lanes({"leaves": 4, "tests": 1, "bench": 1}), catch_signals=False)
        ending = await run_session(folder, job, config, meta=None if session else meta)
        judged += [line.partition(" at")[0] for line in judge.log]
        assert ending.status is (RunStatus.FAILED if death else RunStatus.COMPLETED)
    found = run_view(folder.history(), ending.status)
    assert [state.reason for state in found.entrants.values()] == ["faster", "faster", "behaviour/return"]
    assert found.winner == 2
    behaviours = [line for line in judged if line.startswith("judged")]
    assert sorted(behaviours) == ["judged a", "judged b", "judged c"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_a_race_holds_no_more_than_the_judge_can_race_at_once() -> None:
    names = ["a", "b", "c", "d", "e"]
    judge = Scripted(dict(zip(names, (1.2, 1.0, 1.5, 1.1, 1.0), strict=True)))
    found = find(judge, Fake([(0.0, candidate(name)) for name in names]), tests=5, most=3)
    races = [line.split(" at ")[0].split()[1:] for line in judge.log if line.startswith("race")]
    assert races == [["a", "b", "c"], ["c", "d", "e"]]
    assert found.champion is not None
    assert found.champion.file == "fake/c"


@pytest.mark.parametrize("told", ["undecided", "faster"])
def test_a_winner_whose_tests_fail_as_applied_leaves_its_place_to_whom_it_beat(told: str) -> None:
    judge = Telling({"a": 3.0, "b": 2.0, "c": 1.5}, fall_when_applied=("a", "b"), told=told)
    found = find(judge, Fake([(0, candidate(name)) for name in "abc"]))
    assert found.champion is not None
    assert (found.champion.file, found.candidates[1].reason) == ("fake/c", "test-failed")
    assert [line.partition(" at ")[0] for line in judge.log if not line.startswith("judged")] == [
        "race a b c", "applied a", "race b c", "applied b", "race c", "applied c",
    ]  # fmt: skip


@dataclass
class Telling(Scripted):
    """A judge whose races say of all but the fastest that another won: undecided, or faster by the selection alone."""

    told: str = "undecided"

    async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
        found = await super().race(candidates, earlier)
        best = max(found, key=lambda number: found[number].speedup.estimate)  # type: ignore[union-attr]
        return {
            n: speed if n == best else replace(speed, verdict=self.told, remeasured=False) for n, speed in found.items()
        }
