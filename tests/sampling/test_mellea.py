"""The adapter for mellea, against stand-ins with mellea's interface; `mellea_cases.py` is run with the real one."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import anyio
import pytest

from bakeoff import EscalationStrategy, MultiTurnStrategy, RejectionSamplingStrategy, RepairTemplateStrategy
from bakeoff.errors import BakeoffError
from bakeoff.sampling import mellea as adapter
from bakeoff.sampling.mellea import for_mellea
from sampling.worlds import virtual


class Verdict:
    def __init__(self, result: bool, *, reason: str | None = None, score: float | None = None, error: Any = None):
        self.result, self.reason, self.score, self.error = result, reason, score, error

    def as_bool(self) -> bool:
        return self.result


class Context:
    def __init__(self, items: tuple[Any, ...] = ()) -> None:
        self.items = items

    @property
    def node_data(self) -> Any:
        return self.items[-1] if self.items else None

    def add(self, item: Any) -> Context:
        return Context((*self.items, item))


class Component:
    def __init__(self, text: str) -> None:
        self.text = text

    def parse(self, output: Any) -> Any:
        if output.value == "garbled":
            raise ValueError("cannot be parsed")
        return output.value.upper()


class Instruction(Component):
    def copy_and_repair(self, repair_string: str) -> Instruction:
        return Instruction(f"{self.text}|{repair_string}")


class Message(Component):
    def __init__(self, role: str, content: str) -> None:
        super().__init__(content)


class Thunk:
    def __init__(self, seconds: float, value: str, stubborn: Any = None) -> None:
        self.seconds, self.value, self.stubborn = seconds, value, stubborn
        self.cancelled = False
        self._generate_log: Any = None

    async def avalue(self) -> str:
        await anyio.sleep(self.seconds)
        return self.value

    async def cancel_generation(self) -> None:
        self.cancelled = True
        if self.stubborn == "hangs":
            await anyio.sleep_forever()
        if self.stubborn is not None:
            raise self.stubborn


class Computed:
    def __init__(self, thunk: Thunk) -> None:
        calls = thunk.value.startswith("call ")
        self.value = "" if calls else thunk.value
        self.tool_calls = {thunk.value.removeprefix("call "): object()} if calls else None
        self.parsed_repr: Any = None
        self._generate_log: Any = ModuleType("log")


class Result:
    def __init__(self, **fields: Any) -> None:
        self.__dict__ |= fields
        self.result = self.sample_generations[self.result_index]


class Rule:
    def __init__(self, description: str | None, validation_fn: Any = None) -> None:
        self.description, self.validation_fn = description, validation_fn


class Backend:
    def __init__(self, *said: Any, stubborn: Any = None) -> None:
        self.said, self.stubborn = said, stubborn
        self.calls: list[tuple[Any, Any, dict[str, Any]]] = []
        self.thunks: list[Thunk] = []

    async def generate_from_context(self, action: Any, *, ctx: Any, **options: Any) -> Any:
        self.calls.append((action, ctx, options))
        said = self.said[len(self.calls) - 1]
        if isinstance(said, Exception):
            raise said
        seconds, text = said if isinstance(said, tuple) else (0, said)
        self.thunks.append(Thunk(seconds, text, self.stubborn))
        return self.thunks[-1], ctx.add(action).add(text)


async def avalidate(requirements: Any, context: Any, backend: Any, *, output: Any, model_options: Any) -> list[Any]:
    return [Verdict(output.value == "polite", reason="judged")]


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    def module(name: str, **names: Any) -> None:
        made = ModuleType(name)
        made.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, made)

    class Option:
        SEED = "seed"

    core = {"Component": Component, "ComputedModelOutputThunk": Computed, "ValidationResult": Verdict}
    module("mellea")
    module("mellea.core", SamplingResult=Result, SamplingStrategy=object, **core)
    module("mellea.backends", ModelOption=Option)
    module("mellea.stdlib")
    module("mellea.stdlib.components", Instruction=Instruction, Message=Message)
    module("mellea.stdlib.functional", avalidate=avalidate)


def says(text: str) -> Rule:
    return Rule(f"says {text}", lambda ctx: Verdict(_text(ctx) == text, reason="no", score=1.0))


def _text(ctx: Context) -> str:
    return str(ctx.node_data.value)


def run(strategy: Any, backend: Backend, rules: Any, action: Any = None, **options: Any) -> Any:
    call = options.pop("call", {})
    adapted = for_mellea(strategy, **options)
    # A validator runs in a thread, and virtual time does not wait for threads.
    return anyio.run(lambda: adapted.sample(action or Instruction("go"), Context(), backend, rules, **call))


def test_a_result_is_translated() -> None:
    backend = Backend("no", "garbled", "yes")
    found = run(RejectionSamplingStrategy(loop_budget=3), backend, [says("yes"), Rule(None, lambda _: True)])
    assert (found.success, found.result_index, found.result.value, found.result.parsed_repr) == (True, 1, "yes", "YES")
    assert [one.value for one in found.sample_generations] == ["no", "yes"]
    assert [[bool(verdict.result) for _, verdict in row] for row in found.sample_validations] == [
        [False, True],
        [True, True],
    ]
    assert found.result._generate_log.is_final_result
    assert found.bakeoff.errors[2].message == "ValueError: cannot be parsed"
    assert len({id(action) for action, _, _ in backend.calls}) == 3


def test_an_answer_that_only_calls_a_tool_is_judged() -> None:
    rule = Rule("calls look", lambda ctx: Verdict("look" in (ctx.node_data.tool_calls or {})))
    found = run(RejectionSamplingStrategy(loop_budget=2), Backend("no", "call look"), [rule])
    assert (found.success, found.result_index, found.result.value) == (True, 1, "")
    assert found.bakeoff.result == "calls of tools: look"


def test_judges_are_mellea_s_and_skipped_ones_are_said() -> None:
    found = run(
        RejectionSamplingStrategy(loop_budget=2), Backend("rude", "polite"), [Rule("is polite"), says("polite")]
    )
    assert found.success
    first = found.sample_validations[0]
    assert (first[0][1].result, first[0][1].reason) == (False, "not judged: an earlier requirement was not met")


def test_an_async_validator_is_awaited_and_an_error_is_no_pass() -> None:
    async def late(ctx: Context) -> Verdict:
        return Verdict(False)

    rules = [Rule("late", late), Rule("unparsable", lambda _: Verdict(True, error=ValueError("odd")))]
    found = run(RejectionSamplingStrategy(), Backend("text"), rules, call={"validation_ctx": Context(("other",))})
    verdicts = [verdict for _, verdict in found.bakeoff.result_validations]
    assert [(one.verdict, one.error) for one in verdicts] == [("failed", None), ("error", "ValueError: odd")]


@pytest.mark.parametrize("kind", [RepairTemplateStrategy, MultiTurnStrategy])
def test_repairs(kind: Any) -> None:
    backend = Backend("no", "yes")
    found = run(kind(loop_budget=2), backend, [says("yes")])
    assert found.success
    action, context, _ = backend.calls[1]
    assert "- says yes: no" in action.text
    assert len(context.items) == (2 if kind is MultiTurnStrategy else 0)
    plain = Backend("no", "yes")
    run(RepairTemplateStrategy(loop_budget=2), plain, [says("yes")], Component("go"))
    assert plain.calls[1][0].text == "go"


def test_seeds_differ() -> None:
    backend = Backend("a", "b")
    call = {"model_options": {"seed": 5, "temperature": 0}, "format": None}
    run(RejectionSamplingStrategy(loop_budget=2), backend, [says("yes")], call=call)
    assert [options["model_options"]["seed"] for _, _, options in backend.calls] == [5, 6]


def test_escalation_takes_backends() -> None:
    fast, slow = Backend("no"), Backend("yes")
    found = run(EscalationStrategy(fast, slow), Backend(), [says("yes")])  # type: ignore[arg-type]
    assert (found.success, len(fast.calls), len(slow.calls)) == (True, 1, 1)


@pytest.mark.parametrize("stubborn", [None, OSError("gone"), "hangs"])
def test_losers_are_cancelled(stubborn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "GRACE", 3.0)
    backend = Backend((1, "yes"), (1000, "no"), stubborn=stubborn)

    async def main() -> Any:
        strategy = RejectionSamplingStrategy(concurrency_budget=2)
        return await for_mellea(strategy).sample(Instruction("go"), Context(), backend, [Rule("polite")])

    backend.said = ((1, "polite"), (1000, "no"))
    found = virtual(main)
    assert found.success
    assert backend.thunks[1].cancelled
    assert len(found.bakeoff.not_stopped) == (0 if stubborn is None else 1)


def test_what_nobody_can_choose_is_raised() -> None:
    with pytest.raises(ConnectionError, match="lost"):
        run(RejectionSamplingStrategy(), Backend(ConnectionError("lost")), [says("yes")])
    with pytest.raises(BakeoffError, match="no attempt was judged: every attempt ended in an error"):
        run(RejectionSamplingStrategy(), Backend("", ""), [says("yes")])
    with pytest.raises(BakeoffError, match="cap reached"):
        run(RejectionSamplingStrategy(), Backend(), [says("yes")], budget={"calls": 0})
    with pytest.raises(TypeError, match="kept"):
        for_mellea(RejectionSamplingStrategy(), run="r")


def test_without_mellea_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mellea.core", None)
    with pytest.raises(BakeoffError, match="pip install mellea"):
        for_mellea(RejectionSamplingStrategy())
