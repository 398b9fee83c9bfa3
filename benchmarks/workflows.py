"""The workflow files that are measured; spec-kit runs the same ones."""

from __future__ import annotations

from collections.abc import Iterable

HEAD = """schema_version: "1.0"
workflow: {id: bench, name: bench, version: "1.0.0"}
steps:
"""


def fan_out(count: int, bound: int = 8, run: str = "true") -> str:
    """A fan-out of one shell step over the numbers from 1 to `count`."""
    return HEAD + (
        f"""  - {{id: list, type: shell, run: "seq -s, {count} | sed 's/^/[/;s/$/]/'", output_format: json}}\n"""
        f"""  - id: fan\n    type: fan-out\n    items: "{{{{ steps.list.output.data }}}}"\n"""
        f"""    max_concurrency: {bound}\n    step: {{id: it, type: shell, run: "{run}"}}\n"""
    )


def sequence(commands: Iterable[str]) -> str:
    """One shell step after the other."""
    return HEAD + "".join(
        f'  - {{id: s{number}, type: shell, run: "{command}"}}\n' for number, command in enumerate(commands)
    )
