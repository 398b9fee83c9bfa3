"""What a run would do, before it does anything: `run --dry-run` and `resume --explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bakeoff.engine.history import History
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import Record, Status
from bakeoff.engine.run import Run
from bakeoff.engine.store import RunStore
from bakeoff.settings import load_settings
from bakeoff.workflow.context import Place, Setting
from bakeoff.workflow.definition import Workflow, all_steps
from bakeoff.workflow.expressions import Template, compile_template, truth
from bakeoff.workflow.inputs import resolve_inputs
from bakeoff.workflow.job import WorkflowOptions, input_values, load, resumable, step_types, workflow_setting
from bakeoff.workflow.models import Interpolated, marked
from bakeoff.workflow.scope import Naming, Scope, View, digest
from bakeoff.workflow.secrets import present, secrets_of
from bakeoff.workflow.step_models import BUILT_IN
from bakeoff.workflow.steps.branch import case_of, cases
from bakeoff.workflow.steps.call import choose, copies
from bakeoff.workflow.steps.dispatch import container_of, prepare
from bakeoff.workflow.steps.fan_out import too_few_items
from bakeoff.workflow.validate import reread_workflow
from bakeoff.workflow.values import is_list, plain


@dataclass(frozen=True, slots=True)
class Row:
    """What happens to one node.

    Attributes:
        path: where it stands.
        type: its step type.
        action: `reuse`, `run`, `skip`, `decide` (a choice that can be made now) or `unknown` (it hangs on a step
            that has yet to run).
        reason: why, for a person.
    """

    path: str
    type: str
    action: str
    reason: str


def plan_run(store: RunStore, path: Path, inputs: Mapping[str, Any], run_options: WorkflowOptions) -> list[Row]:
    """What a new run would do, as far as it can be said before its first step.

    Passes on BakeoffError: the file, the inputs or the settings are wrong.
    """
    settings = load_settings(store.project).at(run_options.endpoint)
    workflow = load(path, store.project, settings, run_options)
    secrets = secrets_of(workflow.text, *copies(workflow, store.project, step_types(settings)).values())
    values = input_values(workflow, inputs, store.project, run_options, secrets)
    run = Run(root=store.runs / "new")
    folder = path.absolute().parent
    return _plan(workflow, workflow_setting(run, workflow, settings, store.project, folder, values, secrets))


def plan_resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], run_options: WorkflowOptions, edit: Path | None
) -> list[Row]:
    """Why each node of a run would be reused or run, if it were resumed so.

    Passes on BakeoffError: the run cannot be resumed, or the inputs or the edited file are wrong.
    """
    found = resumable(store, run_id, inputs, run_options, edit)
    before = None
    if edit is not None:
        before = _Before(dict(found.history.records), set(found.history.open))
        found.history.edited()
    run = Run(root=found.folder.root, history=found.history)
    folder = found.source.parent
    setting = workflow_setting(run, found.workflow, found.settings, store.project, folder, found.inputs, found.secrets)
    return _plan(found.workflow, setting, before)


@dataclass(frozen=True, slots=True)
class _Before:
    """What there was before an edit: the last record of each node, and the nodes that were interrupted."""

    records: Mapping[str, Record]
    open: set[str]


def _plan(workflow: Workflow, setting: Setting, before: _Before | None = None) -> list[Row]:
    context = {"run_id": setting.run.root.name, "workflow_dir": setting.workflow_dir}
    scope = Scope(None, {"inputs": setting.inputs, "context": context}, chain=digest("bakeoff"))
    plan = _Plan(before)
    plan.steps(setting, workflow.steps, scope, Naming(), frozenset())
    return plan.rows


@dataclass(slots=True)
class _Plan:
    """Walks a definition as the interpreter would, with nothing run and nothing written.

    Attributes:
        before: what there was before an edit; None where nothing was edited.
        running: by the identity of a scope, the first step in it that runs; the scope is held to keep it its own.
    """

    before: _Before | None = None
    rows: list[Row] = field(default_factory=list)
    running: dict[int, tuple[Scope, str]] = field(default_factory=dict)

    def steps(
        self, setting: Setting, steps: Iterable[Any], scope: Scope, naming: Naming, unknown: frozenset[str]
    ) -> frozenset[str]:
        """Plan a list of steps; takes and returns the ids whose output is not known yet."""
        for step in steps:
            unknown = self.step(Place(setting, step, naming.path(step.id), scope, naming), unknown)
        return unknown

    def step(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        step = place.step
        if step.when is not None and place.run.find(place.path) is None:
            waits = _waits(_templates(step, {"when"}), unknown)
            if waits:
                return self.unknown(place, waits, unknown)
            if not (step.when if isinstance(step.when, bool) else truth(place.value("when"))):
                self.add(place, "skip", "`when` is false")
                place.add(Record(place.path, step.type, Status.SKIPPED))
                return unknown
        plan: Callable[[Place, frozenset[str]], frozenset[str]] = getattr(
            self, "_" + step.type.replace("-", "_"), self.leaf
        )
        before = place.scope.chain
        if step.independent and container_of(place) is not None:
            place.scope.chain = digest("independent")
            earlier = self.running.pop(id(place.scope), None)
            unknown = plan(place, unknown)
            if earlier is not None:
                self.running[id(place.scope)] = earlier
            place.scope.chain = digest(before, place.scope.chain)
            return unknown
        return plan(place, unknown)

    def add(self, place: Place, action: str, reason: str) -> None:
        self.rows.append(Row(place.path, place.step.type, action, reason))

    def unknown(self, place: Place, waits: str, unknown: frozenset[str]) -> frozenset[str]:
        self.add(place, "unknown", f"hangs on {waits}, which has yet to run")
        return unknown | {step.id for step in all_steps([place.step])}

    def leaf(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        """A step that does work itself."""
        step = place.step
        found = place.run.find(place.path)
        waits = _waits(_templates(step), unknown) if found is None else None
        key, given = f"? {place.path}", None
        if found is None and waits is None and (place.run.history.pool or self.before is not None):
            given, key = _key(place)
            found = place.run.find(place.path, key)
        if found is None:
            reason = _why(place) if self.before is None else self.why_after_edit(place, self.before, key, given)
            self.add(place, "run", reason + (f"; what it is given hangs on {waits}" if waits else ""))
            self.runs(place.scope, place.path)
            place.scope.follow(key)
            return unknown | {step.id}
        record, adopted = found
        self.add(place, "reuse", "same key as before the edit" if adopted else f"ended: {record.status}")
        place.scope.follow(record.key)
        place.add(record)
        return unknown - {step.id}

    def runs(self, scope: Scope, path: str) -> None:
        """Note that a step in `scope` runs."""
        self.running.setdefault(id(scope), (scope, path))

    def inherit(self, scope: Scope, outer: Scope) -> None:
        """What runs before `scope` opens runs before all that is in it."""
        if id(outer) in self.running:
            self.runs(scope, self.running[id(outer)][1])

    def why_after_edit(self, place: Place, before: _Before, key: str, given: Mapping[str, Any] | None) -> str:
        """Why a step whose key nothing on record has runs."""
        if not place.step.independent and id(place.scope) in self.running:
            return f"follows {self.running[id(place.scope)][1]}, which runs"
        record = before.records.get(place.path)
        if place.path in before.open:
            return "it was interrupted"
        if record is None or record.type != place.step.type:
            return "new, or it had not run yet"
        if record.key == key:
            return "it asks again" if record.status is Status.PAUSED else f"it failed: {record.error}"
        if ":" in place.path:  # the number says where it stands, not what it is
            return "new, or what it is given has changed"
        return "what stands before it has changed" if record.input == given else "what it is given has changed"

    def _if(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        def choose() -> bool:
            condition = place.step.condition
            return condition if isinstance(condition, bool) else truth(place.value("condition"))

        holds = self.choice(place, unknown, "condition_result", {"condition"}, choose)
        if holds is None:
            return self.unknown(place, _waits(_templates(place.step, {"condition"}), unknown) or "", unknown)
        place.scope.follow("if", str(holds))
        branch = place.step.then if holds else place.step.else_ or ()
        return self.steps(place.setting, branch, place.scope, place.naming, unknown)

    def _switch(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        matched = self.choice(place, unknown, "matched_case", {"expression"}, lambda: case_of(place)["matched_case"])
        if matched is None:
            return self.unknown(place, _waits(_templates(place.step, {"expression"}), unknown) or "", unknown)
        place.scope.follow("switch", matched)
        branch = cases(place).get(matched, place.step.default or ())
        return self.steps(place.setting, branch, place.scope, place.naming, unknown)

    def choice(
        self, place: Place, unknown: frozenset[str], name: str, fields: set[str], choose: Callable[[], Any]
    ) -> Any:
        """What was decided, or would be now; None when that cannot be said."""
        found = place.run.find(place.path)
        if found is not None:
            value = found[0].output.get(name)
            self.add(place, "reuse", f"decided: {value}")
            place.add(found[0])
            return value
        if _waits(_templates(place.step, fields), unknown):
            return None
        value = choose()
        self.add(place, "decide", f"{value}")
        place.add(Record(place.path, place.step.type, Status.COMPLETED, {name: value}))
        return value

    def _while(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        step, decisions = place.step, place.run.history.decisions
        first = step.type == "while"
        number = 0
        self.add(place, "run", _why(place))
        while number < step.max_iterations:
            if first or number > 0:
                decided = decisions.get(f"{place.path}#{number}")
                if decided is None:
                    text = f"at most {step.max_iterations - number} more passes, as its condition then says"
                    self.rows.append(Row(f"{place.path}#{number}", step.type, "unknown", text))
                    break
                if not decided:
                    break
            place.scope.set("iteration", number)
            place.scope.set("iterations", {step.id: number})
            place.scope.follow("pass", str(number))
            naming = Naming.iteration(place.path, number)
            unknown = self.steps(place.setting, step.steps, place.scope, naming, unknown)
            number += 1
        return unknown | {step.id}

    _do_while = _while

    def _fan_out(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        items = place.run.history.decisions.get(f"{place.path}#items")
        if items is None:
            waits = _waits(_templates(place.step, {"items"}), unknown)
            if waits:
                return self.unknown(place, waits, unknown)
            items = plain(place.value("items"))
        if not is_list(items):
            self.add(place, "run", "fails: `items` is no list")
            return unknown | {place.step.id}
        if (error := too_few_items(place.step.min_success, len(items))) is not None:
            self.add(place, "run", f"fails: {error}")
            return unknown | {place.step.id}
        self.add(place, "run", f"{len(items)} item{'' if len(items) == 1 else 's'}")
        chains, left, ran = [], False, False
        for index, item in enumerate(items):
            path = f"{place.path}:{place.step.step.id}:{index}"
            names = {"item": item, "index": index, "parent_item": place.scope.lookup("item")}
            scope = Scope(place.scope, names, chain=digest(place.scope.chain, "item", item))
            self.inherit(scope, place.scope)
            inner = Place(place.setting, place.step.step, path, scope, Naming.inside(path))
            left |= bool(self.step(inner, unknown) - unknown)
            chains.append(scope.chain)
            ran |= id(scope) in self.running
        if ran:
            self.runs(place.scope, place.path)
        place.scope.follow("fan-out", *chains)
        found = place.run.find(place.path)
        if found is not None and not left:
            paths = [f"{place.path}:{place.step.step.id}:{index}" for index in range(len(items))]
            records = [place.run.history.records.get(path) for path in paths]
            results = View([record.output if record else {} for record in records])
            output = {"items": View(items), **found[0].output, "results": results}
            place.add(replace(found[0], output=output))
            return unknown
        return unknown | {place.step.id}

    def _parallel(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        self.add(place, "run", f"{len(place.step.branches)} branches")
        ends, chains, ran = unknown, [], False
        for name, steps in place.step.branches.items():
            scope = Scope(place.scope)
            scope.follow("branch", name)
            self.inherit(scope, place.scope)
            ends |= self.steps(place.setting, steps, scope, place.naming, unknown)
            place.scope.merge(scope)
            chains.append(scope.chain)
            ran |= id(scope) in self.running
        if ran:
            self.runs(place.scope, place.path)
        place.scope.follow("parallel", *chains)
        return ends

    def _workflow(self, place: Place, unknown: frozenset[str]) -> frozenset[str]:
        found = place.run.find(place.path)
        if found is not None:
            self.add(place, "reuse", f"ended: {found[0].status}")
            place.scope.chain = found[0].key
            place.add(found[0])
            return unknown
        waits = _waits(_templates(place.step), unknown)
        if waits:
            return self.unknown(place, waits, unknown)
        inner = _called(place)
        self.add(place, "run", f"workflow {inner.id}")
        given = plain(place.values("input")) if place.step.input else {}
        masker = Masker(present(place.setting.secrets))
        inputs = resolve_inputs(inner.inputs, given, Path(place.setting.project), masker)
        scope = Scope(None, {"inputs": inputs, "context": place.scope.lookup("context")}, chain=place.scope.chain)
        place.scope.follow("workflow", inner.text)
        self.inherit(scope, place.scope)
        setting = replace(place.setting, workflow_dir=str(inner.directory or ""), depth=place.setting.depth + 1)
        self.steps(setting, inner.steps, scope, Naming.inside(place.path), frozenset())
        place.scope.follow(scope.chain)
        if id(scope) in self.running:
            self.runs(place.scope, place.path)
        return unknown | {place.step.id}


def _key(place: Place) -> tuple[Mapping[str, Any] | None, str]:
    """What a step that is no container of ours is given, and the key that it would have now.

    Where it works on a snapshot, one is taken: in bakeoff's repository, nothing of the user's is touched.
    """
    container = place.setting.step_types.container(place.step.type) if place.step.type not in BUILT_IN else None
    if container is not None:
        key_now = getattr(container, "key_now", None)
        return None, f"? {place.path}" if key_now is None else key_now(place)
    leaf = prepare(place)
    if place.step.workspace is None:
        return leaf.input, place.key(leaf.input)
    from bakeoff.workflow.steps.in_slot import base_of, key_in_slot, tree_now

    return leaf.input, key_in_slot(place, leaf, tree_now(place.setting, base_of(place)))


def _called(place: Place) -> Workflow:
    chosen = place.run.history.decisions.get(f"{place.path}#workflow")
    found = chosen or choose(place)
    return reread_workflow(found["text"], found["name"], Path(found["path"]), place.setting.step_types)


def _why(place: Place) -> str:
    """Why a node runs, by what the journal says of it."""
    history: History = place.run.history
    record = history.records.get(place.path)
    if place.path in history.open:
        return "it was interrupted"
    if record is None:
        return "it has not run yet"
    if record.status is Status.PAUSED:
        return "it waits for an answer" if place.path not in history.answers else "it was answered"
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
