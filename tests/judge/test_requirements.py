"""Requirements of every kind: what passes, what fails, and what is an error and never a pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import Annotated, Any

import anyio
import pydantic
import pytest

import bakeoff
from bakeoff import Requirement, Subject, ValidationResult, current_attempt
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.judge import matching, threads
from bakeoff.judge.calling import GRACE, ask, most_tokens
from bakeoff.judge.panel import Panel, examine
from bakeoff.judge.requirement import Cost, JudgedRequirement, as_requirement
from bakeoff.judge.subject import CURRENT, CurrentAttempt
from bakeoff.judge.verdict import SKIP, as_bool, from_json, read_answer, to_json, verdict_of
from bakeoff.model.protocol import Message, Reply, Request, Usage
from bakeoff.reader import reading
from sampling.worlds import Backend, virtual

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def coroutine() -> bool:
    return True


@pytest.mark.parametrize(
    ("value", "verdict", "reason"),
    [
        (True, "passed", ""),
        (False, "failed", ""),
        ((True, "good"), "passed", "good"),
        ((False, "bad"), "failed", "bad"),
        (ValidationResult(False, "worse", score=0.1), "failed", "worse"),
        (None, "error", ""),
        (1, "error", ""),
        ("yes", "error", ""),
        ((1, "x"), "error", ""),
        ((True,), "error", ""),
    ],
)
async def test_what_a_function_returns(value: Any, verdict: str, reason: str) -> None:
    for function in (lambda _: value, _async(value)):
        found = await examine(Requirement("r", function), Subject("text"))
        assert (found.verdict, found.reason, bool(found)) == (verdict, reason, verdict == "passed")


def _async(value: Any) -> Any:
    class Checks:
        async def __call__(self, _: str) -> Any:
            return value

    return Checks()


async def test_a_coroutine_that_nobody_awaits_is_an_error() -> None:
    found = await examine(Requirement("r", lambda _: coroutine()), Subject("text"))
    assert not found
    assert "make the function itself async" in str(found.error)
    assert verdict_of(coroutine()).verdict == "error"


async def test_what_is_raised_is_an_error() -> None:
    def broken(_: str) -> bool:
        raise ValueError("no")

    def leaves(_: str) -> bool:
        raise SystemExit(3)

    async def stray(_: str) -> bool:
        raise anyio.get_cancelled_exc_class()

    class Odd:
        description, cost = "odd", Cost.CHEAP

        async def check(self, subject: Subject) -> Any:
            return True

    for requirement, said in (
        (Requirement("r", broken), "ValueError: no"),
        (Requirement("r", leaves), "SystemExit(3)"),
        (Requirement("r", stray), "CancelledError"),
        (Requirement("r"), "no function"),
        (Odd(), "no ValidationResult"),
    ):
        found = await examine(requirement, Subject("text"))
        assert (found.verdict, said in str(found.error)) == ("error", True), found

    async def spent(_: str) -> bool:
        raise BudgetSpentError("gone")

    with pytest.raises(BudgetSpentError):
        await examine(Requirement("r", spent), Subject("text"))


def test_a_verdict_is_strict() -> None:
    with pytest.raises(TypeError, match="True or False"):
        ValidationResult(1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has not passed"):
        ValidationResult(True, error="lost")
    assert SKIP.verdict == "skipped"
    for verdict in (
        SKIP,
        ValidationResult(True, "r", 0.5, None, Usage(1, 2, 3, 0.1), {"tests": 3}),
        ValidationResult(False),
    ):
        assert from_json(to_json(verdict)) == verdict


def test_of_numpys_values_its_truth_values_alone_are_bools() -> None:
    numpy = pytest.importorskip("numpy")
    values = (numpy.bool_(True), numpy.bool_(False), numpy.int64(1), numpy.float64(0.0), numpy.array(True))
    assert [as_bool(value) for value in values] == [True, False, None, None, None]


async def test_a_function_may_take_the_subject() -> None:
    subject = Subject({"b": 1, "a": [2]}, (Message("user", "go"),))
    seen: list[Any] = []
    assert await Requirement("r", lambda given: not seen.append(given), takes_subject=True).check(subject)
    assert seen == [subject]
    assert subject.text == '{"a": [2], "b": 1}'
    assert Subject("plain").text == "plain"


def identify(text: str) -> tuple[bool, str]:
    found = current_attempt()
    return found is not None, f"{os.getpid()} {found and found.id} {text}"


def hang(_: str) -> bool:
    time.sleep(600)
    return True


async def test_an_isolated_function_runs_in_a_process_that_can_be_killed() -> None:
    token = CURRENT.set(CurrentAttempt(7, 1, 2))
    found = await Requirement("r", identify, isolate=True).check(Subject("x"))
    CURRENT.reset(token)
    pid, number, text = found.reason.split()
    assert (found.result, int(pid) != os.getpid(), number, text) == (True, True, "7", "x")
    since = time.monotonic()
    with anyio.move_on_after(0.2) as scope:
        await Requirement("r", hang, isolate=True).check(Subject("x"))
    assert scope.cancelled_caught
    assert time.monotonic() - since < 500


async def test_a_thread_that_cannot_be_stopped_is_said() -> None:
    subject = Subject("x")
    go = __import__("threading").Event()
    with anyio.move_on_after(0.1):
        await Requirement("waits", lambda _: go.wait(60)).check(subject)
    go.set()
    assert subject.not_stopped == ["requirement 'waits' goes on in its thread"]


async def test_few_threads_compute_at_once_and_many_wait() -> None:
    computing: list[int] = []
    open_now: set[int] = set()

    def burn(number: int) -> bool:
        open_now.add(number)
        computing.append(len(open_now))
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        open_now.discard(number)
        return True

    waiting: list[int] = []
    barrier = __import__("threading").Barrier(8)

    def wait(_: int) -> bool:
        waiting.append(barrier.wait(60))
        return True

    most: list[int] = []
    for _ in range(4):  # a machine that is busy with something else makes threads look asleep
        computing.clear()
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(threads.beside_loop, burn, number)
        most.append(max(computing))
    assert min(most) <= threads.BURNING
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(threads.beside_loop, wait, number)
    assert len(waiting) == 8
    before = sys.getswitchinterval()
    assert before == pytest.approx(0.005)


async def test_without_clocks_of_threads_few_run_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(time, "pthread_getcpuclockid")
    inside: list[int] = []
    most: list[int] = []

    def slow(_: int) -> None:
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(threads.beside_loop, slow, number)
    assert max(most) <= threads.BURNING


async def test_an_abandoned_thread_counts_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stop: list[bool] = []

    def burn() -> None:
        end = time.monotonic() + 60
        while not stop and time.monotonic() < end:
            pass

    monkeypatch.setattr(threads, "BURNING", 1)
    # However seldom a busy machine lets it compute.
    monkeypatch.setattr(threads._Job, "used", lambda job: 0.0 if job.ended else float("inf"))
    started: list[bool] = []
    early: list[bool] = []
    try:
        with anyio.move_on_after(0.05):
            await threads.beside_loop(burn)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(threads.beside_loop, started.append, True)
            await anyio.sleep(0.02)
            early[:] = started
            stop.append(True)
    finally:
        stop.append(True)
    assert (early, started) == ([], [True])


async def test_regular_expressions() -> None:
    async def verdict(*args: Any, **options: Any) -> str:
        return (await examine(Requirement.regex(*args, **options), Subject("Hello\nworld"))).verdict

    assert await verdict("wor") == "passed"
    assert await verdict("wor", how="match") == "failed"
    assert await verdict("hello.world", how="fullmatch", flags=re.IGNORECASE | re.DOTALL) == "passed"
    assert await verdict("wor", absent=True) == "failed"
    assert await verdict("war", absent=True) == "passed"
    assert "does not match" in Requirement.regex("x", absent=True).description
    unmet = [
        (Requirement.regex("x"), "the text does not match 'x'"),
        (Requirement.regex("H", absent=True), "the text matches 'H'"),
        (Requirement.regex("x", "say x"), "say x"),
    ]
    for requirement, reason in unmet:
        assert (await examine(requirement, Subject("Hello"))).reason == reason
    with pytest.raises(ValueError, match="compiled"):
        Requirement.regex("(")
    with pytest.raises(ValueError, match="fullmatch"):
        Requirement.regex("x", how="find")
    assert Requirement.regex("x").identity != Requirement.regex("x", flags=2).identity


async def test_a_wild_expression_is_killed_and_the_loop_goes_on() -> None:
    ticks: list[float] = []

    async def beat() -> None:
        while True:
            ticks.append(time.monotonic())
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        found = await Requirement.regex("^(a+)+$", timeout=0.3).check(Subject("a" * 50 + "b"))
        tasks.cancel_scope.cancel()
    assert (found.verdict, found.error) == ("error", "timeout")
    assert len(ticks) > 3  # in this process it would be none
    assert await Requirement.regex("a").check(Subject("a"))


async def test_a_cancelled_expression_leaves_no_process() -> None:
    with anyio.move_on_after(0.1):
        await Requirement.regex("^(a+)+$", timeout=60).check(Subject("a" * 50 + "b"))
    assert all(reader.process.poll() is None for reader in reading._idle)


async def test_json_schemas() -> None:
    schema = {"title": "pair", "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]}
    requirement = Requirement.json_schema(schema)
    assert requirement.description == "JSON by the schema 'pair'"
    assert await requirement.check(Subject('{"a": 1, "b": 2}'))
    assert await requirement.check(Subject({"a": 1, "b": 2}))
    found = await requirement.check(Subject('{"a": "x"}'))
    assert found.verdict == "failed"
    assert "$.a: 'x' is not of type 'integer'" in found.reason
    assert "'b' is a required property" in found.reason
    for none in ("{", {"a": 1j}):
        found = await requirement.check(Subject(none))
        assert (found.verdict, found.reason[:9]) == ("failed", "not JSON:")
    wild = Requirement.json_schema({"type": "string", "pattern": "^(a+)+$"}, timeout=0.5)
    assert (await wild.check(Subject('"' + "a" * 50 + 'b"'))).error == "timeout"
    wrong = await examine(Requirement.json_schema({"type": "nothing"}), Subject("{}"))
    assert "the schema itself is wrong" in str(wrong.error)
    broken = await examine(Requirement.json_schema({"$ref": "#/$defs/lost"}), Subject("{}"))
    assert broken.verdict == "error"
    assert "pair" in requirement.identity


async def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    reading.end_idle()  # one that has the library already would go on with it
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "site-packages" not in path])
    with pytest.raises(BakeoffError, match="pip install"):
        await Requirement.json_schema({}).check(Subject("{}"))
    reading.end_idle()
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    assert matching.against_schema(b"{}", {}) == {"missing": True}


def test_what_a_reader_process_finds() -> None:
    assert matching.match("é\udc80".encode("utf-8", "surrogatepass"), "É", re.IGNORECASE, "match")
    assert not matching.match(b"abc", "b", 0, "match")
    schema = {"type": "array"}
    assert matching.against_schema(b"3", schema) == {"errors": ["$: 3 is not of type 'array'"]}
    assert matching.against_schema(b"[" * 100_000, schema) == {"no_json": "it is nested too deeply"}
    assert "Expecting" in matching.against_schema(b"{", schema)["no_json"]
    assert "nothing" in matching.against_schema(b"3", {"type": "nothing"})["bad_schema"]


async def test_a_worker_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await examine(Requirement.regex("a"), Subject("a"))
    assert found
    bad = Requirement.regex("a")
    bad.job = ("(", 0, "search")
    assert "error" in str((await examine(bad, Subject("a"))).error)
    schema = Requirement.json_schema({"$ref": "#/$defs/lost"})
    assert "RuntimeError" in str((await examine(schema, Subject("{}"))).error)


class Point(pydantic.BaseModel):
    x: int
    y: int = 0


async def test_types() -> None:
    requirement = Requirement.parses_as(Point)
    assert requirement.description == "JSON that parses as Point"
    assert await requirement.check(Subject('{"x": 1}'))
    assert await requirement.check(Subject({"x": "1"}))
    assert "x: Field required" in (await requirement.check(Subject("{}"))).reason
    assert "the whole: " in (await requirement.check(Subject("{"))).reason
    assert not await Requirement.parses_as(Point, strict=True).check(Subject('{"x": "1"}'))
    assert await Requirement.parses_as(list[int]).check(Subject("[1, 2]"))
    assert Requirement.parses_as(list[int]).description == "JSON that parses as list[int]"
    for wrong in (Requirement.parses_as(list[int]), Requirement.json_schema({"items": {"type": "integer"}})):
        assert len((await wrong.check(Subject(["x"] * 30))).reason.split("; ")) == 20


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"),
    [
        ("Yes", True, ""),
        ("yes.", True, ""),
        ("**Yes** - it greets.", True, "it greets."),
        ("YES\nIt greets.", True, "It greets."),
        ("Yes it does", True, "it does"),
        ("No, yes would require a greeting", False, "yes would require a greeting"),
        ("no: rude", False, "rude"),
        ('{"verdict": "yes", "reason": "fine", "score": 0.8}', True, "fine"),
        ('{"answer": false}', False, ""),
        ('{"verdict": true, "reason": ["fine", 1]}', True, '["fine", 1]'),
        ('{"verdict": "maybe"}', None, ""),
        ('{"verdict": 1}', None, ""),
        ('{"verdict": ["yes"]}', None, ""),
        ('{"verdict": "yes"', None, ""),
        ("Yes and no", None, ""),
        ("yes/no", None, ""),
        ("Yesterday it was", None, ""),
        ("Nothing wrong here", None, ""),
        ("I would say yes", None, ""),
        ("", None, ""),
    ],
)
def test_a_judge_is_read_strictly(answer: str, verdict: bool | None, reason: str) -> None:
    assert read_answer(answer)[:2] == (verdict, reason)


@pytest.mark.parametrize(
    ("written", "score"),
    [
        ("0.5", 0.5), ("-3", -3.0), ("NaN", None), ("Infinity", None), ("-1e999", None), ("1" + "0" * 400, None),
        ("true", None), ('"5"', None), ("null", None),
    ],
)  # fmt: skip
def test_a_score_is_a_number_that_can_be_compared(written: str, score: float | None) -> None:
    assert read_answer(f'{{"verdict": "no", "score": {written}}}') == (False, "", score)


async def test_a_model_judges() -> None:
    said = iter(["yes, fine", "no", "Well, yes", '{"verdict": "no", "reason": "short", "score": 0.2}'])
    judge = Backend(lambda _: (0, next(said)))
    requirement = Requirement.judged("It is {text} polite", judge, max_tokens=50, request=Request(model="small"))
    found = [await requirement.check(Subject("Hi {description}")) for _ in range(4)]
    assert [one.verdict for one in found] == ["passed", "failed", "undecided", "failed"]
    assert [one.reason for one in found] == ["fine", "It is {text} polite", found[2].reason, "short"]
    assert "'Well, yes'" in found[2].reason
    assert found[3].score == 0.2
    assert all(one.usage == Usage(10, 100) for one in found)
    request = judge.requests[0]
    assert (request.model, request.max_tokens, request.temperature) == ("small", 50, None)
    assert requirement.cost == Cost.MODEL
    assert requirement.reserve(Subject("x"))["calls"] == 1


def test_a_changed_requirement_is_another_one() -> None:
    """A durable run would show the old verdict as the new one's."""
    judge = Backend(lambda _: (0, "yes"))
    few = Annotated[int, pydantic.AfterValidator(lambda value: value)]
    made = [
        *(Requirement("r", function, version=version) for function in (len, str) for version in ("", "2")),
        *(Requirement.regex("x", "r", **more) for more in ({}, {"how": "match"}, {"flags": 2}, {"absent": True})),
        *(Requirement.json_schema(schema, "r") for schema in ({}, {"type": "object"})),
        *(Requirement.parses_as(model, "r") for model in (Point, int, list[int], list[str], int | None, few)),
        *(Requirement.parses_as(int, "r", strict=strict) for strict in (False, True)),
        *(Requirement.judged("r", judge, **more) for more in ({}, {"question": "{text}?"}, {"max_tokens": 9})),
        Requirement.judged("r", judge, request=Request(model="large")),
    ]
    for make in (Requirement.regex, Requirement.json_schema, Requirement.parses_as):
        given = {"json_schema": {}, "regex": "y", "parses_as": str}[make.__name__]
        made += [make(given, "r", version=version) for version in ("", "2")]
    made.append(Requirement.judged("r", judge, version="2"))
    assert len({requirement.identity for requirement in made}) == len(made) - 1  # a JSON Schema stands there twice
    again = Annotated[int, pydantic.AfterValidator(lambda value: value)]
    assert Requirement.parses_as(few, "r").identity == Requirement.parses_as(again, "r").identity


def test_what_may_be_a_requirement() -> None:
    def fits(text: str) -> bool:
        """Fits on a line.

        And more.
        """
        return True

    judge = Backend(lambda _: (0, "yes"))
    assert as_requirement(fits, None).description == "Fits on a line."
    assert as_requirement(len, None).description
    assert isinstance(as_requirement("polite", judge), JudgedRequirement)
    own = Requirement("own", fits)
    assert as_requirement(own, None) is own
    assert repr(own) == "Requirement('own')"
    assert own.reserve(Subject("")) == {}
    for wrong, said in (("polite", "judge="), (3, "a requirement is")):
        with pytest.raises(TypeError, match=said):
            as_requirement(wrong, None)


def test_an_estimate_covers_input_and_output() -> None:
    assert most_tokens(Request((Message("user", "x" * 300),), max_tokens=50)) == 154
    assert most_tokens(Request(prompt="", max_tokens=50)) == 50
    assert most_tokens(Request(prompt="x")) == float("inf")


class Stubborn:
    """A model whose cancel fails, or takes for ever."""

    name = "stubborn"
    detached = True

    def __init__(self, failure: Exception | None) -> None:
        self.failure = failure

    async def generate(self, request: Request) -> Reply:
        await anyio.sleep_forever()
        raise AssertionError

    async def cancel(self, request: Request) -> None:
        if self.failure is not None:
            raise self.failure
        await anyio.sleep_forever()


def test_a_model_that_does_not_let_go_is_said() -> None:
    async def main() -> list[str]:
        left: list[str] = []
        for model in (Stubborn(OSError("gone")), Stubborn(None)):
            with anyio.move_on_after(1):
                await ask(model, Request(prompt="x"), left)
        assert anyio.current_time() == pytest.approx(2 + GRACE)
        tied = Stubborn(OSError("never called"))
        tied.detached = False
        with anyio.move_on_after(1):
            await ask(tied, Request(prompt="x"), left)
        return left

    assert virtual(main) == [
        "stubborn could not cancel a request: OSError: gone",
        f"stubborn did not cancel a request within {GRACE:g} s",
    ]


# Panels.


def traced(seen: list[str], name: str, met: bool, cost: Cost = Cost.CHEAP) -> Requirement:
    async def check(_: str) -> bool:
        seen.append(name)
        return met

    return Requirement(name, check, cost=cost)


async def test_cheap_ones_come_first_and_a_failure_saves_the_rest() -> None:
    seen: list[str] = []
    requirements = [
        traced(seen, "judge", True, Cost.MODEL),
        traced(seen, "command", True, Cost.PROCESS),
        traced(seen, "bad", False),
        traced(seen, "good", True),
    ]
    verdicts = await Panel(requirements).judge(Subject("x"))
    assert seen == ["bad", "good"]
    assert [verdict.verdict for verdict in verdicts] == ["skipped", "skipped", "failed", "passed"]


async def test_an_expensive_failure_saves_what_costs_as_much() -> None:
    seen: list[str] = []
    costs = [("a", True), ("b", False), ("c", True)]
    panel = Panel([traced(seen, name, met, Cost.MODEL) for name, met in costs])
    assert [verdict.verdict for verdict in await panel.judge(Subject("x"))] == ["passed", "failed", "skipped"]


async def test_in_the_given_order_all_are_judged() -> None:
    seen: list[str] = []
    panel = Panel([traced(seen, "judge", False, Cost.MODEL), traced(seen, "cheap", True)], "in_order")
    assert [verdict.verdict for verdict in await panel.judge(Subject("x"))] == ["failed", "passed"]
    assert seen == ["judge", "cheap"]


def test_together_they_take_as_long_as_the_longest() -> None:
    async def slow(_: str) -> bool:
        await anyio.sleep(1)
        return True

    async def main() -> float:
        await Panel([Requirement(f"r{n}", slow) for n in range(5)], "together").judge(Subject("x"))
        return anyio.current_time()

    assert virtual(main) == pytest.approx(1)


def test_twins_are_judged_once_also_when_the_first_is_cancelled() -> None:
    seen: list[str] = []

    async def slow(text: str) -> bool:
        seen.append(text)
        await anyio.sleep(1)
        return True

    async def main() -> None:
        panel = Panel([Requirement("r", slow)])
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope(deadline=0.5)

            async def first() -> None:
                with scope:
                    await panel.judge(Subject("x"))

            tasks.start_soon(first)
            await anyio.sleep(0.1)
            for _ in range(5):
                tasks.start_soon(panel.judge, Subject("x"))
        assert seen == ["x", "x"]
        assert anyio.current_time() == pytest.approx(1.5)
        await panel.judge(Subject({"y": 1}))
        await panel.judge(Subject({"y": 1}))
        await panel.judge(Subject(object()))
        await panel.judge(Subject(object()))
        assert len(seen) == 5

    virtual(main)


async def test_twins_of_other_conversations_are_no_twins_to_those_who_see_them() -> None:
    seen: list[Any] = []
    panel = Panel([Requirement("r", lambda subject: not seen.append(subject), takes_subject=True)])
    for text in ("a", "a", "b"):
        await panel.judge(Subject("x", (Message("user", text),)))
    assert len(seen) == 2


async def test_an_error_is_not_remembered() -> None:
    said = iter([None, True])
    panel = Panel([Requirement("r", lambda _: next(said))])
    assert [(await panel.judge(Subject("x")))[0].verdict for _ in range(3)] == ["error", "passed", "passed"]


def test_the_public_names_are_lazy() -> None:
    heavy = ("pydantic", "jsonschema", "httpx", "trio", "mellea", "numpy", "click")
    program = (
        f"import sys, bakeoff; bakeoff.Requirement; bakeoff.sample; print([n for n in {heavy} if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(bakeoff.__file__))},
    )
    assert done.stdout.strip() == "[]"
