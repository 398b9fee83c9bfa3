"""Finds everything that is wrong with a workflow file, all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath

from bakeoff.workflow.definition import Workflow, make_workflow
from bakeoff.workflow.document import Document, load_document, parse_document
from bakeoff.workflow.models import WorkflowFile
from bakeoff.workflow.problems import InvalidWorkflowError, Problem
from bakeoff.workflow.step_type import StepTypes
from bakeoff.workflow.tree import Tree, checked

FindWorkflow = Callable[[str, FilePath | None], FilePath | None]


def validate(
    document: Document,
    *,
    strict: bool = False,
    allow_unquoted: bool = False,
    step_types: StepTypes | None = None,
    find_workflow: FindWorkflow | None = None,
) -> list[Problem]:
    """Every problem of a workflow file, in the order of the file."""
    return _examine(document, strict, allow_unquoted, step_types or StepTypes(), find_workflow)[0]


def _examine(
    document: Document, strict: bool, allow_unquoted: bool, types: StepTypes, find: FindWorkflow | None
) -> tuple[list[Problem], WorkflowFile | None, Tree]:
    file, problems = checked(WorkflowFile, document, (), document.data)
    tree = Tree(document, types)
    problems = [*document.problems, *problems, *tree.problems]
    if strict:
        problems = [replace(problem, severity="error") for problem in problems]
    return (
        sorted(set(problems), key=lambda problem: (problem.line, problem.column, problem.message)),
        file,
        tree,
    )


def load_workflow(
    path: FilePath,
    *,
    strict: bool = False,
    allow_unquoted: bool = False,
    step_types: StepTypes | None = None,
    find_workflow: FindWorkflow | None = None,
) -> Workflow:
    """Read and validate a workflow file.

    Raises:
        InvalidWorkflowError: it has errors; every problem is listed.
    """
    document = load_document(path)
    return workflow_of(
        document,
        strict=strict,
        allow_unquoted=allow_unquoted,
        step_types=step_types,
        find_workflow=find_workflow,
    )


def parse_workflow(
    text: str, name: str = "workflow", path: FilePath | None = None, *, step_types: StepTypes | None = None
) -> Workflow:
    """Take a workflow from text that was validated when its run began, such as the run's own copy.

    Raises:
        InvalidWorkflowError: it has errors; every problem is listed.
    """
    return workflow_of(parse_document(text, name, path), allow_unquoted=True, step_types=step_types)


def workflow_of(
    document: Document,
    *,
    strict: bool = False,
    allow_unquoted: bool = False,
    step_types: StepTypes | None = None,
    find_workflow: FindWorkflow | None = None,
) -> Workflow:
    """The workflow that a document describes.

    Raises:
        InvalidWorkflowError: it has errors; every problem is listed.
    """
    problems, file, tree = _examine(
        document, strict, allow_unquoted, step_types or StepTypes(), find_workflow
    )
    if file is None or any(problem.severity == "error" for problem in problems):
        raise InvalidWorkflowError(document.name, problems)
    return make_workflow(document, file, tree.steps, tuple(problems))
