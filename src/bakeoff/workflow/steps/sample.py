"""`sample`: a model is asked several times, every answer is judged, the best is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from bakeoff.api.durable import DurableRun
from bakeoff.engine.record import Outcome, Record, kept
from bakeoff.engine.retry import ONCE
from bakeoff.errors import BakeoffError
from bakeoff.judge.calling import most_tokens
from bakeoff.model.protocol import Message, Model, Request
from bakeoff.model.registry import UnknownModelError, model_for
from bakeoff.model.retrying import RETRY
from bakeoff.sampling.attempt.preflight import PreflightError
from bakeoff.sampling.best_of_n import BestOfNStrategy
from bakeoff.sampling.escalation import EscalationStrategy
from bakeoff.sampling.rejection import RejectionSamplingStrategy
from bakeoff.sampling.repair import MultiTurnStrategy, RepairTemplateStrategy
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.sampling.sample import sample
from bakeoff.sampling.strategy import SamplingStrategy
from bakeoff.sampling.vote import MajorityVotingStrategy
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.expressions import compile_template
from bakeoff.workflow.models import (
    StepModel,
)
from bakeoff.workflow.scope import digest
from bakeoff.workflow.steps.job_step import (
    Beginning,
    JobStep,
    RefusedError,
    above_nothing,
    count,
    ended,
    refuse_spent,
    retry_for,
    text,
    verdicts_of,
)
from bakeoff.workflow.steps.sample_fields import Sample
from bakeoff.workflow.steps.shell import step_environment, working_directory
from bakeoff.workflow.steps.text_checks import KINDS, Bench, TextScore, imported, make_requirement, try_commands
from bakeoff.workflow.values import as_text, number, plain

MOST_TEXT = 2000
"""Characters of each attempt's text that the step's output repeats."""


class SampleStep(JobStep):
    """The step type."""

    name = "sample"
    model = Sample
    retries = True
    refusals = (RefusedError,)

    def check(self, raw: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
        """Check of a step besides its fields: what is wrong with it."""
        if (raw.get("prompt") is None) == (raw.get("action") is None):
            yield None, "a sample step has a `prompt` or an `action`, one of them"
        escalates = raw.get("strategy") == "escalation"
        if escalates != (raw.get("slow") is not None):
            yield "strategy" if escalates else "slow", "`slow` names the model that `strategy: escalation` asks last"
        if escalates and raw.get("action") is not None:
            yield "action", "`strategy: escalation` asks models, so it takes a `prompt`"
        requirements = raw.get("requirements")
        for at, given in enumerate(requirements if isinstance(requirements, list) else ()):
            if not isinstance(given, dict):
                continue
            kinds = [kind for kind in KINDS if given.get(kind) is not None]
            if len(kinds) != 1:
                said = f"has {' and '.join(f'`{kind}`' for kind in kinds)}" if kinds else "has none"
                yield ("requirements", at), f"a requirement has one of {', '.join(KINDS)}; this one {said}"

    @staticmethod
    def decision(path: str, number: int) -> str:
        """See `JobStep`."""
        return f"{path}#sample" if number == 1 else f"{path}#sample.{number}"

    async def carry_out(self, begun: Beginning) -> Outcome | Record:
        """Ask the model and judge.

        Passes on ExpressionError: a field cannot be evaluated. BudgetSpentError: the run's budget is spent.
        """
        context = begun.context
        given = _evaluated(context) if begun.decided is None else begun.decided["given"]
        adopted = await begun.adopted(context.key(_meaning(given)))
        if adopted is not None:
            return adopted
        asked = await begun.decide(_version(given), {"given": given})
        return await _sample(context, asked, begun.label(asked["prefix"]))

    def key_now(self, context: NodeContext) -> str:
        """The step's key, were it to begin now.

        Passes on ExpressionError and RefusedError: a field cannot be used.
        """
        return context.key(_meaning(_evaluated(context)))


_HOW_MUCH = ("budget", "reserve")
_UNCHAINED = frozenset({"rejection", "best-of-n", "majority"})


def _meaning(given: Mapping[str, Any]) -> dict[str, Any]:
    """Values that the step's result depends on."""
    return {name: value for name, value in given.items() if name not in _HOW_MUCH}


def _version(given: Mapping[str, Any]) -> str:
    """Version of a generation: those that are there stay when only their number or their judging changes."""
    leave = {"concurrency_budget", "mode", "check_timeout"}
    if given["strategy"] in _UNCHAINED:
        leave |= {
            "loop_budget",
            "requirements",
            "judge",
            "score",
            "good_enough",
            "similarity",
            "threshold",
            "min_votes",
        }
    return digest("sample", {name: value for name, value in _meaning(given).items() if name not in leave})


def _evaluated(context: NodeContext) -> dict[str, Any]:
    """Values that a step asks for, evaluated, as JSON.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used.
    """
    step, defaults = context.step, context.run_context.defaults
    own = [name for name in Sample.model_fields if name not in StepModel.model_fields and name != "preflight"]
    given = {name: _deep(context, getattr(step, name)) for name in own}
    given["max_tokens"] = None if step.max_tokens is None else count(context, "max_tokens")
    for name in ("loop_budget", "concurrency_budget"):
        given[name] = count(context, name)
    for name in ("prompt", "system", "model", "judge", "slow", "score"):
        given[name] = text(context, name)
    for name in _HOW_MUCH:
        given[name] = _amounts(name, given[name])
    for kind, most in given["budget"].items():
        above_nothing(most, f"`budget`, {kind},", context)
    if step.action is None:
        given["model"] = given["model"] or defaults.get("model") or context.run_context.settings.asked_model
        if given["model"] is None:
            raise RefusedError("no model is named: give the step or the workflow a `model`, or set it in the settings")
    return given


def _amounts(name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Amounts by kind, without those that are left out.

    Raises:
        RefusedError: one is no number.
    """
    found = {}
    for kind, value in given.items():
        try:
            found[kind] = number(value)
        except ValueError as failure:
            raise RefusedError(f"`{name}`, {kind}: {failure}") from None
    return {kind: float(value) for kind, value in found.items() if value is not None}


def _deep(context: NodeContext, value: Any) -> Any:
    """A value with every text in it evaluated."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, exclude_none=True)
    if isinstance(value, dict):
        return {key: _deep(context, part) for key, part in value.items()}
    if isinstance(value, list):
        return [_deep(context, part) for part in value]
    return plain(compile_template(value).evaluate(context.scope))


@dataclass(frozen=True, slots=True)
class _Models:
    """The models of a step: of its attempts, of its judging, and the one that escalation asks last."""

    model: Model | None
    judge: Model | None
    slow: Model | None

    @staticmethod
    @asynccontextmanager
    async def of(context: NodeContext, given: Mapping[str, Any]) -> AsyncIterator[_Models]:
        """The models, shared with other steps.

        Raises:
            RefusedError: there is none of a name, or it cannot be made ready.
        """
        shared, settings = context.run_context.models, context.run_context.settings
        assert shared is not None, "nothing is run here"
        once = context.step.retry is not None  # then the step tries again, and not the model
        async with AsyncExitStack() as stack:

            async def opened(name: str | None) -> Model | None:
                if name is None:
                    return None
                make = lambda: model_for(name, settings, retry=ONCE if once else RETRY)  # noqa: E731
                return await stack.enter_async_context(shared.using((name, once), make))

            try:
                models = _Models(
                    await opened(given["model"]),
                    await opened(given["judge"] or given["model"]),
                    await opened(given["slow"]),
                )
            except BakeoffError as failure:
                raise RefusedError(
                    str(failure), "missing" if isinstance(failure, UnknownModelError) else "error"
                ) from failure
            yield models


async def _sample(context: NodeContext, asked: Mapping[str, Any], label: str) -> Outcome:
    """Sample as it was asked for.

    Raises:
        RefusedError: it cannot be begun so.
    """
    given, run_context, run = asked["given"], context.run_context, context.run
    shown = {name: given[name] for name in ("prompt", "action", "model", "strategy") if given[name] is not None}
    async with _Models.of(context, given) as models:
        bench = Bench(
            run_context.processes,
            working_directory(context),
            step_environment(context),
            str(run.root / "logs" / f"{label}check-"),
            run_context.settings.grace,
            run_context.lanes,
            run_context.project,
            models.judge,
            given["judge"] or given["model"],
        )
        requirements = [make_requirement(one, bench) for one in given["requirements"]]
        if given["score"] is not None:
            requirements.append(TextScore(given["score"], bench, f"score: {given['score']}"))
        if context.step.preflight:
            try:
                await try_commands(requirements, run, f"{asked['prefix']}/", run_context.lanes)
            except PreflightError as failure:
                raise RefusedError(str(failure), failure.kind) from failure
        action = _request(given) if given["action"] is None else imported(given["action"], run_context.project)
        run_context.announce()
        try:
            result = await sample(
                action,
                requirements,
                strategy=_strategy(given, models),
                model=models.model,
                run=DurableRun(run),
                name=context.step.type,
                version=asked["version"],
                prefix=asked["prefix"],
                budget=given["budget"] or None,
                reserve=given["reserve"] or None,
                retry=retry_for(context),
                lanes=run_context.lanes,
                attempt_timeout=given["attempt_timeout"],
                check_timeout=given["check_timeout"],
            )
        except SamplingError as failure:
            return ended(failure.result, _output(context, failure.result, label), shown, failure)
        except (ValueError, TypeError) as failure:
            raise RefusedError(str(failure)) from failure
    if result.reason is Reason.CAP and not result.success:
        refuse_spent(context, {"calls": 1.0, "tokens": _most_tokens(given), **given["reserve"]})
    return ended(result, _output(context, result, label), shown)


def _request(given: Mapping[str, Any]) -> Request:
    system = () if given["system"] is None else (Message("system", given["system"]),)
    return Request(
        messages=(*system, Message("user", given["prompt"])),
        max_tokens=given["max_tokens"],
        temperature=given["temperature"],
        seed=given["seed"],
        stop=tuple(given["stop"]),
        json_schema=given["json_schema"],
    )


def _most_tokens(given: Mapping[str, Any]) -> float:
    """Most tokens that a first request may use; more than nothing where that cannot be said."""
    most = 1.0 if given["action"] is not None else most_tokens(_request(given))
    return most if most < float("inf") else 1.0


def _strategy(given: Mapping[str, Any], models: _Models) -> SamplingStrategy:
    common = {name: given[name] for name in ("loop_budget", "concurrency_budget", "mode")}
    match given["strategy"]:
        case "repair":
            return RepairTemplateStrategy(**common)
        case "multi-turn":
            return MultiTurnStrategy(**common)
        case "best-of-n":
            return BestOfNStrategy(**common, good_enough=given["good_enough"])
        case "majority":
            votes = {name: given[name] for name in ("similarity", "threshold", "min_votes")}
            return MajorityVotingStrategy(**common, **votes)
        case "escalation":
            assert models.model is not None
            assert models.slow is not None
            return EscalationStrategy(models.model, models.slow, **common, handover=given["handover"])
        case _:
            return RejectionSamplingStrategy(**common)


def _output(context: NodeContext, result: SamplingResult, label: str) -> dict[str, Any]:
    """Output for later steps: the chosen text, and how each attempt ended."""
    chosen = as_text(result.result)
    file = f"{context.run.root}/logs/{label}text"
    output: dict[str, Any] = {
        "text": kept(context.run.masker.text(chosen), file),
        "success": result.success,
        "index": result.result_index,
        "score": None if result.winner is None else result.winner.score,
        "verdicts": verdicts_of(result),
        "attempts": [
            {
                "id": attempt.id,
                "lane": attempt.lane,
                "round": attempt.round,
                "status": attempt.status,
                "text": as_text(attempt.output)[:MOST_TEXT],
                "score": attempt.score,
                "error": None if attempt.error is None else str(attempt.error),
                "met": attempt.met,
            }
            for attempt in result.attempts
        ],
    }
    if result.result is not None and not isinstance(result.result, str):
        output["data"] = result.result
    return output
