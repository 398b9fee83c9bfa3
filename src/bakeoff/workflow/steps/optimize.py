"""`optimize`: other versions of a function are judged and measured, the fastest that behaves the same is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from bakeoff.engine.record import Outcome, Record, RunStatus
from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work
from bakeoff.jobs.options import Output
from bakeoff.optimize.optimisation import Optimisation, target_of
from bakeoff.optimize.options import Inputs, OptimizeOptions
from bakeoff.optimize.sources.given import check_given
from bakeoff.optimize.view import RunView, read_nodes
from bakeoff.options.kinds import Level
from bakeoff.sampling.attempt.given import check_refs
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.models import (
    Apply,
    Ceiling,
    Commands,
    Names,
    Positive,
    ShellText,
    StepModel,
    Text,
    apply_field,
    option_field,
)
from bakeoff.workflow.scope import digest
from bakeoff.workflow.steps.in_slot import SLOTS, tree_now, workspaces
from bakeoff.workflow.steps.job_step import (
    Beginning,
    JobStep,
    RefusedError,
    ceiling,
    land_result,
    snapshot_json,
    text,
    texts,
)
from bakeoff.workflow.values import as_text

STATED = ("rules", "inputs", "messages", "trust", "cold", "memory", "seed", "bench_output", "check_timeout")
"""Fields that are taken as they stand."""
_option = partial(option_field, OptimizeOptions)


class Optimize(StepModel):
    """Tries other versions of a Python function, or of what a command runs, and keeps the fastest that behaves so."""

    agent_key: ClassVar[str | None] = None

    target: Text = _option("target", default="")
    bench: Annotated[str | None, ShellText()] = _option("bench")
    bench_output: Output = _option("bench_output")
    check: Commands | None = _option("checks")
    check_timeout: Positive | None = _option("check_timeout")
    protect: Names | None = _option("protect")
    candidates: Names | None = _option("candidates")
    refs: Names | None = _option("refs")
    rules: bool = _option("rules")
    min_speedup: Ceiling = _option("min_speedup")
    seconds: Ceiling = _option("seconds")
    tests: Names | None = _option("tests")
    inputs: Inputs = _option("inputs")
    messages: bool = _option("messages")
    trust: bool = _option("trust")
    sandbox: Level | None = _option("level")
    cold: bool = _option("cold")
    memory: bool = _option("memory")
    base: Text | None = _option("base")
    seed: int = _option("seed")
    apply: Apply = apply_field()


class OptimizeStep(JobStep):
    """The step type.

    That nothing is faster is no failure: `winner` of the output is null then.
    """

    name = "optimize"
    model = Optimize

    def check(self, raw: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
        """Check of what can be seen to be wrong before anything runs."""
        if not raw.get("target") and not raw.get("bench"):
            yield None, "there is nothing to make faster: give `target: pkg/mod.py:function`, or `bench: COMMAND`"

    @staticmethod
    def decision(path: str, number: int) -> str:
        """See `JobStep`."""
        return f"{path}#optimize:{number}"

    async def carry_out(self, begun: Beginning) -> Outcome | Record:
        """See `JobStep`."""
        context, decided = begun.context, begun.decided
        run_context = context.run_context
        options = options_of(context) if decided is None else OptimizeOptions.from_json(decided["options"])
        async with (await workspaces(run_context)).using(options.base, begun.snapshot) as workspace:
            tree = workspace.snapshot.tree
            asked = {"options": options.to_json(), "snapshot": snapshot_json(workspace)}
            request = await begun.decide(digest("optimize", options.to_json(), tree), asked)
            adopted = await begun.adopted(_key(context, options, tree))
            if adopted is not None:
                return adopted
            label, lanes = begun.label(request["prefix"]), (SLOTS, *run_context.lanes)
            work = Optimisation(options, run_context.settings, run_context.warn, f"{request['prefix']}/", label, lanes)
            facts, _ = await work.carry_out(context.run, workspace, run_context.processes)
            outcome = Outcome(output=_output(context, options, request, facts), input=_input(options))
            if facts["winner"] is not None:
                outcome.facts = {"result": facts["result"]["ref"]}
            await _land(context, options, outcome)
            return outcome

    def key_now(self, context: NodeContext) -> str:
        """The step's key, were it to begin now. It blocks.

        Passes on ExpressionError and RefusedError: a field cannot be used.
        """
        options = options_of(context)
        return _key(context, options, tree_now(context.run_context, options.base))


def options_of(context: NodeContext) -> OptimizeOptions:
    """Options that a step asks for, evaluated.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used.
    """
    step, root = context.step, Path(context.run_context.project)
    given: dict[str, Any] = {
        "target": as_text(context.value("target")),
        "candidates": tuple(str(root / name) for name in texts(context, "candidates")),
        "refs": texts(context, "refs"),
        "min_speedup": ceiling(context, "min_speedup"),
        "seconds": ceiling(context, "seconds"),
        "tests": texts(context, "tests"),
        "bench": text(context, "bench"),
        "checks": texts(context, "check"),
        "protect": texts(context, "protect"),
        "base": text(context, "base"),
        "level": step.sandbox,
    }
    given |= {name: getattr(step, name) for name in STATED}
    try:
        options = OptimizeOptions(**{name: value for name, value in given.items() if value is not None})
        target_of(options)
        check_given(options.candidates)
        check_refs(root, options.refs)
    except BakeoffError as failure:
        raise RefusedError(str(failure)) from failure
    return options


def _key(context: NodeContext, options: OptimizeOptions, tree: str) -> str:
    return context.key(options.to_json(), context.step.apply, {"tree": tree})


def _input(options: OptimizeOptions) -> dict[str, Any]:
    found: dict[str, Any] = {"target": options.target}
    return found if options.bench is None else found | {"bench": options.bench, "checks": list(options.checks)}


def _output(
    context: NodeContext, options: OptimizeOptions, asked: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Output that later steps may use."""
    found = RunView(options, RunStatus.COMPLETED, winner=facts["winner"], result=facts.get("result"))
    read_nodes(found, context.run.history, f"{asked['prefix']}/")
    shown = found.to_json()
    chosen = None if found.chosen is None else found.chosen.to_json()
    return {
        "target": options.target,
        "snapshot": asked["snapshot"]["commit"],
        "winner": shown["winner"],
        "number": facts["winner"],
        "speedup": None if chosen is None else chosen["speedup"],
        "assumes": [] if chosen is None else chosen["assumes"],
        "candidates": [{name: part for name, part in one.items() if name != "receipt"} for one in shown["candidates"]],
        **({"verified": found.bench["verified"]} if found.bench is not None else {}),
        "commit": None if found.result is None else found.result["commit"],
        "result": None if found.result is None else dict(found.result),
    }


async def _land(context: NodeContext, options: OptimizeOptions, outcome: Outcome) -> None:
    """Do what `apply` says with the winner. Passes on ExpressionError: as `land_result`."""
    commit = outcome.output["commit"]
    if commit is None:
        return
    facts, title = {"commit": commit, "judged": commit}, f"Make {options.subject} faster"
    work = Work(context.run.root.name, "passed", facts, title, outcome.output["number"], context.path, "candidate")
    await land_result(context, outcome, work, f"candidate {work.attempt} is faster")
