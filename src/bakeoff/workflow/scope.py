"""Scope of an expression: inputs, the records of earlier steps, the item, loop counters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.engine.history import encode
from bakeoff.engine.record import Record


class RecordView(Mapping[str, Any]):
    """A step's record as expressions read it: `steps.ID.output.X`, `.status`, `.error`, ..."""

    __slots__ = ("record",)
    _fields = ("type", "status", "input", "output", "error", "attempts", "started_at", "ended_at", "usage")

    def __init__(self, record: Record) -> None:
        self.record = record

    def __getitem__(self, name: str) -> Any:
        if name == "output":
            return self.record.output
        if name == "status":
            return self.record.status.value
        if name in ("integration", "model", "options"):
            return self.record.output.get(name)
        if name == "input":
            return self._input()
        if name in self._fields:
            return getattr(self.record, name)
        raise KeyError(name)

    def _input(self) -> Any:
        """Input that the step was given; the arguments of a command stand beside it, where spec-kit has them."""
        given = self.record.input
        if self.record.type == "command" and isinstance(given, Mapping) and isinstance(given.get("input"), Mapping):
            return {**given, **given["input"]}
        return given

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Scope:
    """Names and records visible in one place; what is added in an inner scope is invisible outside it.

    Attributes:
        chain: digest of the keys of all that went before in this scope; a step's key builds on it.
    """

    __slots__ = ("_names", "_parent", "_records", "chain")

    def __init__(self, parent: Scope | None = None, names: Mapping[str, Any] | None = None, chain: str = "") -> None:
        self._parent = parent
        self._names: dict[str, Any] = dict(names or {})
        self._records: dict[str, RecordView] = {}
        self.chain: str = chain or (parent.chain if parent else "")

    def lookup(self, root: str) -> Any:
        """The value of a name; None when it is unknown."""
        if root == "steps":
            return StepsView(self)
        scope: Scope | None = self
        while scope is not None:
            if root in scope._names:
                return scope._names[root]
            scope = scope._parent
        return None

    def set(self, name: str, value: Any) -> None:
        """Give a name a value here."""
        self._names[name] = value

    def add(self, record: Record, *names: str) -> None:
        """Make a record visible under its path and under `names`, in place of what they named before."""
        view = RecordView(record)
        self._records[record.path] = view
        for name in names:
            self._records[name] = view

    def expect(self, record: Record, name: str) -> None:
        """Make what is known of a record visible under `name`, until the record itself is added."""
        self._records[name] = RecordView(record)

    def merge(self, inner: Scope) -> None:
        """Make visible here what an inner scope saw added."""
        self._records.update(inner._records)

    def record(self, name: str) -> RecordView | None:
        """The newest record of that name."""
        scope: Scope | None = self
        while scope is not None:
            view = scope._records.get(name)
            if view is not None:
                return view
            scope = scope._parent
        return None

    def own(self) -> Mapping[str, RecordView]:
        """The records added in this scope itself."""
        return self._records

    def follow(self, *keys: str) -> None:
        """Let what comes next depend on `keys`."""
        self.chain = digest(self.chain, *keys)


class StepsView(Mapping[str, RecordView]):
    """`steps` in an expression."""

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getitem__(self, name: str) -> RecordView:
        view = self._scope.record(name)
        if view is None:
            raise KeyError(name)
        return view

    def get(self, name: str, default: Any = None) -> Any:
        """The record of that name."""
        return self._scope.record(name) or default

    def __iter__(self) -> Iterator[str]:
        return iter(self._scope.own())

    def __len__(self) -> int:
        return len(self._scope.own())


class ItemResult(Mapping[str, Any]):
    """One of `results`: the template's output, with the item's inner records reachable as `.steps`."""

    __slots__ = ("_output", "_scope")

    def __init__(self, output: Mapping[str, Any], scope: Scope) -> None:
        self._output = output
        self._scope = scope

    def __getitem__(self, name: str) -> Any:
        if name == "steps" and name not in self._output:
            return StepsView(self._scope)
        return self._output[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._output)

    def __len__(self) -> int:
        return len(self._output)


class View(Sequence[Any]):
    """A list that is put together from what stands elsewhere, without a copy."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts

    def __getitem__(self, place: Any) -> Any:
        return self._parts[place]

    def __len__(self) -> int:
        return len(self._parts)


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of a list's steps in the run's tree: `prefix + id + suffix`."""

    prefix: str = ""
    suffix: str = ""

    def path(self, step_id: str) -> str:
        """The path of a step."""
        return f"{self.prefix}{step_id}{self.suffix}"

    @staticmethod
    def inside(path: str) -> Naming:
        """Names for steps in a private scope of the node at `path`."""
        return Naming(f"{path}/")

    @staticmethod
    def iteration(path: str, number: int) -> Naming:
        """Names for the steps of one pass of the loop at `path`."""
        return Naming(f"{path}:", f":{number}")


def digest(*parts: Any) -> str:
    """A short digest of plain values."""
    whole = hashlib.blake2b(digest_size=12)
    for part in parts:
        whole.update((part if isinstance(part, str) else encode(part)).encode("utf-8", "surrogatepass"))
        whole.update(b"\0")
    return whole.hexdigest()
