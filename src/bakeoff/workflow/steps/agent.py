"""`command` and `prompt`: a coding agent's CLI is asked, its last words and its bill are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bakeoff.agent.cost import tells_cost, unknown_cost
from bakeoff.agent.entry import AgentError, Entry
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, run_agent
from bakeoff.agent.sandbox import sandboxed
from bakeoff.engine.budget import Budget
from bakeoff.engine.events import Warned
from bakeoff.engine.record import Outcome, Status, Stored, kept
from bakeoff.errors import BakeoffError
from bakeoff.workflow.context import NodeContext, RunContext
from bakeoff.workflow.steps.leaf import Leaf
from bakeoff.workflow.steps.shell import environment_given, log_prefix, step_environment, working_directory
from bakeoff.workflow.values import as_text, plain
from bakeoff.workspace.slots.commands import InSandbox, InSlot

LANE = "agents"
"""The lane that every agent call holds."""


def prepare(context: NodeContext) -> Leaf:
    """An agent step's work.

    Passes on ExpressionError (a field cannot be evaluated) and BakeoffError (a money budget that cannot be kept).
    """
    step = context.step
    try:
        given, request, name = _request(context)
    except AgentError as failure:
        return Leaf({"type": step.type}, _refused(failure, {}, {"type": step.type}))
    try:
        entry = find_entry(name, context.run_context.settings)
    except AgentError as failure:
        given["integration"] = name
        return Leaf(given, _refused(failure, _echo(step, given), given))
    given["integration"] = entry.name
    given["model"] = request.model or entry.model
    output = _echo(step, given)
    reserve = reservation(entry, context.run_context)
    request = replace(request, model=given["model"], max_usd=reserve.get("usd") or context.run_context.settings.max_usd)

    async def work(attempt: int) -> Outcome:
        context.run_context.announce()
        log = f"{log_prefix(context)}.{attempt}" if attempt > 1 else log_prefix(context)
        settings = context.run_context.settings
        asked, processes, box = entry, context.run_context.processes, None
        if isinstance(processes, InSlot):
            asked, box = await sandboxed(entry, processes.slot, settings.agent_sandbox, settings.agent_sockets)
            processes = InSandbox(box, processes.processes)
        result = await run_agent(
            asked,
            request,
            processes,
            cwd=working_directory(context),
            log=log,
            env=step_environment(context),
            timeout=step.timeout,
            grace=settings.grace,
            heard=context.run.hearing(context.path),
        )
        outcome = result.outcome(output, given)
        if box is not None:
            outcome.facts = {**(outcome.facts or {}), "sandbox": box.protection.receipt()}
        outcome.output = _limited(dict(outcome.output), step.capture, step.capture_max_bytes)
        said = outcome.output["text"]
        if isinstance(said, str):  # `stdout` is the same text
            outcome.output["text"] = outcome.output["stdout"] = kept(context.run.masker.text(said), f"{log}.text")
        outcome.usage = {**_tokens(outcome.usage, result.dispatched, context), "calls": 0 if result.uncharged else 1}
        return outcome

    return Leaf(given, work, lanes=(LANE,), reserve=reserve)


def _request(context: NodeContext) -> tuple[dict[str, Any], AgentRequest, str | None]:
    step, defaults = context.step, context.run_context.defaults
    name = _name(context, "integration") or defaults.get("integration")
    model = _name(context, "model") or defaults.get("model")
    extra = (
        tuple(as_text(value) for value in context.values("integration_args").values()) if step.integration_args else ()
    )
    given: dict[str, Any] = {"model": model}
    if extra:
        given["integration_args"] = list(extra)
    if step.env:
        given["env"] = environment_given(context)
    if step.type == "prompt":
        given["prompt"] = as_text(context.value("prompt"))
        return given, AgentRequest(prompt=given["prompt"], model=model, extra=extra), name
    arguments = plain(context.values("input"))
    given |= {"command": step.command, "input": arguments}
    given["options"] = {**(defaults.get("options") or {}), **(step.options or {})}
    request = AgentRequest(command=step.command, args=as_text(arguments.get("args")), model=model, extra=extra)
    return given, request, name


def _name(context: NodeContext, field: str) -> str | None:
    if getattr(context.step, field) is None:
        return None
    value = plain(context.value(field))
    if value is not None and not isinstance(value, str):
        raise AgentError(f"`{field}` must be text, not {value!r}")
    return value or None


def _echo(step: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("prompt",) if step.type == "prompt" else ("command", "options", "input")
    return {name: given[name] for name in (*names, "integration", "model")}


def _refused(failure: AgentError, asked: Mapping[str, Any], given: dict[str, Any]) -> Any:
    async def work(_: int) -> Outcome:
        output = {**asked, "exit_code": 1, "stdout": "", "stderr": "", "dispatched": False}
        return Outcome(Status.FAILED, output, str(failure), failure.kind, input=given)

    return work


def reservation(entry: Entry, run_context: RunContext) -> dict[str, float]:
    """Reservation of one call from the run's budget, as far as it can be said before.

    Raises:
        BakeoffError: there is a money budget, and what this agent costs cannot be known or held.
    """
    budget: Budget = run_context.run.budget
    reserve: dict[str, float] = {"calls": 1.0}
    if "tokens" in budget.ceilings:
        if not entry.reports_usage:
            raise BakeoffError(
                f"the run has a budget of tokens, but {entry.name} does not report how many it used; "
                "use an agent that does, or a budget of calls"
            )
        # How many a call will take cannot be said before; one must be left for it to be made at all.
        reserve["tokens"] = 1.0
    if "usd" in budget.ceilings:
        if not tells_cost(entry, entry.model):
            raise BakeoffError(f"the run has a money budget, but {unknown_cost(entry)}, or a budget of calls or tokens")
        if run_context.settings.max_usd is None:
            raise BakeoffError(
                "the run has a money budget: set `max_usd` in [tool.bakeoff] (or BAKEOFF_MAX_USD), "
                "the most one agent call may cost, so that it can be reserved before the call"
            )
        reserve["usd"] = run_context.settings.max_usd
    return reserve


def _tokens(usage: Mapping[str, Any] | None, dispatched: bool, context: NodeContext) -> dict[str, Any]:
    """The usage with the sum of tokens; a call that did not say, under a budget of tokens, used all that was left."""
    counted = dict(usage or {})
    parts = [counted.get("input_tokens"), counted.get("output_tokens")]
    budget = context.run.budget
    if any(part is not None for part in parts):
        counted["tokens"] = sum(part or 0 for part in parts)
    elif not dispatched:
        counted["tokens"] = 0
    elif "tokens" in budget.ceilings:
        counted["assumed"] = {"tokens": max(1.0, budget.left("tokens") + 1.0)}
        text = "its tokens were not reported; all that was left of the budget counts as used"
        context.run.events.emit(Warned(context.run.clock.wall(), text, context.path))
    return counted


def _limited(output: dict[str, Any], capture: bool, most: int | None) -> dict[str, Any]:
    """The output as `capture` and `capture_max_bytes` want it; the whole stays in the log."""
    for name in ("stdout", "stderr", "text"):
        value = output.get(name)
        if not capture:
            output[name] = ""
        elif most is not None and most >= 0 and value is not None:
            whole = value.load() if isinstance(value, Stored) else value
            cut = whole.encode()[:most].decode("utf-8", "ignore")
            output[name] = cut
            output[f"{name}_truncated"] = len(cut) < len(whole)
    return output
