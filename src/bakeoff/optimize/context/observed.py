"""Observed calls of the target: argument types and examples, as the tests make them. Nothing of them is executed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.judge.codec import Limits, Malformed, parse, wire
from bakeoff.judge.codec.explaining import described
from bakeoff.judge.codec.tree import Node
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded
from bakeoff.optimize.source_code.definitions import Function, locate

MOST_CALLS = 200
"""Calls that are looked at."""
MOST_EXAMPLES = 8
MOST_TESTS = 30
"""Names of tests that are told."""
MOST_KINDS = 4
"""Types of one argument beyond which nothing is said of it."""
_LIMITS = Limits(nodes=200_000, size=4 << 20)

_NAMES = {
    wire.LIST: "list", wire.TUPLE: "tuple", wire.SET: "set", wire.FROZENSET: "frozenset", wire.DICT: "dict",
    wire.BYTEARRAY: "bytearray", wire.RANGE: "range", wire.SLICE: "slice", wire.FUNCTION: "function",
    wire.METHOD: "function", wire.CLASS: "type", wire.MODULE: "module", wire.BARE: "object",
}  # fmt: skip
_CONTAINERS = frozenset({wire.LIST, wire.TUPLE, wire.SET, wire.FROZENSET, wire.DICT})
_LONG_TUPLE = 1_000
_CLASSED = frozenset({wire.OBJECT, wire.OBJECT_FIXED, wire.ENUM})


@dataclass(frozen=True, slots=True)
class Observed:
    """Types and examples out of recorded calls.

    Attributes:
        types: of each parameter that something is known of.
        tests: names of tests and examples of calls, as text.
    """

    types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tests: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return {"types": {name: list(seen) for name, seen in self.types.items()}, "tests": self.tests}

    @classmethod
    def from_json(cls, kept: Any) -> Observed:
        """Observed calls out of what `to_json` gave."""
        return cls({name: tuple(seen) for name, seen in kept["types"].items()}, kept["tests"])


def observed(baseline: Baseline) -> Observed:
    """Observed calls of a baseline; blocks for a moment."""
    node = locate(baseline.source, baseline.target.qualname).node
    recorded = [call for call in baseline.recorded if not call.derived]
    calls = [found for call in recorded[:MOST_CALLS] if (found := _arguments(call.before)) is not None]
    tests = [*baseline.tests, *baseline.in_process]
    lines = [f"- {test}" for test in tests[:MOST_TESTS]]
    if len(tests) > MOST_TESTS:
        lines.append(f"- and {len(tests) - MOST_TESTS} more")
    lines += ["", "Calls that were seen:", *_examples(baseline.target.qualname, recorded)]
    return Observed(_types(node, calls), "\n".join(lines))


def _arguments(message: bytes) -> tuple[list[Any], dict[str, Any]] | None:
    """Positional and named arguments of an encoded call, as inert values."""
    try:
        call = parse(message, _LIMITS)
        args, kwargs = call.parts
        half = len(kwargs.parts) // 2
        return args.parts, dict(zip(kwargs.parts[:half], kwargs.parts[half:], strict=True))
    except (Malformed, AttributeError, TypeError, ValueError):
        return None


def _types(node: Function, calls: Iterable[tuple[list[Any], dict[str, Any]]]) -> dict[str, tuple[str, ...]]:
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    named = {*names, *(each.arg for each in node.args.kwonlyargs)}
    seen: dict[str, set[str]] = {}
    for args, kwargs in calls:
        for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
            if name in named:
                seen.setdefault(name, set()).add(type_of(value))
    found = {name: _known(kinds) for name, kinds in seen.items()}
    return {name: kinds for name, kinds in found.items() if 0 < len(kinds) <= MOST_KINDS}


def _known(kinds: set[str]) -> tuple[str, ...]:
    """The kinds without what is not known of them: of `list[?]` that it is a list; nothing where one is unknown."""
    if "?" in kinds:
        return ()
    vague = {_base(kind) for kind in kinds if "?" in kind}
    told = {_base(kind) if _base(kind) in vague else kind for kind in kinds}
    return tuple(sorted(_without_empty(told)))


def _base(kind: str) -> str:
    return kind.partition("[")[0]


def _without_empty(kinds: set[str]) -> set[str]:
    """`list` is what an empty one looks like, and says nothing where there is `list[int]`."""
    return {kind for kind in kinds if not any(other.startswith(f"{kind}[") for other in kinds)}


def type_of(value: Any, depth: int = 3) -> str:
    """The type of a parsed value as an annotation would name it, with `?` for what is not known."""
    if type(value) is not Node:
        return "None" if value is None else type(value).__name__
    if value.tag in _CLASSED:
        cls = value.parts[0] if value.parts else None
        return f"{cls.words[0]}.{cls.words[1]}" if type(cls) is Node and cls.tag == wire.CLASS else "?"
    if value.tag in (wire.LISTED, wire.LISTED_MUTABLE):
        return str(value.words[0]).replace(":", ".")
    if value.tag == wire.ITERATOR:
        return "iterator"
    name = _NAMES.get(value.tag, "?")
    if value.tag not in _CONTAINERS or not value.parts:
        return name
    return f"{name}[{_inner(value, depth - 1) if depth else '?'}]"


def _inner(value: Node, depth: int) -> str:
    """Element types for the brackets of a container's type."""
    parts = value.parts
    if value.tag == wire.DICT:
        half = len(parts) // 2
        return f"{_union(parts[:half], depth)}, {_union(parts[half:], depth)}"
    if value.tag != wire.TUPLE:
        return _union(parts, depth)
    kinds = [type_of(part, depth) for part in parts[:_LONG_TUPLE]]
    if len(parts) <= MOST_KINDS:
        return ", ".join(kinds)
    return f"{kinds[0]}, ..." if len(parts) <= _LONG_TUPLE and len(set(kinds)) == 1 else "?"


def _union(parts: Sequence[Any], depth: int) -> str:
    kinds = _without_empty({type_of(part, depth) for part in parts})
    return " | ".join(sorted(kinds)) if len(kinds) <= MOST_KINDS else "?"


def _examples(qualname: str, recorded: Sequence[Recorded]) -> list[str]:
    """A few calls, spread over all of them, with what came of each."""
    step = max(1, len(recorded) // MOST_EXAMPLES)
    lines = []
    for call in recorded[::step][:MOST_EXAMPLES]:
        found = _arguments(call.before)
        if found is None:
            continue
        args = [described(value) for value in found[0]]
        args += [f"{name}={described(value)}" for name, value in found[1].items()]
        lines.append(f"- {qualname}({', '.join(args)}) {_result(call)}")
    return lines


def _result(call: Recorded) -> str:
    expected = call.expected
    if expected.kind == "raise":
        return f"raises {expected.type}"
    try:
        return f"returns {described(parse(expected.result, _LIMITS))}"
    except Malformed:
        return f"returns {expected.type or 'something'}"
