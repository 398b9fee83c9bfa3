"""Tree of a document's steps: one entry a step, with its model, its scope and its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar
from unicodedata import category

from pydantic import ValidationError

from bakeoff.workflow.document import Document
from bakeoff.workflow.messages import translate
from bakeoff.workflow.models import Nested, StepModel, Strict, marked
from bakeoff.workflow.problems import Path, Problem, quoting, show_path, shown, suggestion
from bakeoff.workflow.step_models import UNSUPPORTED, Unsupported
from bakeoff.workflow.step_type import StepTypes

_CONDITIONAL = frozenset({"if", "switch", "while"})
# Control and formatting characters, such as ESC and the marks that turn the direction of text; what joins letters of
# some scripts is no harm.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
MAX_PROBLEMS = 1000
"""Problems after which names are no longer looked at: a hostile file could make that take hours."""

_Model = TypeVar("_Model", bound=Strict)


@dataclass(slots=True, eq=False)
class Scope:
    """The ids that steps can see: the workflow's, or those of a fan-out template and of what is around it."""

    parent: Scope | None = None
    owner: Entry | None = None
    ids: dict[str, Entry] = field(default_factory=dict)

    def find(self, name: str) -> Entry | None:
        """The step of that id, here or further out."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.ids:
                return scope.ids[name]
            scope = scope.parent
        return None

    def names(self) -> list[str]:
        """Every id that can be seen."""
        return [*self.ids, *(self.parent.names() if self.parent else ())]


@dataclass(slots=True, eq=False)
class Entry:
    """One step as it is written.

    Attributes:
        path: where it stands.
        type_name: its type, also where it is unknown.
        model: the fields of its type; None where the type is unknown.
        scope: the ids it can see.
        order: its place among all steps, in the order written.
        step: the model, where the step is valid.
        last: the `order` of the last step inside it.
    """

    path: Path
    raw: dict[Any, Any]
    type_name: str
    model: type[StepModel] | None
    scope: Scope
    parent: Entry | None
    order: int
    step: StepModel | None = None
    last: int = 0

    @property
    def id(self) -> str:
        """Its id, as far as it has one."""
        name = self.raw.get("id")
        return name if isinstance(name, str) else ""


def _is_conditional(entry: Entry | None) -> bool:
    """Whether what stands in a step may never be reached."""
    while entry is not None:
        if entry.type_name in _CONDITIONAL or entry.raw.get("when") is not None:
            return True
        entry = entry.parent
    return False


class Tree:
    """Every step of a document, in the order written.

    Attributes:
        scope: the ids of the workflow.
        steps: the models of the top-level steps that are valid.
    """

    def __init__(self, document: Document, types: StepTypes) -> None:
        self.document, self.types = document, types
        self.entries: list[Entry] = []
        self.problems: list[Problem] = []
        self.scope = Scope()
        steps = document.data.get("steps")
        self.steps: list[StepModel] = self._list(("steps",), steps, self.scope, None) if isinstance(steps, list) else []

    @property
    def full(self) -> bool:
        """Whether so much is wrong that looking on is of no use to anybody."""
        return len(self.problems) >= MAX_PROBLEMS

    def error(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note an error at `path`."""
        self.problems.append(self.document.problem("error", path, message, key=key))

    def warn(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note a warning at `path`."""
        self.problems.append(self.document.problem("warning", path, message, key=key))

    def note_in(self, severity: str, path: Path, message: str, text: str, offset: int) -> None:
        """Note a problem at one character of the text at `path`."""
        place = self.document.position_in(path, text, offset)
        self.problems.append(Problem(severity, message, *place, show_path(path)))

    def _list(self, path: Path, steps: list[Any], scope: Scope, parent: Entry | None) -> list[StepModel]:
        found = (self._step((*path, place), step, scope, parent) for place, step in enumerate(steps))
        return [step for step in found if step is not None]

    def _step(self, path: Path, raw: Any, scope: Scope, parent: Entry | None) -> StepModel | None:
        if not isinstance(raw, dict):
            self.error(path, f"a step must be a mapping, not {shown(raw)}")
            return None
        name = raw.get("type", "command")
        kind = self._kind(path, raw, parent)
        entry = Entry(path, raw, name if isinstance(name, str) else "", kind, scope, parent, len(self.entries))
        self.entries.append(entry)
        self._declare(entry)
        if kind is not None:
            step, problems = checked(kind, self.document, path, raw)
            self.problems += problems
            entry.step = step
            self._nested(entry, kind)
            if step is not None:
                step.place(raw, self.document.position(path))
        entry.last = len(self.entries) - 1
        return entry.step

    def _kind(self, path: Path, raw: dict[Any, Any], parent: Entry | None) -> type[StepModel] | None:
        name = raw.get("type", "command")
        if not isinstance(name, str):
            self.error((*path, "type"), f"`type` must be text, not {shown(name)}{quoting(name)}")
            return None
        kind = self.types.model(name)
        if kind is None and name in UNSUPPORTED:
            note, where = self.error, ""
            if raw.get("when") is not None or _is_conditional(parent):
                kind, note, where = Unsupported, self.warn, ", and fail where they are reached"
            note((*path, "type"), f"steps of type `{name}` are not supported{where}; {UNSUPPORTED[name]}")
        elif kind is None:
            there = f"; there are {', '.join(self.types.names())}"
            more = " (step packages under `.specify` are not loaded; a type of your own is written in Python)"
            hint = suggestion(name, self.types.names()) or there + more
            self.error((*path, "type"), f"unknown step type `{name}`{hint}")
        return kind

    def _declare(self, entry: Entry) -> None:
        name = entry.raw.get("id")
        path = (*entry.path, "id")
        if name is None and "id" not in entry.raw:
            if entry.model is None:
                self.error(entry.path, "`id` is missing")
            return
        if not isinstance(name, str):
            if entry.model is None:
                self.error(path, f"`id` must be text, not {shown(name)}{quoting(name)}")
            return
        self._check_id(path, name)
        if name in entry.scope.ids:
            line = self.document.position((*entry.scope.ids[name].path, "id"))[0]
            self.error(
                path,
                f"the id `{name}` is taken by the step in line {line}; ids are unique in the whole workflow",
            )
        else:
            entry.scope.ids[name] = entry

    def _check_id(self, path: Path, name: str) -> None:
        """Refusal of an id that people cannot type, terminals cannot show or paths cannot hold."""
        for sign in ":/":
            if sign in name:
                self.error(
                    path,
                    f"the id `{name}` contains `{sign}`, which bakeoff uses to number steps; choose another",
                )
        unseen = next((sign for sign in name if category(sign) in _UNSEEN and sign not in _JOINERS), None)
        if unseen is not None:
            self.error(path, f"the id {name!a} contains the invisible character U+{ord(unseen):04X}; take it out")
        elif name != name.strip():
            self.error(path, f"the id `{name}` begins or ends with a blank; take it out")
        elif name in {".", ".."}:
            self.error(path, f"the id `{name}` is the name of a folder; choose another")
        elif "." in name or "[" in name:
            sign = "." if "." in name else "["
            self.warn(path, f"the id `{name}` contains `{sign}`: expressions cannot name it; choose another")

    def _nested(self, entry: Entry, kind: type[StepModel]) -> None:
        for attribute, key, shape in marked(kind, Nested):
            value, path = entry.raw.get(key), (*entry.path, key)
            built: Any = None
            if shape is Nested.LIST and isinstance(value, list):
                built = self._list(path, value, entry.scope, entry)
            elif shape is Nested.MAPPING and isinstance(value, dict):
                built = {
                    name: self._list((*path, name), steps, entry.scope, entry)
                    for name, steps in value.items()
                    if isinstance(steps, list)
                }
            elif shape is Nested.STEP and isinstance(value, dict):
                built = self._step(path, value, Scope(entry.scope, entry), entry)
            if entry.step is not None and built is not None:
                setattr(entry.step, attribute, built)


def checked(model: type[_Model], document: Document, path: Path, data: Any) -> tuple[_Model | None, list[Problem]]:
    """An instance of `model`, or None where there are errors; and the problems. Unknown keys are left out."""
    try:
        return model.model_validate(data), []
    except ValidationError as failure:
        problems = translate(failure, document, path, data, model)
        if any(problem.severity == "error" for problem in problems):
            return None, problems
        known = _without(data, [error["loc"] for error in failure.errors(include_url=False)])
        return model.model_validate(known), problems


def _without(data: Any, unknown: list[tuple[Any, ...]]) -> Any:
    here = {path[0] for path in unknown if len(path) == 1}
    deeper: dict[Any, list[tuple[Any, ...]]] = {}
    for path in unknown:
        if len(path) > 1:
            deeper.setdefault(path[0], []).append(path[1:])
    if isinstance(data, list):
        return [_without(part, deeper[place]) if place in deeper else part for place, part in enumerate(data)]
    return {
        key: _without(part, deeper[key]) if key in deeper else part for key, part in data.items() if key not in here
    }
