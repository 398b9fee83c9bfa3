"""Side effects on state that is not given: containers of the project's modules, environment, working folder, and alike.

A digest of each is taken when the candidate is loaded, and once more when the last call was made.
"""

from __future__ import annotations

import decimal
import hashlib
import os
import random
import sys
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

CONTAINERS = (list, dict, set, deque, bytearray)
MOST = 400
"""Containers that are looked at."""


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
        for name, value in (*_of_process(), *self._containers()):
            if len(found) >= MOST:
                break
            try:
                found[name] = hashlib.blake2b(self.encode(value), digest_size=8).hexdigest()
            except self.failures:
                continue
        return found

    def _containers(self) -> Iterator[tuple[str, Any]]:
        """Containers that names of modules stand for, and those of their classes."""
        for module in self.modules:
            for name, value in sorted(vars(module).items()):
                if name.startswith("__"):
                    continue
                if type(value) in CONTAINERS:
                    yield f"{module.__name__}.{name}", value
                elif isinstance(value, type) and value.__module__ == module.__name__:
                    for inner, held in sorted(vars(value).items()):
                        if type(held) in CONTAINERS and not inner.startswith("__"):
                            yield f"{module.__name__}.{name}.{inner}", held


def _of_process() -> Iterator[tuple[str, Any]]:
    yield "os.environ", dict(os.environ)
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
