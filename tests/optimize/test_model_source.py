"""The source `model` in whole pipelines: a scripted model and judge, virtual time; real journals for resuming."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from bakeoff.engine.budget import Budget
from bakeoff.engine.journal import MemoryJournal
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, SessionConfig, run_session
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.judge.timing.speed import Interval, Speed
from bakeoff.model.protocol import ModelError, Reply, Request, Usage
from bakeoff.optimize.behaviour.differences import Difference
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.context.observed import Observed
from bakeoff.optimize.context.surroundings import Surroundings
from bakeoff.optimize.pipeline import Pipeline
from bakeoff.optimize.sources.models import ModelSource
from bakeoff.optimize.sources.source import ProfileLine
from bakeoff.optimize.view import run_view
from optimize.test_pipeline import CONTEXT, original

Script = Callable[[str], str | Exception]
"""What a prompt is answered with."""


def code(value: object, about: int | None = None) -> str:
    """A reply with a version of the target that gives `value`."""
    lead = f"# version {about}\n" if about else ""
    return f"Here:\n\n```python\n{lead}def work(x):\n    return {value}\n```\n"


@dataclass
class FakeModel:
    """Answers by a script after some seconds, and counts."""

    script: Script
    seconds: float = 0.0
    prompts: list[str] = field(default_factory=list)
    at_once: int = 0
    peak: int = 0
    closed: int = 0

    async def generate(self, request: Request) -> Reply:
        text = request.prompt or "".join(message.content for message in request.messages)
        self.prompts.append(text)
        self.at_once += 1
        self.peak = max(self.peak, self.at_once)
        try:
            await anyio.sleep(self.seconds)
        except BaseException:
            self.closed += 1
            raise
        finally:
            self.at_once -= 1
        said = self.script(text)
        if isinstance(said, Exception):
            raise said
        return Reply(said, Usage(100, 20, usd=0.5), "stop", "id", "fake-1")

    def at_most(self, request: Request) -> Usage:
        return Usage(100, 400, usd=1.0)

    async def __aenter__(self) -> FakeModel:
        return self

    async def __aexit__(self, *details: object) -> None:
        pass


@dataclass
class ByValue:
    """A judge that knows the speed of each value that a version gives; of others none: they differ."""

    speeds: Mapping[str, float]
    dies_at: str = ""
    judged: list[str] = field(default_factory=list)

    def value(self, one: Candidate) -> str:
        found = re.search(r"return (.*)", (one.files["mod.py"] or b"").decode())
        assert found is not None
        return found[1]

    async def behaviour(self, one: Candidate) -> Judgement:
        value = self.value(one)
        if value == self.dies_at:
            raise BakeoffError("the machine stops")
        self.judged.append(value)
        if value not in self.speeds:
            seen = Difference("behaviour/return", "t", "work(1)", f"{value} instead of 1")
            return Judgement("behaviour/return", "differs", {}, (seen,))
        return Judgement(None, "", {})

    async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
        found = {}
        for number, one in candidates.items():
            speed = self.speeds[self.value(one)]
            found[number] = Speed(
                "faster" if speed > 1.05 else "not-faster", speedup=Interval(speed, speed, speed), remeasured=True
            )
        return found

    tests_winners = False

    async def as_applied(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        raise AssertionError("it is not asked")

    async def profile(self, one: Candidate | None) -> Sequence[ProfileLine]:
        return [ProfileLine(2, 7, 0.5, "the slow line")]

    async def observed(self) -> Observed:
        return Observed({"x": ("list[int]",)}, "- test_work")


async def look() -> Surroundings:
    return Surroundings({"helper": "def helper(): ..."}, ("# a.py\ndef caller(): work(1)",))


def find(model: FakeModel, judge: ByValue, ceilings: Mapping[str, float] | None = None, **more: Any) -> Pipeline:
    """Run a pipeline with this model alone, in virtual time."""
    lanes = Lanes({"leaves": 64, "tests": 2, "bench": 1, "model": more.pop("lane", 9)})
    run = Run(journal=MemoryJournal(), lanes=lanes, budget=Budget(ceilings or {}))
    source = ModelSource(run, model, "m", more.pop("samples", 1), ("model",), completes=more.pop("completes", False))
    pipeline = Pipeline(run, judge, [source], CONTEXT, original, look, warn=lambda _: None, **more)
    trio.run(pipeline.find, clock=trio.testing.MockClock(autojump_threshold=0))
    return pipeline


def reasons(found: Pipeline) -> list[str | None]:
    return [state.reason for state in found.candidates.values()]


def test_the_model_is_told_all_there_is_and_its_versions_are_judged() -> None:
    model = FakeModel(lambda text: code(len(text)))
    find(model, ByValue({}), samples=2, repairs=0)
    assert len(model.prompts) == 2
    assert model.prompts[0] != model.prompts[1]
    for part in ("def work(x):", "def helper(): ...", "def caller()", "x: list[int]", "- test_work", "the slow line"):
        assert part in model.prompts[0]


def test_samples_are_asked_for_at_once_as_the_lane_allows() -> None:
    for lane, peak in ((9, 5), (2, 2)):
        model = FakeModel(lambda _: code("2"), seconds=10)
        find(model, ByValue({"2": 2.0}), samples=5, lane=lane, refinements=0)
        assert model.peak == peak


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("I would rather not.", "no code that defines work"),
        ("", "the reply is empty"),
        ("```python\ndef work(x):\n    return (\n```", "no Python"),
        ("```python\ndef work(x, y):\n    return 1\n```", "signature"),
        ("```python\ndef other(x):\n    return 1\n```", "no code that defines work"),
    ],
)
def test_a_reply_that_cannot_be_applied_is_an_invalid_candidate(reply: str, said: str) -> None:
    found = find(FakeModel(lambda _: reply), ByValue({}))
    assert reasons(found) == ["invalid"]
    (state,) = found.candidates.values()
    assert (state.verdict, said in state.detail) == ("REJECT", True), state.detail
    assert Candidate.from_json(state.candidate.to_json()) == state.candidate


def test_all_failures_go_back_in_one_request_with_what_differs() -> None:
    first = iter("345")

    def script(text: str) -> str:
        if "Mend each" not in text:
            return code(next(first))
        return code("x + 0", 2) + code("9", 3) + code("8")

    model, judge = FakeModel(script), ByValue({"x + 0": 3.0})
    found = find(model, judge, samples=3, refinements=0)
    assert len(model.prompts) == 4
    assert all(f"{value} instead of 1" in model.prompts[3] for value in "345")
    mended = [state for state in found.candidates.values() if "repair" in state.candidate.origin]
    ids = [found.candidates[number].candidate.id for number in (1, 2, 3)]
    assert [one.candidate.parent for one in mended] == [ids[1], ids[2], ids[2]]
    assert found.champion is mended[0]


def test_winners_are_refined_together_and_a_line_goes_on_as_one() -> None:
    first = iter(["'a'", "'b'"])

    def script(text: str) -> str:
        if "still faster ones" in text:
            return code("'c'", 2)
        if "made from the one before it" in text:
            return code("'d'" if text.count("Version") == 2 else "'c'")
        return code(next(first))

    model = FakeModel(script)
    judge = ByValue({"'a'": 2.0, "'b'": 1.5, "'c'": 3.0, "'d'": 4.0})
    found = find(model, judge, samples=2)
    refine, adapt, again = model.prompts[2:]
    assert "2.00 times as fast" in refine
    assert "1.50 times as fast" in refine
    assert "the slow line" in refine
    assert "3.00 times as fast" in adapt
    assert "4.00 times as fast" in again
    assert found.champion is not None
    assert judge.value(found.champion.candidate) == "'d'"
    by_value = {judge.value(one.candidate): one.candidate for one in found.candidates.values() if one.twin is None}
    assert by_value["'c'"].parent == by_value["'b'"].id
    assert by_value["'d'"].parent == by_value["'c'"].id


def test_what_may_pass_is_tried_again_and_what_may_not_ends_the_source_alone() -> None:
    failures = iter([ModelError("busy", "overload", retry_after=40), ModelError("cut", "cut")])
    model = FakeModel(lambda _: next(failures, code("'a'")))
    found = find(model, ByValue({"'a'": 2.0}), refinements=0)
    assert (len(model.prompts), reasons(found)) == (3, ["faster"])

    for failure in (ModelError("no key", "auth"), ModelError("tomorrow", "rate_limit", retry_after=9e4)):
        model = FakeModel(lambda _, failure=failure: failure)
        found = find(model, ByValue({}), samples=2)
        assert (len(model.prompts), found.candidates, found.spent) == (2, {}, None)
        assert found.run.history.records["source:model/m/propose"].error == str(failure)


def test_a_model_that_only_goes_on_with_a_text_is_asked_for_first_versions_alone() -> None:
    model = FakeModel(lambda _: "\n    return 'a'\n")
    judge = ByValue({"'a'": 2.0})
    found = find(model, judge, completes=True)
    assert len(model.prompts) == 1
    assert model.prompts[0].endswith("def work(x):")
    assert found.champion is not None


@pytest.mark.parametrize(("ceilings", "asked"), [({"calls": 2}, 2), ({"usd": 1.4}, 1), ({"tokens": 619}, 1)])
def test_a_spent_budget_ends_asking_and_keeps_what_there_is(ceilings: dict[str, float], asked: int) -> None:
    model = FakeModel(lambda text: code("'a'"))
    found = find(model, ByValue({"'a'": 2.0}), ceilings, samples=4)
    assert len(model.prompts) == asked
    assert found.champion is not None
    assert "the budget is spent" in str(found.spent)
    assert all(spent <= ceilings[kind] for kind, spent in found.run.budget.spent.items() if kind in ceilings)


def test_cancelling_closes_all_requests() -> None:
    model = FakeModel(lambda _: code("1"), seconds=1e6)
    run = Run(journal=MemoryJournal(), lanes=Lanes({"leaves": 9, "tests": 1, "bench": 1}))
    pipeline = Pipeline(run, ByValue({}), [ModelSource(run, model, "m", 3)], CONTEXT, original)

    async def main() -> None:
        with anyio.move_on_after(5):
            await pipeline.find()
        assert (model.at_once, model.closed) == (0, 3)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def session(folder: RunFolder, judge: ByValue, model: FakeModel, new: bool, **more: Any) -> Ending:
    async def job(run: Run) -> Ending:
        pipeline = Pipeline(run, judge, [ModelSource(run, model, "m", 3)], CONTEXT, original, look)
        winner = await pipeline.find()
        status = RunStatus.COMPLETED if pipeline.spent is None else RunStatus.BUDGET_SPENT
        return Ending(status, pipeline.spent, {"winner": winner and winner.number})

    meta = {"run_id": "r", "job": "optimize", "created_at": 1.0, "options": {"target": "mod.py:work"}}
    config = SessionConfig(Lanes({"leaves": 4, "tests": 1, "bench": 1}), catch_signals=False, **more)
    return await run_session(folder, job, config, meta=meta if new else None)


def scripted() -> Script:
    first = iter(["3", "'a'", "nothing"])

    def script(text: str) -> str:
        if "Mend each" in text:
            return code("x + 0", 1)
        if "still faster ones" in text or "made from the one before it" in text:
            return code("'b'", 1)
        return code(next(first))

    return script


@pytest.mark.anyio
@pytest.mark.parametrize("dies_at", ["3", "'a'", "x + 0", "'b'"])
async def test_a_resumed_run_pays_for_no_reply_twice(tmp_path: Path, dies_at: str) -> None:
    speeds = {"'a'": 1.5, "x + 0": 2.0, "'b'": 3.0}
    whole = FakeModel(scripted())
    await session(RunStore(tmp_path / "whole").create("r"), ByValue(speeds), whole, True)
    folder = RunStore(tmp_path / "cut").create("r")
    model = FakeModel(scripted())
    ending = await session(folder, ByValue(speeds, dies_at), model, True)
    assert ending.status is RunStatus.FAILED
    ending = await session(folder, ByValue(speeds), model, False)
    assert ending.status is RunStatus.COMPLETED
    assert sorted(model.prompts) == sorted(whole.prompts)
    found = run_view(folder.history(), ending.status)
    assert found.chosen is not None
    assert found.usage["calls"] == len(whole.prompts)
    assert found.usage["usd"] == pytest.approx(0.5 * len(whole.prompts))


@pytest.mark.anyio
async def test_a_higher_budget_goes_on_where_the_lower_one_ended(tmp_path: Path) -> None:
    folder, model = RunStore(tmp_path).create("r"), FakeModel(scripted())
    judge = ByValue({"'a'": 1.5, "x + 0": 2.0, "'b'": 3.0})
    ending = await session(folder, judge, model, True, ceilings={"calls": 2})
    assert (ending.status, len(model.prompts)) == (RunStatus.BUDGET_SPENT, 2)
    assert ending.facts["winner"] == 2
    ending = await session(folder, judge, model, False, ceilings={"calls": 99})
    assert ending.status is RunStatus.COMPLETED
    assert len(model.prompts) == len(set(model.prompts))
    assert ending.facts["winner"] > 2


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
