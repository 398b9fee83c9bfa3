"""Runs workflow texts in process, in a project of their own; what tests of behaviour stand on."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from bakeoff.engine.events import Event, Events
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.report.normalise import normalised
from bakeoff.report.state import run_state
from bakeoff.workflow.session import WorkflowOptions, resume, start

HEAD = 'schema_version: "1.0"\nworkflow: {id: flow, name: Flow, version: 1.0.0}\n'
NOTE = 'echo "$BAKEOFF_NODE" >> trace'
"""A command that says in the project's `trace` which node runs it."""


class Flow:
    """One project folder and the last run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = RunStore(root)
        self.folder: RunFolder | None = None
        self.events: list[Event] = []
        self.ending: Ending | None = None

    def write(self, text: str, name: str = "flow.yml") -> Path:
        """Write a workflow file; one that has no header gets one."""
        text = textwrap.dedent(text)
        path = self.root / name
        path.write_text(text if "workflow:" in text.split("steps:")[0] else HEAD + text)
        return path

    def start(self, text: str | Path, inputs: dict[str, Any] | None = None, **run_options: Any) -> Ending:
        path = text if isinstance(text, Path) else self.write(text)
        run_id = run_options.pop("run_id", None)
        beside = run_options.pop("beside", None)
        made = self._conditions(run_options)
        return self._run(lambda: start(self.store, path, inputs or {}, run_id, made), beside)

    def resume(self, inputs: dict[str, Any] | None = None, **run_options: Any) -> Ending:
        assert self.folder is not None
        run_id = self.folder.id
        beside, edit = run_options.pop("beside", None), run_options.pop("edit", None)
        made = self._conditions(run_options)
        return self._run(lambda: resume(self.store, run_id, inputs or {}, made, edit=edit), beside)

    def _conditions(self, given: dict[str, Any]) -> WorkflowOptions:
        events = Events()
        self.events = []
        events.subscribe(self.events.append)
        if hear := given.pop("hear", None):
            events.subscribe(hear)
        return WorkflowOptions(catch_signals=False, events=events, **given)

    def _run(self, session: Callable[[], Any], beside: Callable[[], Any] | None) -> Ending:
        async def main() -> None:
            if beside is None:
                self.folder, self.ending = await session()
                return
            async with anyio.create_task_group() as group:
                group.start_soon(beside)
                self.folder, self.ending = await session()
                group.cancel_scope.cancel()

        try:
            anyio.run(main)
        except BaseExceptionGroup as group:
            raise first_failure(group) from group
        assert self.ending is not None
        return self.ending

    @property
    def state(self) -> dict[str, Any]:
        assert self.folder is not None
        return run_state(self.folder)

    @property
    def report(self) -> dict[str, Any]:
        return normalised(self.state)

    def output(self, step: str) -> dict[str, Any]:
        output: dict[str, Any] = self.state["steps"][step]["output"]
        return output

    def status(self, step: str) -> str:
        return str(self.state["steps"][step]["status"])

    def trace(self) -> list[str]:
        """Lines of the trace so far; it starts anew."""
        path = self.root / "trace"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines


def first_failure(group: BaseException) -> BaseException:
    """The failure meant for people in a group; a group with anything else is a bug and stays what it is."""
    if isinstance(group, BaseExceptionGroup):
        _, rest = group.split(BakeoffError)
        if rest is None:
            return first_failure(group.exceptions[0])
    return group
