"""Walk of a dry run or an explanation: through a definition as the interpreter would, with nothing run or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bakeoff.engine.history import History
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import Record, Status
from bakeoff.workflow.context import NodeContext, RunContext
from bakeoff.workflow.definition import Workflow, all_steps
from bakeoff.workflow.expressions import Template, compile_template, truth
from bakeoff.workflow.inputs import resolve_inputs
from bakeoff.workflow.models import Interpolated, marked
from bakeoff.workflow.scope import Naming, Scope, View, digest
from bakeoff.workflow.secrets import present
from bakeoff.workflow.step_models import BUILT_IN
from bakeoff.workflow.steps.branch import case_of, cases
from bakeoff.workflow.steps.call import choose
from bakeoff.workflow.steps.dispatch import container_of, prepare
from bakeoff.workflow.steps.fan_out import too_few_items
from bakeoff.workflow.validate import reread_workflow
from bakeoff.workflow.values import is_list, plain


@dataclass(frozen=True, slots=True)
class Row:
    """Row of the explanation: what happens to one node.

    Attributes:
        action: `reuse`, `run`, `skip`, `decide` (a choice that can be made now) or `unknown` (it hangs on a step
            that has yet to run).
    """

    path: str
    type: str
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class Before:
    """State before an edit: the last record of each node, and the nodes that were interrupted."""

    records: Mapping[str, Record]
    open: set[str]


@dataclass(slots=True)
class Walk:
    """Walks a definition as the interpreter would, with nothing run and nothing written.

    Attributes:
        before: what there was before an edit; None where nothing was edited.
        running: by the identity of a scope, the first step in it that runs; the scope is held to keep it its own.
    """

    before: Before | None = None
    rows: list[Row] = field(default_factory=list)
    running: dict[int, tuple[Scope, str]] = field(default_factory=dict)

    def steps(
        self, run_context: RunContext, steps: Iterable[Any], scope: Scope, naming: Naming, unknown: frozenset[str]
    ) -> frozenset[str]:
        """Plan a list of steps; takes and returns the ids whose output is not known yet."""
        for step in steps:
            unknown = self.step(NodeContext(run_context, step, naming.path(step.id), scope, naming), unknown)
        return unknown

    def step(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """Plan one step; takes and returns the ids whose output is not known yet."""
        step = context.step
        if step.when is not None and context.run.find(context.path) is None:
            waits = _waits(_templates(step, {"when"}), unknown)
            if waits:
                return self.unknown(context, waits, unknown)
            if not (step.when if isinstance(step.when, bool) else truth(context.value("when"))):
                self.add(context, "skip", "`when` is false")
                context.add(Record(context.path, step.type, Status.SKIPPED))
                return unknown
        plan = partial(_CONTAINERS.get(step.type, Walk.leaf), self)
        before = context.scope.chain
        if step.independent and container_of(context) is not None:
            context.scope.chain = digest("independent")
            earlier = self.running.pop(id(context.scope), None)
            unknown = plan(context, unknown)
            if earlier is not None:
                self.running[id(context.scope)] = earlier
            context.scope.chain = digest(before, context.scope.chain)
            return unknown
        return plan(context, unknown)

    def add(self, context: NodeContext, action: str, reason: str) -> None:
        """Add a row for the node."""
        self.rows.append(Row(context.path, context.step.type, action, reason))

    def unknown(self, context: NodeContext, waits: str, unknown: frozenset[str]) -> frozenset[str]:
        """Add a row for a step that hangs on another one's output, and leave all that is in it unknown."""
        self.add(context, "unknown", f"hangs on {waits}, which has yet to run")
        return unknown | {step.id for step in all_steps([context.step])}

    def leaf(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """A step that does work itself."""
        step = context.step
        found = context.run.find(context.path)
        waits = _waits(_templates(step), unknown) if found is None else None
        key, given = f"? {context.path}", None
        if found is None and waits is None and (context.run.history.pool or self.before is not None):
            given, key = _key(context)
            found = context.run.find(context.path, key)
        if found is None:
            reason = _why(context) if self.before is None else self.why_after_edit(context, self.before, key, given)
            self.add(context, "run", reason + (f"; what it is given hangs on {waits}" if waits else ""))
            self.runs(context.scope, context.path)
            context.scope.follow(key)
            return unknown | {step.id}
        record, adopted = found
        self.add(context, "reuse", "same key as before the edit" if adopted else f"ended: {record.status}")
        context.scope.follow(record.key)
        context.add(record)
        return unknown - {step.id}

    def runs(self, scope: Scope, path: str) -> None:
        """Note that a step in `scope` runs."""
        self.running.setdefault(id(scope), (scope, path))

    def inherit(self, scope: Scope, outer: Scope) -> None:
        """Steps that run before `scope` opens run before all that is in it."""
        if id(outer) in self.running:
            self.runs(scope, self.running[id(outer)][1])

    def why_after_edit(self, context: NodeContext, before: Before, key: str, given: Mapping[str, Any] | None) -> str:
        """Why a step whose key nothing on record has runs."""
        if not context.step.independent and id(context.scope) in self.running:
            return f"follows {self.running[id(context.scope)][1]}, which runs"
        record = before.records.get(context.path)
        if context.path in before.open:
            return "it was interrupted"
        if record is None or record.type != context.step.type:
            return "new, or it had not run yet"
        if record.key == key:
            return "it asks again" if record.status is Status.PAUSED else f"it failed: {record.error}"
        if ":" in context.path:  # the number says where it stands, not what it is
            return "new, or what it is given has changed"
        return "what stands before it has changed" if record.input == given else "what it is given has changed"

    def if_(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """The branch that was chosen, or would be now."""

        def choose() -> bool:
            condition = context.step.condition
            return condition if isinstance(condition, bool) else truth(context.value("condition"))

        holds = self.choice(context, unknown, "condition_result", {"condition"}, choose)
        if holds is None:
            return self.unknown(context, _waits(_templates(context.step, {"condition"}), unknown) or "", unknown)
        context.scope.follow("if", str(holds))
        branch = context.step.then if holds else context.step.else_ or ()
        return self.steps(context.run_context, branch, context.scope, context.naming, unknown)

    def switch(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """The case that was chosen, or would be now."""
        matched = self.choice(
            context, unknown, "matched_case", {"expression"}, lambda: case_of(context)["matched_case"]
        )
        if matched is None:
            return self.unknown(context, _waits(_templates(context.step, {"expression"}), unknown) or "", unknown)
        context.scope.follow("switch", matched)
        branch = cases(context).get(matched, context.step.default or ())
        return self.steps(context.run_context, branch, context.scope, context.naming, unknown)

    def choice(
        self, context: NodeContext, unknown: frozenset[str], name: str, fields: set[str], choose: Callable[[], Any]
    ) -> Any:
        """The choice that was made, or would be now; None when that cannot be said."""
        found = context.run.find(context.path)
        if found is not None:
            value = found[0].output.get(name)
            self.add(context, "reuse", f"decided: {value}")
            context.add(found[0])
            return value
        if _waits(_templates(context.step, fields), unknown):
            return None
        value = choose()
        self.add(context, "decide", f"{value}")
        context.add(Record(context.path, context.step.type, Status.COMPLETED, {name: value}))
        return value

    def loop(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """The passes that were begun; whether there will be more is said, where it is not known."""
        step, decisions = context.step, context.run.history.decisions
        first = step.type == "while"
        number = 0
        self.add(context, "run", _why(context))
        while number < step.max_iterations:
            if first or number > 0:
                decided = decisions.get(f"{context.path}#{number}")
                if decided is None:
                    text = f"at most {step.max_iterations - number} more passes, as its condition then says"
                    self.rows.append(Row(f"{context.path}#{number}", step.type, "unknown", text))
                    break
                if not decided:
                    break
            context.scope.set("iteration", number)
            context.scope.set("iterations", {step.id: number})
            context.scope.follow("pass", str(number))
            naming = Naming.iteration(context.path, number)
            unknown = self.steps(context.run_context, step.steps, context.scope, naming, unknown)
            number += 1
        return unknown | {step.id}

    def fan_out(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """Every item, as far as the items are known."""
        items = context.run.history.decisions.get(f"{context.path}#items")
        if items is None:
            waits = _waits(_templates(context.step, {"items"}), unknown)
            if waits:
                return self.unknown(context, waits, unknown)
            items = plain(context.value("items"))
        if not is_list(items):
            self.add(context, "run", "fails: `items` is no list")
            return unknown | {context.step.id}
        if (error := too_few_items(context.step.min_success, len(items))) is not None:
            self.add(context, "run", f"fails: {error}")
            return unknown | {context.step.id}
        self.add(context, "run", f"{len(items)} item{'' if len(items) == 1 else 's'}")
        chains, left, ran = [], False, False
        for index, item in enumerate(items):
            path = f"{context.path}:{context.step.step.id}:{index}"
            names = {"item": item, "index": index, "parent_item": context.scope.lookup("item")}
            scope = Scope(context.scope, names, chain=digest(context.scope.chain, "item", item))
            self.inherit(scope, context.scope)
            inner = NodeContext(context.run_context, context.step.step, path, scope, Naming.inside(path))
            left |= bool(self.step(inner, unknown) - unknown)
            chains.append(scope.chain)
            ran |= id(scope) in self.running
        if ran:
            self.runs(context.scope, context.path)
        context.scope.follow("fan-out", *chains)
        found = context.run.find(context.path)
        if found is not None and not left:
            paths = [f"{context.path}:{context.step.step.id}:{index}" for index in range(len(items))]
            records = [context.run.history.records.get(path) for path in paths]
            results = View([record.output if record else {} for record in records])
            output = {"items": View(items), **found[0].output, "results": results}
            context.add(replace(found[0], output=output))
            return unknown
        return unknown | {context.step.id}

    def parallel(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """Every branch, each blind to the others."""
        self.add(context, "run", f"{len(context.step.branches)} branches")
        ends, chains, ran = unknown, [], False
        for name, steps in context.step.branches.items():
            scope = Scope(context.scope)
            scope.follow("branch", name)
            self.inherit(scope, context.scope)
            ends |= self.steps(context.run_context, steps, scope, context.naming, unknown)
            context.scope.merge(scope)
            chains.append(scope.chain)
            ran |= id(scope) in self.running
        if ran:
            self.runs(context.scope, context.path)
        context.scope.follow("parallel", *chains)
        return ends

    def call(self, context: NodeContext, unknown: frozenset[str]) -> frozenset[str]:
        """The steps of the called workflow, in a scope of its own."""
        found = context.run.find(context.path)
        if found is not None:
            self.add(context, "reuse", f"ended: {found[0].status}")
            context.scope.chain = found[0].key
            context.add(found[0])
            return unknown
        waits = _waits(_templates(context.step), unknown)
        if waits:
            return self.unknown(context, waits, unknown)
        inner = _called(context)
        self.add(context, "run", f"workflow {inner.id}")
        given = plain(context.values("input")) if context.step.input else {}
        masker = Masker(present(context.run_context.secrets))
        inputs = resolve_inputs(inner.inputs, given, Path(context.run_context.project), masker)
        scope = Scope(None, {"inputs": inputs, "context": context.scope.lookup("context")}, chain=context.scope.chain)
        context.scope.follow("workflow", inner.text)
        self.inherit(scope, context.scope)
        run_context = replace(
            context.run_context, workflow_dir=str(inner.directory or ""), depth=context.run_context.depth + 1
        )
        self.steps(run_context, inner.steps, scope, Naming.inside(context.path), frozenset())
        context.scope.follow(scope.chain)
        if id(scope) in self.running:
            self.runs(context.scope, context.path)
        return unknown | {context.step.id}


_CONTAINERS: Mapping[str, Callable[[Walk, NodeContext, frozenset[str]], frozenset[str]]] = {
    "if": Walk.if_,
    "switch": Walk.switch,
    "while": Walk.loop,
    "do-while": Walk.loop,
    "fan-out": Walk.fan_out,
    "parallel": Walk.parallel,
    "workflow": Walk.call,
}
"""The built-in step types that hold others; all else is a leaf here."""


def _key(context: NodeContext) -> tuple[Mapping[str, Any] | None, str]:
    """Input of a step that is no container of ours, and the key that it would have now.

    Where it works on a snapshot, one is taken: in bakeoff's repository, nothing of the user's is touched.
    """
    container = (
        context.run_context.step_types.container(context.step.type) if context.step.type not in BUILT_IN else None
    )
    if container is not None:
        key_now = getattr(container, "key_now", None)
        return None, f"? {context.path}" if key_now is None else key_now(context)
    leaf = prepare(context)
    if context.step.workspace is None:
        return leaf.input, context.key(leaf.input)
    from bakeoff.workflow.steps.in_slot import base_of, key_in_slot, tree_now

    return leaf.input, key_in_slot(context, leaf, tree_now(context.run_context, base_of(context)))


def _called(context: NodeContext) -> Workflow:
    chosen = context.run.history.decisions.get(f"{context.path}#workflow")
    found = chosen or choose(context)
    return reread_workflow(found["text"], found["name"], Path(found["path"]), context.run_context.step_types)


def _why(context: NodeContext) -> str:
    """Why a node runs, by what the journal says of it."""
    history: History = context.run.history
    record = history.records.get(context.path)
    if context.path in history.open:
        return "it was interrupted"
    if record is None:
        return "it has not run yet"
    if record.status is Status.PAUSED:
        return "it waits for an answer" if context.path not in history.answers else "it was answered"
    if record.status is Status.FAILED:
        return f"it failed: {record.error}"
    return "it is gone through again; what ended inside it is kept"


def _templates(step: Any, only: set[str] | None = None) -> Iterator[Template]:
    """The templates that a step's own work evaluates."""
    names: Sequence[str] = [name for name, _, _ in marked(step.__class__, Interpolated)]
    for name in names:
        if only is None or name in only:
            value = getattr(step, name)
            yield from (compile_template(part) for part in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    """A value, or all that stands in it."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner is None:
        yield value
    else:
        for part in inner:
            yield from _parts(part)


def _waits(templates: Iterable[Template], unknown: frozenset[str]) -> str | None:
    """The first step without a known output that a template refers to."""
    for template in templates:
        for reference in template.references:
            root, _, rest = reference.partition(".")
            name = rest.partition(".")[0]
            if root == "steps" and name.partition(":")[0] in unknown:
                return name
    return None
