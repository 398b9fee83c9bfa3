"""Side effects on state that is not given: globals of the project's modules, environment, working folder, and alike.

A digest of each is taken when the candidate is loaded, and once more when the last call was made.
"""

from __future__ import annotations

import decimal
import hashlib
import os
import random
import sys
import threading
import types
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

MAPPINGS = (dict, defaultdict, OrderedDict, Counter)
SEQUENCES = (list, tuple, set, frozenset, deque)
CONTAINERS = (list, set, deque, bytearray, *MAPPINGS)
PLAIN = (int, float, complex, bool, str, bytes, type(None), tuple, frozenset)
MOST, BYTES = 1000, 32 << 20
"""Values that are looked at, and bytes of them all."""
DEEP, LONG = 8, 100_000
"""Containers inside of each other that are looked into, and items of one; of others the length counts."""


class ModuleState:
    """State around a target as it is when this is made.

    Args:
        module: of the target.
        is_ours: whether a file belongs to the project.
        encode: bytes of a value, without using iterators up.
        failures: what `encode` raises where there are none.
    """

    def __init__(
        self,
        module: types.ModuleType,
        is_ours: Callable[[str], bool],
        encode: Callable[[Any], bytes],
        failures: tuple[type[BaseException], ...],
    ) -> None:
        self.encode = encode
        self.failures = failures
        self.own = module.__name__
        package = module.__name__.partition(".")[0]
        self.modules = [
            each
            for name, each in sorted(sys.modules.items())
            if name.partition(".")[0] == package and is_ours(str(getattr(each, "__file__", None) or ""))
        ]
        self.before = self._digests()

    def after(self) -> dict[str, str]:
        """What was there before, by name: a digest of what is other now, empty text for what is as it was."""
        now = self._digests()
        return {name: "" if now.get(name) == digest else now.get(name, "gone") for name, digest in self.before.items()}

    def _digests(self) -> dict[str, str]:
        found: dict[str, str] = {}
        room = BYTES
        for name, value in (*_of_process(), *self._globals(CONTAINERS), *self._globals(PLAIN), *self._instances()):
            if len(found) >= MOST or room < 0:
                break
            try:
                data = self.encode(_shown(value))
            except self.failures:
                continue
            room -= len(data)
            found[name] = hashlib.blake2b(data, digest_size=8).hexdigest()
        return found

    def _globals(self, kinds: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
        """Values of these types that names of modules, and attributes of their classes, stand for."""
        for module, name, value in self._names():
            if type(value) in kinds:
                yield f"{module}.{name}", value
            elif isinstance(value, type) and value.__module__ == module:
                for inner, held in sorted(vars(value).items()):
                    # A number that a class of another module keeps for itself counts what was called there.
                    counter = type(held) is int and module != self.own and inner.startswith(f"_{name.lstrip('_')}__")
                    if type(held) in kinds and not inner.startswith("__") and not counter:
                        yield f"{module}.{name}.{inner}", held

    def _instances(self) -> Iterator[tuple[str, Any]]:
        """Attributes of instances of the module's own classes, and public ones of its functions."""
        for module, name, value in self._names():
            if type(value) is types.FunctionType and value.__module__ == module:
                held = {key: each for key, each in vars(value).items() if not key.startswith("_")}
            elif type(value).__module__ == module and hasattr(value, "__dict__"):
                held = vars(value)
            else:
                continue
            yield f"{module}.{name}.__dict__", held

    def _names(self) -> Iterator[tuple[str, str, Any]]:
        for module in self.modules:
            for name, value in sorted(vars(module).items()):
                if not name.startswith("__"):
                    yield module.__name__, name, _current(value)


def _current(value: Any) -> Any:
    """What a context variable or a thread-local object holds here and now; any other value as it is."""
    if isinstance(value, ContextVar):
        return value.get(None)
    return dict(vars(value)) if isinstance(value, threading.local) else value


def _shown(value: Any, depth: int = DEEP) -> Any:
    """The plain part of a value: of an instance its class alone.

    The code of a class may change, and what an instance computes when it is first asked is its own affair.
    """
    kind = type(value)
    if kind in (*SEQUENCES, *MAPPINGS) and (not depth or len(value) > LONG):
        return kind.__name__, len(value)
    if kind in (set, frozenset):
        return kind.__name__, sorted(repr(_shown(each, depth - 1)) for each in value)
    if kind in SEQUENCES:
        return kind.__name__, [_shown(each, depth - 1) for each in value]
    if kind in MAPPINGS:
        return kind.__name__, [(_shown(key, depth - 1), _shown(each, depth - 1)) for key, each in value.items()]
    return value if kind in (*PLAIN, bytearray) else f"{kind.__module__}.{kind.__qualname__}"


def _of_process() -> Iterator[tuple[str, Any]]:
    # The seed is another one in each process of ours.
    yield "os.environ", {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    yield "os.getcwd()", _folder()
    yield "sys.path", list(map(str, sys.path))
    yield "sys.getrecursionlimit()", sys.getrecursionlimit()
    yield "warnings.filters", list(map(repr, warnings.filters))
    yield "random.getstate()", random.getstate()
    yield "decimal.getcontext()", repr(decimal.getcontext())


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "gone"
