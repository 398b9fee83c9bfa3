"""A user's project in parts, a scripted agent that is told by its prompt what to do, and `bakeoff plan` run on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from attempt.conftest import CallCheckpoint, Lab, lab

__all__ = ["lab"]

AGENT = """
# What it is to do stands in its prompt, as `do: COMMAND` in a line of its own; the last one counts.
echo "$(printf '%s' "$1" | grep -o 'part: [A-Za-z0-9.-]*' | tail -1 | cut -c7-)" >> @/parts
script=$(printf '%s\\n' "$1" | sed -n 's/^ *do: //p' | tail -1)
printf '%s' "$1" > "@/prompt-$(printf '%s' "$1" | grep -o 'part: [A-Za-z0-9.-]*' | tail -1 | cut -c7-)"
PLACE=@
eval "$script"
"""


class Plans:
    """Writes plans and carries them out."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.checks: str | list[str] = "true"
        self.more: dict[str, Any] = {}

    def agent(self, more: str = "", say: str = "echo done") -> None:
        self.lab.agent(AGENT.replace("@", str(self.lab.place)), more=more, say=say)

    def part(self, name: str, do: str, **more: Any) -> dict[str, Any]:
        """A subplan whose agent runs a shell command in its slot."""
        return {"name": name, "prompt": f"part: {name}\ndo: {do}", **more}

    def write(self, subplans: list[Any], config: Mapping[str, Any] | None = None, **more: Any) -> Path:
        file = self.lab.place / "plan.yml"
        document = {
            "goal": "do it",
            "agent": "fake",
            "repair": 0,
            "sandbox": "none",
            "agent_sandbox": "none",
            "checks": self.checks,
        }
        config = {"max_reopened": 0, **(config or {})}
        file.write_text(json.dumps({**document, **self.more, **more, "config": config, "subplans": subplans}))
        return file

    def run(
        self, subplans: list[Any], *args: str, config: Mapping[str, Any] | None = None, status: int = 0, **more: Any
    ) -> Any:
        """Carry it out; what it printed as JSON."""
        self.write(subplans, config, **more)
        said = self.again("plan", "run", str(self.lab.place / "plan.yml"), "--run-id", "r", *args)
        assert said.status == status, said
        return said.json

    def again(self, *args: str) -> CallCheckpoint:
        return self.lab(*args, "--json")

    @property
    def parts(self) -> list[str]:
        """A line for each call of the agent: the part that it was asked for."""
        file = self.lab.place / "parts"
        return file.read_text().split() if file.exists() else []

    def prompt(self, name: str) -> str:
        """What a part was told last."""
        return (self.lab.place / f"prompt-{name}").read_text()

    def result(self, path: str, ref: str = "r/result") -> str:
        """A file of what the plan made."""
        return self.lab.content(self.lab.refs()[ref], path)


def states(shown: Mapping[str, Any]) -> dict[str, str]:
    """How each subplan stands."""
    return {one["name"]: "landed" if one["landed"] else one["status"] for one in shown["subplans"]}


@pytest.fixture
def plans(lab: Lab) -> Plans:
    for part in "abc":
        lab.write(f"{part}/x.txt", f"{part}\n")
    lab.write("hub.txt", "".join(f"line {number}\n" for number in range(20)))
    lab.commit("parts")
    made = Plans(lab)
    made.agent()
    return made
