"""A project folder in which workflows are run in process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.engine.events import Event, Events
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunStore
from bakeoff.report.state import run_state
from bakeoff.workflow.explain import plan_resume, plan_run
from bakeoff.workflow.explain_walk import Row
from bakeoff.workflow.session import WorkflowOptions, resume, start

HEAD = 'workflow: {id: test, name: Test, version: "1.0.0"}\n'


class Project:
    """Runs workflow text in a folder; every command that is run can leave a line in `trace`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = RunStore(folder)
        self.events: list[Event] = []

    def write(self, text: str, name: str = "flow.yml") -> Path:
        path = self.folder / name
        path.write_text(text if text.startswith("workflow:") else HEAD + text)
        return path

    def run_options(self, **options: Any) -> WorkflowOptions:
        events = Events()
        events.subscribe(self.events.append)
        return WorkflowOptions(events=events, catch_signals=False, **options)

    async def start(self, text: str, inputs: Mapping[str, Any] | None = None, **options: Any) -> Ending:
        folder, ending = await start(self.store, self.write(text), inputs or {}, "r", self.run_options(**options))
        assert folder.id == "r"
        return ending

    async def resume(self, inputs: Mapping[str, Any] | None = None, edit: str | None = None, **options: Any) -> Ending:
        path = None if edit is None else self.write(edit, "edited.yml")
        return (await resume(self.store, "r", inputs or {}, self.run_options(**options), edit=path))[1]

    def plan(self, text: str, inputs: Mapping[str, Any] | None = None) -> list[Row]:
        return plan_run(self.store, self.write(text), inputs or {}, self.run_options())

    def explain(self, inputs: Mapping[str, Any] | None = None, edit: str | None = None) -> list[Row]:
        path = None if edit is None else self.write(edit, "edited.yml")
        return plan_resume(self.store, "r", inputs or {}, self.run_options(), path)

    def state(self) -> dict[str, Any]:
        return run_state(self.store.open("r"))

    def trace(self) -> list[str]:
        path = self.folder / "trace"
        return path.read_text().split() if path.exists() else []

    def forget(self) -> None:
        (self.folder / "trace").unlink(missing_ok=True)
