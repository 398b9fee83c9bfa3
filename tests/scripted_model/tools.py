"""Finds the shell tool among those that a request offers, and makes arguments that fit its schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NAMES = ("exec_command", "run_shell_command", "bash", "shell", "shell_command", "local_shell", "execute_command")


@dataclass(frozen=True)
class Tool:
    name: str
    schema: dict[str, Any] = field(default_factory=dict)


def shell_tool(tools: list[Tool]) -> Tool | None:
    """The first tool, in the order of `NAMES`, that runs commands."""
    by_name = {tool.name.lower(): tool for tool in reversed(tools)}
    return next((by_name[name] for name in NAMES if name in by_name), None)


def arguments(tool: Tool, command: str) -> dict[str, Any]:
    """`command` in the tool's own field, and something in each other field that it requires."""
    properties = tool.schema.get("properties") or {"command": {"type": "string"}}
    place = "cmd" if "cmd" in properties else "command"
    kinds = {
        name: str(spec.get("type", "string")).lower() for name, spec in properties.items() if isinstance(spec, dict)
    }
    found: dict[str, Any] = {place: ["bash", "-lc", command] if kinds.get(place) == "array" else command}
    fillers = {"boolean": False, "number": 1, "integer": 1, "array": [], "object": {}}
    for name in tool.schema.get("required") or ():
        found.setdefault(name, fillers.get(kinds.get(name, "string"), "scripted"))
    return found
