"""`fan-out`: one step for each item. Its `items` and `results` are views; the journal holds each value once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from bakeoff.engine.events import FanOpened, Warned
from bakeoff.engine.fan_out import fan_out
from bakeoff.engine.journal import CommitQueue
from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.workflow.context import Halt, NodeContext, where
from bakeoff.workflow.problems import shown
from bakeoff.workflow.scope import ItemResult, Naming, Scope, View, digest
from bakeoff.workflow.steps.container import asked_bound
from bakeoff.workflow.values import is_list, plain


@dataclass(slots=True)
class _End:
    """Ending of one item."""

    scope: Scope
    output: Mapping[str, Any]
    halt: Halt | None
    failed: bool


async def run_fan_out(context: NodeContext) -> Halt | None:
    """Run the template for every item, at most `max_concurrency` at once, in item order."""
    step = context.step
    items = await context.run.decide(f"{context.path}#items", lambda: plain(context.value("items")))
    if not is_list(items):
        return await _impossible(context, {"items": items, "item_count": 0}, _no_list(items), "items")
    asked = asked_bound(context)
    quorum = _quorum(step.min_success, len(items))
    if (error := too_few_items(step.min_success, len(items))) is not None:
        return await _impossible(context, {"items": items, "item_count": len(items)}, error, "quorum")
    ended = context.run.find(context.path)
    if quorum is not None and ended is not None and (ended[0].facts or {}).get("quorum"):
        context.run.history.settled += (f"{context.path}:",)
    started = context.started()
    bound = _bound(context, asked, len(items))
    known = {"item_count": len(items), "max_concurrency": plain(context.value("max_concurrency"))}
    context.expect({"items": View(items), **known, "step_template": step.step.raw})
    fan = _Fan(context, len(items) - quorum if quorum is not None else None, CommitQueue(bound))
    ends = await fan_out(
        items,
        fan.item,
        bound=bound,
        halts=lambda end: end.halt is not None,
        on_halt=step.on_halt,
        revival=fan.revival,
    )
    await fan.commit_queue.drained()
    halt = ends[-1].halt if ends else None
    if halt is not None and halt.raised:
        return halt
    context.scope.follow("fan-out", *(end.scope.chain for end in ends))
    return await _collect(context, started, items, ends, quorum)


class _Fan:
    """Runs the items of one fan-out."""

    def __init__(self, context: NodeContext, spare: int | None, commit_queue: CommitQueue) -> None:
        self.context = context
        self.commit_queue = commit_queue
        self.template = context.step.step
        self.spare = spare
        self.failures = 0
        self.outer_item = context.scope.lookup("item")

    async def item(self, index: int, item: Any) -> _End:
        """Run the template for one item, in a scope of its own."""
        outer = self.context
        path = f"{outer.path}:{self.template.id}:{index}"
        names = {"item": item, "index": index, "parent_item": self.outer_item}
        scope = Scope(outer.scope, names, chain=digest(outer.scope.chain, "item", item))
        context = NodeContext(outer.run_context, self.template, path, scope, Naming.inside(path), self.commit_queue)
        halt = await outer.run_context.run_step(context)
        view = scope.own().get(path)
        if view is None:
            return _End(scope, {}, halt, failed=True)
        outer.scope.add(view.record, f"{outer.step.id}:{self.template.id}:{index}")
        failed = view.record.status is Status.FAILED or halt is not None
        if failed and self.spare is not None and (halt is None or halt.status is RunStatus.FAILED):
            self.failures += 1
            if self.failures <= self.spare and not (halt and halt.raised):
                halt = None
        return _End(scope, view.record.output, halt, failed)

    def revival(self, end: _End) -> anyio.Event | None:
        """The answer that lets a paused item go on."""
        if end.halt is None or end.halt.status is not RunStatus.PAUSED or end.halt.gate is None:
            return None
        return self.context.run.answer_event(end.halt.path)


async def _collect(
    context: NodeContext, started: float, items: list[Any], ends: list[_End], quorum: int | None
) -> Halt | None:
    """Commit the fan-out's record and show later steps its `items` and `results`."""
    step = context.step
    halt = ends[-1].halt if ends else None
    output = {"item_count": len(items), "max_concurrency": plain(context.value("max_concurrency"))}
    failed = sum(end.failed for end in ends)
    if quorum is not None:
        output |= {"succeeded": len(ends) - failed, "failed": failed}
    too_few = quorum is not None and halt is None and len(ends) - failed < quorum
    error = f"{len(ends) - failed} of {len(items)} items succeeded, {quorum} were asked for" if too_few else None
    record = Record(
        context.path,
        step.type,
        Status.FAILED if too_few else Status.COMPLETED,
        output,
        error,
        "quorum" if too_few else None,
        started_at=started,
        ended_at=max(started, context.run.clock.wall()),
        facts={
            "template": step.step.id,
            "collected": len(ends),
            "quorum": quorum is not None and halt is None,
            "halted": halt is not None,
        },
        continued=too_few and step.continue_on_error,
    )
    await context.run.commit(record)
    results = View([ItemResult(end.output, end.scope) for end in ends])
    context.add(
        replace(record, output={"items": View(items), **output, "step_template": step.step.raw, "results": results})
    )
    if too_few and not record.continued:
        return Halt(RunStatus.FAILED, f"step {context.path}: {error}", context.path, kind="quorum")
    return halt


async def _impossible(context: NodeContext, output: Mapping[str, Any], error: str, kind: str) -> Halt | None:
    """Fail before any item was begun."""
    now = context.started()
    continued = context.step.continue_on_error
    record = await context.ended(now, output, status=Status.FAILED, error=error, kind=kind, continued=continued)
    if record.continued:
        return None
    return Halt(RunStatus.FAILED, where(context.step, context.path, error), context.path, kind=kind)


def _no_list(items: Any) -> str:
    if isinstance(items, str):
        hint = "split it with `| split(',')`, or read JSON with `| from_json`"
        return f"`items` is a text, not a list; {hint}"
    return f"`items` is {'nothing (null)' if items is None else shown(items)}, not a list"


def too_few_items(asked: float | None, count: int) -> str | None:
    """Why so many items cannot give as many successes as `min_success` asks for; None where they can."""
    quorum = _quorum(asked, count)
    if quorum is None or quorum <= count:
        return None
    return f"min_success is {quorum}, but there {'is only 1 item' if count == 1 else f'are only {count} items'}"


def _bound(context: NodeContext, asked: int, count: int) -> int:
    """The bound in force; one that had to be lowered is said."""
    leaves = context.run.lanes.sizes[LEAVES]
    bound = min(asked, leaves)
    now = context.run.clock.wall()
    if bound < min(asked, count):
        text = f"max_concurrency {asked} is lowered to {bound}: --max-parallel allows no more leaves at once"
        context.run.events.emit(Warned(now, text, context.path))
    bound = max(1, min(bound, count))
    context.run.events.emit(FanOpened(now, context.path, count, bound, asked))
    return bound


def _quorum(asked: Any, count: int) -> int | None:
    """Quorum: how many items must succeed; None where each must."""
    if asked is None:
        return None
    return math.ceil(asked * count - 1e-9) if isinstance(asked, float) and asked <= 1 else int(asked)
