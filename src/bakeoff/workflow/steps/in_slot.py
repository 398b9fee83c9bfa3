"""`workspace: slot`: a step works in a slot of its own, and what it made there is kept as a commit."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.judge.checks.missing_files import what_to_copy
from bakeoff.sampling.attempt.checkpoint import pending_commits
from bakeoff.workflow.context import WORKSPACES, NodeContext, RunContext
from bakeoff.workflow.expressions import compile_template
from bakeoff.workflow.step_models import BY_COMMAND
from bakeoff.workflow.steps.dispatch import prepare
from bakeoff.workflow.steps.leaf import Leaf, do_leaf
from bakeoff.workflow.steps.shell import working_directory
from bakeoff.workflow.values import as_text
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.preparation import snapshot_now
from bakeoff.workspace.results.results import Result
from bakeoff.workspace.shared_workspaces import Workspaces
from bakeoff.workspace.slots.commands import InSlot
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import Workspace

SLOTS = "slots"
"""The lane of everything that works in a slot."""

_TAKEN = re.compile(r"address already in use|EADDRINUSE", re.IGNORECASE)

MOST_FILES = 1000
"""Paths of a result that its step's output names."""


async def workspaces(run_context: RunContext) -> Workspaces:
    """The workspaces of the run, which says in its journal that it has some: they keep results for it.

    Passes on JournalError: the journal cannot be written.
    """
    assert run_context.places is not None, "nothing is run here"
    # One leaf holds one slot at most, and a place in the lane of leaves before it: so nobody waits for a slot.
    most = run_context.run.lanes.sizes[LEAVES]
    made: Workspaces | None = run_context.shared.get("workspaces")
    if made is None:
        made = run_context.shared["workspaces"] = Workspaces(
            run_context.places,
            Path(run_context.project),
            run_context.settings,
            run_context.run.root.name,
            most,
            run_context.processes,
            run_context.warn,
            pending_commits(run_context.run.history),
        )
        await run_context.run.decide(WORKSPACES, lambda: True)
    return made


def base_of(context: NodeContext) -> str | None:
    """The commit that a step's slot starts from; None for the files as they are.

    Passes on ExpressionError: it cannot be evaluated.
    """
    return as_text(compile_template(context.step.workspace.base).evaluate(context.scope)) or None


def key_in_slot(context: NodeContext, leaf: Leaf, tree: str) -> str:
    """The key of a step that works in a slot: what it starts from is part of what it is."""
    return context.key(leaf.input, {"tree": tree})


def tree_now(run_context: RunContext, base: str | None) -> str:
    """The tree that a slot would start from now; taken once in a session of explaining. It blocks."""
    trees: dict[str | None, str] = run_context.shared.setdefault("trees", {})
    if base not in trees:
        trees[base] = snapshot_now(Path(run_context.project), run_context.settings, base).tree
    return trees[base]


async def in_slot(context: NodeContext) -> Record:
    """Run a leaf step in a slot; without one it fails, with the kind `workspace`.

    Passes on ExpressionError: a field cannot be evaluated.
    """
    leaf = prepare(context)
    lanes = None if leaf.lanes is None else (*leaf.lanes, SLOTS)
    failed: WorkspaceError | None = None
    try:
        async with (await workspaces(context.run_context)).using(base_of(context)) as workspace:
            work = _Work(context, workspace)
            leaf = replace(leaf, work=work, lanes=lanes)
            return await do_leaf(context, leaf, key_in_slot(context, leaf, workspace.snapshot.tree))
    except WorkspaceError as failure:
        failed = failure
    said = str(failed)

    async def refused(_: int) -> Outcome:
        return Outcome(Status.FAILED, error=said, kind="workspace", input=leaf.input)

    return await do_leaf(context, replace(leaf, work=refused, reserve={}), context.key(leaf.input))


class _Work:
    """The work of a step in a slot."""

    def __init__(self, context: NodeContext, workspace: Workspace) -> None:
        self.context, self.workspace = context, workspace

    async def __call__(self, attempt: int) -> Outcome:
        """Do it in a fresh slot, and keep what it made however it ended."""
        try:
            async with self.workspace.lease() as slot:
                return await self._work(slot, attempt)
        except WorkspaceError as failure:
            return Outcome(Status.FAILED, error=str(failure), kind=getattr(failure, "kind", "workspace"))

    async def _work(self, slot: Slot, attempt: int) -> Outcome:
        context = replace(self.context, run_context=self._moved(slot))
        top = context.run_context.project
        folder = working_directory(context)
        if not _is_inside(folder, self._top(slot)):
            error = (
                f"`cwd` {folder} lies outside of the project, where the step's slot shows nothing; take one in {top}"
            )
            return Outcome(Status.FAILED, error=error, kind="workspace")
        try:
            outcome = await prepare(context).work(attempt)
        finally:
            await slot.end_processes()
        if outcome.error is not None and _TAKEN.search(_printed(outcome)):
            outcome.error += (
                '; an address was in use: where steps use the same port, network = "private" in [tool.bakeoff.slots] '
                "gives each a loopback device of its own"
            )
        if outcome.error is not None:
            misses = await in_thread(what_to_copy, _printed(outcome), self.workspace.base)
            outcome.error += f"; it {misses}" if misses is not None else ""
        name = context.path if attempt == 1 else f"{context.path}:{attempt}"
        made = await slot.commit(name, f"step {context.path} of run {context.run.root.name}")
        outcome.output = {**outcome.output, "result": shown(made)}
        outcome.facts = {**(outcome.facts or {}), "result": made.ref, "slot": {"id": slot.id, "kind": slot.kind}}
        return outcome

    def _top(self, slot: Slot) -> str:
        """The slot's top as the step sees it: code in this process sees it from outside."""
        return slot.path if self.context.step.type in BY_COMMAND else str(slot.outside)

    def _moved(self, slot: Slot) -> RunContext:
        """The setting with the slot in the place of the project."""
        run_context, top = self.context.run_context, self._top(slot)
        root = os.path.realpath(self.workspace.base.project.root)

        def moved(path: str) -> str:
            real = os.path.realpath(path)
            return os.path.normpath(os.path.join(top, os.path.relpath(real, root))) if _is_inside(real, root) else path

        return replace(
            run_context,
            project=moved(run_context.project),
            slot=str(slot.outside),
            cwd=None if run_context.cwd is None else moved(run_context.cwd),
            processes=InSlot(slot, run_context.processes, run_context.settings.slots.network == "private"),
        )


def _printed(outcome: Outcome) -> str:
    """Output that its command printed, as far as that is not in a file."""
    return "\n".join(text for name in ("stdout", "stderr") if isinstance(text := outcome.output.get(name), str))


def _is_inside(path: str, folder: str) -> bool:
    return os.path.normpath(path) == folder or os.path.normpath(path).startswith(f"{folder}/")


def shown(made: Result) -> dict[str, Any]:
    """A result as a step's output has it."""
    return {
        "commit": made.commit,
        "tree": made.tree,
        "ref": made.ref,
        "base": made.base,
        "changed": bool(made.changed),
        "files": [asdict(change) for change in made.changed[:MOST_FILES]],
        "left_out": [f"{path.path}: {path.reason}" for path in made.refused],
    }
