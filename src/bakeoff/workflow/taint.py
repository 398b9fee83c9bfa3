"""Taint analysis: which steps' outputs hold text that nobody has read, such as an agent's; see `injection`."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable

from bakeoff.workflow.expression_nodes import Filtered, Items, Literal, Node, Path, paths
from bakeoff.workflow.names import Use
from bakeoff.workflow.tree import Entry, Scope, Tree

Steps = tuple[str | int, ...]
CallTaint = Callable[[Entry, frozenset[str]], bool]
"""Says whether a called workflow's outputs are untrusted, given the inputs that are."""

_FIXED_RECORD = frozenset({"type", "status", "kind", "attempts", "started_at", "ended_at"})
_PROCESS = frozenset({"exit_code", "timed_out", "dispatched", "interrupted", "stdout_truncated", "stderr_truncated"})
_FIXED_OUTPUT: dict[str, frozenset[str]] = {
    "shell": _PROCESS,
    "command": _PROCESS,
    "prompt": _PROCESS,
    "fan-out": frozenset({"item_count", "max_concurrency", "succeeded", "failed"}),
    "switch": frozenset({"matched_case"}),
    "gate": frozenset({"choice", "on_reject", "options", "aborted"}),
    "workflow": frozenset({"status", "aborted"}),
    "attempt": frozenset(
        {"winner", "closest", "commit", "whole", "ref", "tree", "diff", "snapshot", "reason", "score", "usage"}
    ),
    "sample": frozenset({"success", "index", "reason", "score", "usage"}),
}
# Their outputs are booleans and counts, whatever they were asked.
_NEVER = frozenset({"if", "while", "do-while", "parallel", "slot"})
_AGENTS = frozenset({"command", "prompt"})
_ASKED = frozenset({"command", "integration", "model", "options", "input", "prompt"})
"""Fields of their own that agent steps repeat in their output."""
_CLEAN_FILTERS = frozenset({"length", "contains"})
_NO_FLOW = frozenset({"max_concurrency", "show_file"})
# A record of one pass or item is called by ids and numbers, as in `loop:step:1` and `fan:template:0/inner`.
_PARTS = re.compile("[:/]")


class Taint:
    """Taint of a workflow: the steps that have untrusted output.

    Attributes:
        items: the fan-outs whose items are untrusted.
    """

    def __init__(
        self, tree: Tree, uses: list[Use], inputs: frozenset[str] = frozenset(), call: CallTaint | None = None
    ) -> None:
        self.tree, self.inputs, self.call = tree, inputs, call
        self.steps: set[Entry] = set()
        self.items: set[Entry] = set()
        self._named: dict[str, list[Entry]] = defaultdict(list)
        for entry in tree.entries:
            self._named[entry.id].append(entry)
        self.uses: dict[Entry, list[Use]] = defaultdict(list)
        self._readers: dict[Entry, list[Entry]] = defaultdict(list)
        for use in uses:
            if use.entry is not None and not use.condition:
                self.uses[use.entry].append(use)
        for entry in tree.entries:
            for source in self._sources(entry):
                self._readers[source].append(entry)
        self._spread()

    def _sources(self, entry: Entry) -> list[Entry]:
        found = [path for use in self.uses.get(entry, ()) for path in _paths(use)]
        names = [path.steps[0] for path in found if path.root == "steps" and path.steps]
        names += _waited(entry) if entry.type_name == "fan-in" else []
        known = [source for name in names if isinstance(name, str) for source in self._meant(entry.scope, name)]
        known += [source for path in found for name in _inner_names(path.steps) for source in self._any_scope(name)]
        return list(dict.fromkeys(known))

    def _meant(self, scope: Scope, name: str) -> list[Entry]:
        """The steps of which one wrote the record called `name`: one of that id, or for a composed name maybe more."""
        if _PARTS.search(name):
            return self._any_scope(name)
        source = scope.find(name)
        return [] if source is None else [source]

    def _any_scope(self, name: str) -> list[Entry]:
        """The steps a name may mean, wherever they stand: those of its last id, else of any id in it."""
        parts = _PARTS.split(name)
        last = parts[-2] if len(parts) > 1 and parts[-1].isdecimal() else parts[-1]
        return self._named.get(last) or [entry for part in parts for entry in self._named.get(part, ())]

    def _spread(self) -> None:
        queue = deque(self.tree.entries)
        while queue:
            entry = queue.popleft()
            if entry.type_name == "fan-out" and entry not in self.items and self._feeds(entry, "items"):
                self.items.add(entry)
                queue.extend(self.tree.entries[entry.order + 1 : entry.last + 1])
            if entry in self.steps or not self._becomes(entry):
                continue
            self.steps.add(entry)
            queue.extend(self._readers[entry])
            owner = entry.scope.owner
            if owner is not None:
                queue.append(owner)

    def _becomes(self, entry: Entry) -> bool:
        """Whether the step's output is untrusted, by what is known so far."""
        if self.tree.types.untrusted(entry.type_name):
            return True
        if entry.type_name in _NEVER:
            return False
        if entry.type_name == "fan-in" and any(source in self.steps for source in _waited_entries(entry)):
            return True
        if entry.type_name == "fan-out" and self._inside(entry):
            return True
        if entry.type_name == "workflow" and self.call is not None:
            return self.call(entry, self.untrusted_inputs(entry))
        return self._feeds(entry)

    def _inside(self, entry: Entry) -> bool:
        inner = self.tree.entries[entry.order + 1 : entry.last + 1]
        return any(child.scope.owner is entry and child in self.steps for child in inner)

    def _feeds(self, entry: Entry, field: str | None = None) -> bool:
        wanted = (use for use in self.uses.get(entry, ()) if use.field == field or field is None)
        return any(
            use.field not in _NO_FLOW and any(self.untrusted(block.node, entry) for block in use.template.blocks)
            for use in wanted
        )

    def untrusted_inputs(self, entry: Entry) -> frozenset[str]:
        """The inputs that a call of another workflow fills with untrusted text."""
        found = set()
        for use in self.uses.get(entry, ()):
            if use.field == "input" and any(self.untrusted(block.node, entry) for block in use.template.blocks):
                found.add(str(use.path[-1]))
        return frozenset(found)

    def untrusted(self, node: Node | None, entry: Entry | None) -> bool:
        """Whether an expression's value may hold untrusted text. `| sh` does not change that."""
        if isinstance(node, Path):
            return self._path(node.root, node.steps, entry)
        if isinstance(node, Items):
            return any(self.untrusted(part, entry) for part in node.parts)
        if not isinstance(node, Filtered) or node.name in _CLEAN_FILTERS:
            return False
        if node.name == "map" and isinstance(node.argument, Literal) and isinstance(node.part, Path):
            path = node.part
            if path.steps[-1:] == ("results",) or path.steps[-2:-1] == ("results",):
                return self._path(path.root, (*path.steps, 0, *str(node.argument.value).split(".")), entry)
        return self.untrusted(node.part, entry) or (node.argument is not None and self.untrusted(node.argument, entry))

    def _path(self, root: str, steps: Steps, entry: Entry | None) -> bool:
        scope = entry.scope if entry else self.tree.scope
        if root == "inputs":
            return bool(self.inputs) and (not steps or steps[0] in self.inputs)
        if root == "steps":
            return self._of_steps(scope, steps)
        if root == "item":
            return scope.owner in self.items
        if root == "parent_item":
            return scope.owner is not None and scope.owner.scope.owner in self.items
        if root == "fan_in" and entry is not None and entry.type_name == "fan-in":
            inner = any(self._inner(steps[at:]) for at in _inner_places(steps))
            return inner or self._gathered(entry, steps[1:])
        return False

    def _of_steps(self, scope: Scope, steps: Steps) -> bool:
        if not steps or not isinstance(steps[0], str):
            return bool(self.steps)
        if any(self._inner(steps[at:]) for at in _inner_places(steps)):
            return True
        return any(self._record(source, steps[1:]) for source in self._meant(scope, steps[0]))

    def _inner(self, steps: Steps) -> bool:
        """Whether what stands at `steps` in the `steps` of an item's result is untrusted: also those around it."""
        if not steps or not isinstance(steps[0], str):
            return bool(self.steps)
        return any(self._record(source, steps[1:]) for source in self._any_scope(steps[0]))

    def _record(self, source: Entry, steps: Steps) -> bool:
        if source not in self.steps or (steps and steps[0] in _FIXED_RECORD):
            return False
        if steps and steps[0] in _ASKED and source.type_name in _AGENTS:
            return _asked(source, steps[0])
        return self._output(source, steps[1:]) if steps and steps[0] == "output" else True

    def _output(self, source: Entry, steps: Steps) -> bool:
        if source not in self.steps:
            return False
        if not steps:
            return True
        if steps[0] in _FIXED_OUTPUT.get(source.type_name, ()):
            return False
        if steps[0] in _ASKED and source.type_name in _AGENTS:
            return _asked(source, steps[0])
        if steps[0] == "results" and len(steps) > 1:
            if source.type_name == "fan-out":
                return self._result(source, steps[2:])
            more = source.raw.get("output")
            if source.type_name == "fan-in" and not (isinstance(more, dict) and "results" in more):
                return self._gathered(source, steps[1:])
        return True

    def _result(self, fan: Entry, steps: Steps) -> bool:
        """Whether what stands at `steps` of one item's result is untrusted."""
        template = self.tree.entries[fan.order + 1] if fan.last > fan.order else None
        if template is None:
            return True
        if steps[:1] == ("steps",) and len(steps) > 1:
            return self._inner(steps[1:])
        return self._output(template, steps) if steps else self._inside(fan)

    def _gathered(self, entry: Entry, steps: Steps) -> bool:
        waited = _waited_entries(entry)
        if steps and isinstance(steps[0], int) and -len(waited) <= steps[0] < len(waited):
            return self._output(waited[steps[0]], steps[1:])
        return any(source in self.steps for source in waited)


def _asked(source: Entry, field: str | int) -> bool:
    """Whether what an agent was asked holds anything but what the file says."""
    return "{{" in str(source.raw.get(str(field)))


def _paths(use: Use) -> list[Path]:
    return [path for block in use.template.blocks if block.node for path in paths(block.node)]


def _inner_places(steps: Steps) -> list[int]:
    """Indices at which, after a `results`, the names of an item's own steps begin: those behind `steps`."""
    first = steps.index("results") if "results" in steps else len(steps)
    return [at + 1 for at in range(first + 1, len(steps)) if steps[at] == "steps"]


def _inner_names(steps: Steps) -> list[str]:
    return [str(steps[at]) for at in _inner_places(steps) if at < len(steps)]


def _waited(entry: Entry) -> list[str]:
    wait_for = entry.raw.get("wait_for")
    return [name for name in wait_for if isinstance(name, str)] if isinstance(wait_for, list) else []


def _waited_entries(entry: Entry) -> list[Entry]:
    found = (entry.scope.find(name) for name in _waited(entry))
    return [source for source in found if source is not None]
