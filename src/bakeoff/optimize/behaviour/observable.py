"""Observable state: which of what the original leaves behind others than the target can see."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.source_code.python_file import PythonFile

CHANGED = "changed"
"""In place of a digest, where that is another one in each process: a state that chance has a part in."""


def common_state(
    source: bytes, qualname: str, module: str, states: Sequence[Mapping[str, str] | None]
) -> dict[str, str]:
    """State that all processes of the original leave alike, without the target's own private names.

    What each changes in its own way, as draws from a random generator do, is `CHANGED`.

    Args:
        source: the target's file.
        qualname: of the target.
        module: the name that its file is imported by.
        states: of each process, see `inside.module_state`; nothing is common where one is missing.
    """
    first = states[0]
    if first is None or any(state is None for state in states):
        return {}
    own = {f"{module}.{name}" for name in private_to(source, qualname)}
    found = {}
    for name, digest in first.items():
        others = [state.get(name) for state in states if state is not None]
        if name not in own and all(other == digest for other in others):
            found[name] = digest
        elif name not in own and all(others):
            found[name] = CHANGED
    return found


def is_as_left(expected: str, found: str) -> bool:
    """Whether a candidate leaves a state as the original does; both as `common_state` has them."""
    return bool(found) if expected == CHANGED else found == expected


def private_to(source: bytes, qualname: str) -> set[str]:
    """Private names (`_name`) of a module that nothing but the target reads.

    What they hold is the target's own affair: a candidate may do without, or keep something else there.
    """
    file = PythonFile.read(source)
    try:
        target = locate(file, qualname).node
    except TargetError:
        return set()
    inside = {id(node) for node in ast.walk(target)}
    bound = {
        node.id
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("_")
    }
    read = {
        node.id
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
    }
    return bound - read
