"""Workflow definition, valid and ready to be run: what the interpreter consumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from bakeoff.workflow.document import Document
from bakeoff.workflow.file_model import Budget, InputDeclaration, WorkflowFile
from bakeoff.workflow.models import StepModel
from bakeoff.workflow.problems import Problem


@dataclass(frozen=True)
class Workflow:
    """A valid workflow.

    Attributes:
        version: three numbers.
        integration: the agent for steps that name none.
        model: the model for steps that name none.
        steps: the top-level steps; those inside stand in their fields (`then`, `steps`, `step`, ...).
        outputs: values or expressions, by name.
        secrets: environment variables whose values are masked.
        env: environment variables for every step, as templates' text.
        path: the file, absolute; None when the text came from elsewhere.
    """

    id: str
    name: str
    version: str
    integration: str | None
    model: str | None
    options: dict[str, Any]
    inputs: dict[str, InputDeclaration]
    steps: list[StepModel]
    outputs: dict[str, Any]
    secrets: tuple[str, ...]
    budget: Budget
    env: dict[str, Any]
    lanes: dict[str, int]
    text: str
    path: FilePath | None
    data: dict[str, Any]
    warnings: tuple[Problem, ...] = field(default=(), repr=False)

    @property
    def directory(self) -> FilePath | None:
        """Folder of the file."""
        return self.path.parent if self.path else None


def make_workflow(
    document: Document, file: WorkflowFile, steps: list[StepModel], warnings: tuple[Problem, ...]
) -> Workflow:
    """Put together what validation has built."""
    header = file.workflow
    secrets = file.secrets
    return Workflow(
        id=header.id,
        name=header.name,
        version=header.version,
        integration=header.integration or None,
        model=header.model or None,
        options=header.options or {},
        inputs=file.inputs,
        steps=steps,
        outputs={name: output.value for name, output in file.outputs.items()},
        secrets=tuple(secrets.values() if isinstance(secrets, dict) else secrets),
        budget=file.budget,
        env=file.env,
        lanes=file.lanes,
        text=document.text,
        path=document.path,
        data=document.data,
        warnings=warnings,
    )


def all_steps(steps: Iterable[Any]) -> Iterator[Any]:
    """Every step of a list, and every step inside one."""
    for step in steps:
        yield step
        for name in ("then", "else_", "steps", "default"):
            yield from all_steps(getattr(step, name, None) or ())
        for name in ("cases", "branches"):
            for inner in (getattr(step, name, None) or {}).values():
                yield from all_steps(inner)
        if step.type == "fan-out":
            yield from all_steps([step.step])
