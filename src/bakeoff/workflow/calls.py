"""Calls of other workflows: finding the file, and what can be said of a call before the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from bakeoff.workflow.document import Document
from bakeoff.workflow.find import find_workflow
from bakeoff.workflow.problems import suggestion
from bakeoff.workflow.tree import Entry, Tree

FindWorkflow: TypeAlias = Callable[[str, FilePath | None], FilePath | None]
"""Finds the file of a called workflow, given its name and the file of the caller."""

MAX_CALLS = 16
"""Most depth of workflows that call each other."""


def finder(project: FilePath) -> FindWorkflow:
    """Finds called workflows for a project: by path beside the caller, then by id in the project's folders."""

    def find(name: str, caller: FilePath | None) -> FilePath | None:
        found = find_workflow(name, caller, project)
        return found.resolve() if found else None

    return find


def literal_name(entry: Entry) -> str | None:
    """The name that a `workflow` step calls, unless an expression gives it."""
    name = entry.raw.get("workflow")
    return name if isinstance(name, str) and name and "{{" not in name else None


def has_budget(data: dict[Any, Any]) -> bool:
    """Whether a file sets ceilings."""
    budget = data.get("budget")
    return isinstance(budget, dict) and any(ceiling is not None for ceiling in budget.values())


def check_budget(tree: Tree, entry: Entry, callee: Document) -> None:
    """A budget in a file that is called would not be kept: budgets are those of the run."""
    if has_budget(callee.data):
        line = callee.position(("budget",), key=True)[0]
        where = f"the workflow `{entry.raw['workflow']}` has a `budget` (line {line})"
        advice = "which has no effect where it is called; put it into the file that is run"
        tree.error((*entry.path, "workflow"), f"{where}, {advice}")


def check_inputs(tree: Tree, entry: Entry, callee: dict[Any, Any]) -> None:
    """Inputs of a call that the called workflow does not have, or cannot do without."""
    given, declared = entry.raw.get("input"), callee.get("inputs")
    given = given if isinstance(given, dict) else {}
    declared = declared if isinstance(declared, dict) else {}
    name = entry.raw["workflow"]
    for key in given:
        if key not in declared:
            hint = suggestion(str(key), map(str, declared))
            tree.error((*entry.path, "input", key), f"the workflow `{name}` has no input `{key}`{hint}", key=True)
    for key, raw in declared.items():
        if isinstance(raw, dict) and raw.get("required") is True and raw.get("default") is None and key not in given:
            tree.error(entry.path, f"the workflow `{name}` needs the input `{key}`; give it under `input`")
