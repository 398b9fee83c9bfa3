"""Validation of workflow files: every problem, all at once; the workflow where there is none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import TypedDict, Unpack

from bakeoff.workflow.availability import AgentCheck, Agents
from bakeoff.workflow.calls import MAX_CALLS, FindWorkflow, check_budget, check_inputs, finder, literal_name
from bakeoff.workflow.checks import BUILT_IN_LANES, check_steps, check_top_level
from bakeoff.workflow.definition import Workflow, make_workflow
from bakeoff.workflow.document import Document, load_document, parse_document
from bakeoff.workflow.file_model import WorkflowFile
from bakeoff.workflow.injection import check_shell, mark_unread_words
from bakeoff.workflow.names import Use, check_names, uses
from bakeoff.workflow.problems import InvalidWorkflowError, Problem
from bakeoff.workflow.step_type import StepTypes
from bakeoff.workflow.taint import Taint
from bakeoff.workflow.tree import Entry, Tree, checked

Chain = tuple[FilePath, ...]


class ValidateOptions(TypedDict, total=False):
    """Options of validation, by name.

    Attributes:
        strict: make every warning an error.
        allow_unquoted: let text from agents be pasted into a `run` unquoted.
        step_types: the step types known; the built-in and installed ones if left out.
        find_workflow: finds called workflows; those of the current directory's project if left out.
        lanes: names of the lanes that settings add to the built-in ones.
        agents: the agents known; those of the current directory's project if left out.
    """

    strict: bool
    allow_unquoted: bool
    step_types: StepTypes | None
    find_workflow: FindWorkflow | None
    lanes: Collection[str]
    agents: Agents | None


def validate(document: Document, **options: Unpack[ValidateOptions]) -> list[Problem]:
    """Every problem of a workflow file, in the order of the file."""
    return _Examiner(options).examine(document).problems


def load_workflow(path: FilePath, **options: Unpack[ValidateOptions]) -> Workflow:
    """Read and validate a workflow file.

    An `InvalidWorkflowError` lists every problem where there are errors.
    """
    return _Examiner(options).make(load_document(path))


def parse_workflow(
    text: str, name: str = "workflow", path: FilePath | None = None, **options: Unpack[ValidateOptions]
) -> Workflow:
    """Validate a workflow given as text, such as a run's own copy of it; `name` and `path` say where it came from.

    An `InvalidWorkflowError` lists every problem where there are errors.
    """
    return _Examiner(options).make(parse_document(text, name, path))


def reread_workflow(text: str, name: str, path: FilePath | None, step_types: StepTypes | None = None) -> Workflow:
    """Take a workflow from the copy that a run keeps: what was allowed when it began is not judged again.

    Raises:
        InvalidWorkflowError: it cannot be built, for one because a step type is no longer installed.
    """
    document = parse_document(text, name, path)
    file, problems = checked(WorkflowFile, document, (), document.data)
    tree = Tree(document, step_types or StepTypes())
    errors = [problem for problem in (*problems, *tree.problems) if problem.severity == "error"]
    if file is None or errors:
        raise InvalidWorkflowError(document.name, errors)
    mark_unread_words(tree, uses(tree))
    return make_workflow(document, file, tree.steps, ())


@dataclass(frozen=True, slots=True)
class _Examined:
    """A document after examination; `height` counts the calls of other workflows on the longest way down."""

    document: Document
    problems: list[Problem]
    file: WorkflowFile | None
    tree: Tree
    uses: list[Use]
    callees: dict[Entry, _Examined]
    height: int

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "error"]


class _Examiner:
    """Examines a document and, once each, the workflows that it calls."""

    def __init__(self, options: ValidateOptions) -> None:
        self.agents = options.get("agents")
        self.lanes = {*BUILT_IN_LANES, *options.get("lanes", ())}
        self.strict, self.allow_unquoted = options.get("strict", False), options.get("allow_unquoted", False)
        self.types = options.get("step_types") or StepTypes()
        self.find = options.get("find_workflow") or finder(FilePath.cwd())
        self.known: dict[FilePath, _Examined] = {}
        self.taints: dict[tuple[int, frozenset[str]], Taint] = {}

    def make(self, document: Document) -> Workflow:
        """The workflow that a document describes.

        Raises:
            InvalidWorkflowError: it has errors; every problem is listed.
        """
        examined = self.examine(document)
        if examined.file is None or examined.errors:
            raise InvalidWorkflowError(document.name, examined.problems)
        mark_unread_words(examined.tree, examined.uses)
        return make_workflow(document, examined.file, examined.tree.steps, tuple(examined.problems))

    def examine(self, document: Document, chain: Chain = (), *, called: bool = False) -> _Examined:
        """Every problem of a document that was reached over the files in `chain`, where it is called."""
        file, problems = checked(WorkflowFile, document, (), document.data)
        tree = Tree(document, self.types)
        found = uses(tree)
        check_top_level(tree)
        if not called and isinstance(document.data.get("lanes"), dict):
            # The lanes of a run are those of the file that is run, also in the workflows that it calls.
            self.lanes |= {str(name) for name in document.data["lanes"]}
        check_steps(tree, self.lanes)
        check_names(tree, found)
        chain = (*chain, document.path) if document.path else chain
        callees = {
            entry: callee
            for entry in tree.entries
            if entry.type_name == "workflow" and (callee := self._callee(tree, entry, chain)) is not None
        }
        height = max((callee.height + 1 for callee in callees.values()), default=0)
        examined = _Examined(document, [], file, tree, found, callees, height)
        self._check_shell(examined)
        for path, message in () if called else AgentCheck(self.agents).complaints(examined):
            tree.warn(path, message)
        problems = [*document.problems, *problems, *tree.problems]
        if self.strict:
            problems = [replace(problem, severity="error") for problem in problems]
        unique = dict.fromkeys(problems)
        examined.problems.extend(sorted(unique, key=lambda problem: (problem.line, problem.column)))
        return examined

    def _callee(self, tree: Tree, entry: Entry, chain: Chain) -> _Examined | None:
        name, path = literal_name(entry), (*entry.path, "workflow")
        if name is None:
            return None
        file = self.find(name, tree.document.path)
        if file is None:
            places = "a path beside this file, .bakeoff/workflows/ID.yml and .specify/workflows/ID/workflow.yml"
            tree.error(path, f"there is no workflow `{name}`; looked for {places}")
            return None
        if file in chain:
            names = " -> ".join(step.name for step in (*chain[chain.index(file) :], file))
            tree.error(path, f"the workflow `{name}` calls itself: {names}")
            return None
        if len(chain) > MAX_CALLS or (file in self.known and len(chain) + self.known[file].height > MAX_CALLS):
            tree.error(path, f"workflows call each other more than {MAX_CALLS} deep here")
            return None
        callee = self._known(tree, path, file, chain)
        if callee is None:
            return None
        check_inputs(tree, entry, callee.document.data)
        check_budget(tree, entry, callee.document)
        if callee.errors:
            count = f"{len(callee.errors)} error{'' if len(callee.errors) == 1 else 's'}"
            first = callee.errors[0].render(callee.document.name)
            tree.error(path, f"the workflow `{name}` has {count}, the first: {first}")
        return callee

    def _known(self, tree: Tree, path: tuple[str | int, ...], file: FilePath, chain: Chain) -> _Examined | None:
        if file not in self.known:
            try:
                document = load_document(file)
            except InvalidWorkflowError as failure:
                tree.error(path, f"the called workflow cannot be read: {failure}")
                return None
            self.known[file] = self.examine(document, chain, called=True)
        return self.known[file]

    def _check_shell(self, examined: _Examined) -> None:
        tree = examined.tree
        taint = None if self.allow_unquoted else self._taint(examined, frozenset())
        for path, message in check_shell(tree, examined.uses, taint):
            tree.error(path, message)
        if taint is None:
            return
        for entry, callee in examined.callees.items():
            inputs = taint.untrusted_inputs(entry)
            for place, message in self._pasted(callee, inputs) if inputs else ():
                names = ", ".join(f"`{name}`" for name in sorted(inputs))
                tree.error(
                    (*entry.path, "input"),
                    f"text that nobody has read goes into {names}, and in {place} {message}",
                )

    def _taint(self, examined: _Examined, inputs: frozenset[str]) -> Taint:
        key = (id(examined), inputs)
        if key not in self.taints:

            def call(entry: Entry, given: frozenset[str]) -> bool:
                callee = examined.callees.get(entry)
                return callee is None or self._gives_untrusted(callee, given)

            self.taints[key] = Taint(examined.tree, examined.uses, inputs, call)
        return self.taints[key]

    def _gives_untrusted(self, callee: _Examined, inputs: frozenset[str]) -> bool:
        taint = self._taint(callee, inputs)
        outputs = (use for use in callee.uses if use.entry is None and use.field == "outputs")
        return any(taint.untrusted(block.node, None) for use in outputs for block in use.template.blocks)

    def _pasted(self, callee: _Examined, inputs: frozenset[str]) -> list[tuple[str, str]]:
        """Places where a called workflow pastes its untrusted inputs into a shell, and what happens there."""
        taint = self._taint(callee, inputs)
        own = set(check_shell(callee.tree, callee.uses, self._taint(callee, frozenset())))
        name = callee.document.path.name if callee.document.path else callee.document.name
        found = [
            (f"{name}, line {callee.document.position(path)[0]},", message)
            for path, message in check_shell(callee.tree, callee.uses, taint)
            if (path, message) not in own
        ]
        for entry, deeper in callee.callees.items():
            given = taint.untrusted_inputs(entry)
            if given:
                found += self._pasted(deeper, given)
        return found
