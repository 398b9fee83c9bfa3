"""A project with fake agents, and workflow files that use them."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from attempt.conftest import CallCheckpoint, Lab, lab  # noqa: F401  (the fixture)
from bakeoff.engine.history import History

HEAD = 'workflow: {id: flow, name: Flow, version: "1.0.0"}\n'


class Flow:
    """A workflow file of a user's project, and its one run."""

    def __init__(self, lab: Lab) -> None:  # noqa: F811
        self.lab = lab
        self.file = lab.place / "flow.yml"

    def write(self, text: str) -> Path:
        text = textwrap.dedent(text).lstrip()
        self.file.write_text(text if text.startswith("workflow:") else HEAD + text)
        return self.file

    def __call__(self, text: str, *args: str) -> CallCheckpoint:
        return self.lab("run", str(self.write(text)), "--run-id", "r", *args)

    def resume(self, *args: str) -> CallCheckpoint:
        return self.lab("resume", "r", *args)

    def edit(self, text: str, *args: str) -> CallCheckpoint:
        return self.lab("resume", "r", "--edit", str(self.write(text)), *args)

    @property
    def history(self) -> History:
        return self.lab.run.history()

    def step(self, path: str) -> dict[str, Any]:
        """A step as `show --json` has it."""
        found: dict[str, Any] = json.loads(self.lab("show", "r", "--json").out)["steps"][path]
        return found

    def output(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.step(path)["output"]
        return found

    def stdout(self, path: str) -> str:
        return str(self.output(path)["stdout"])


@pytest.fixture
def flow(lab: Lab) -> Flow:  # noqa: F811
    return Flow(lab)


def peak(history: History, kind: str = "") -> int:
    """The most leaves that were at work at once: each takes the lowest place that is free.

    Of one kind by the times of those that ended.
    """
    if not kind:
        return 1 + max(start.place for start in history.spans)
    spans = [(start.at, start.ended_at) for start in history.spans if start.path.endswith(kind) and start.ended_at]
    moments = sorted([(at, 1) for at, _ in spans] + [(end or 0.0, -1) for _, end in spans])
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most
