"""Cross-call state: what modules hold in names, containers and caches, so that what a call leaves there is seen."""

from __future__ import annotations

import collections
import contextvars
import functools
import sys
import threading
import types
from operator import is_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

CACHE = type(functools.lru_cache(lambda: None))
CONTAINERS: tuple[Any, ...] = (dict, list, set, collections.deque, bytearray)
DEEPEST, MOST, SMALL = 6, 4000, 64
"""How deep, at how many objects, and into how large containers it is looked."""
CACHES = frozenset({
    "re._cache", "re._cache2", "_strptime._regex_cache", "linecache.cache", "sys.modules", "sys.path_importer_cache",
})  # fmt: skip
"""Containers of the library that grow for everybody who uses it."""
OURS = "_bakeoff"
"""What names of modules begin with that measure."""


class State:
    """State of modules at one moment.

    Attributes:
        sizes: by name, the items of each container, and how often each cache did not know an answer.
        values: by name, the very objects that are bound to it, or that a small container of that name holds.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.values: dict[str, list[Any]] = {}

    def changed(self, before: State) -> list[str]:
        """Names of what holds more than before, or other objects. Nothing of the project's code is called."""
        more = {name for name, size in self.sizes.items() if size > before.sizes.get(name, 0)}
        return sorted(more | {name for name, held in self.values.items() if not _same(held, before.values.get(name))})


def _same(held: list[Any], before: list[Any] | None) -> bool:
    return before is not None and len(held) == len(before) and all(map(is_, held, before))


def state(modules: Iterable[types.ModuleType]) -> State:
    """State of these modules: containers, also those of functions, classes and instances, and what names are bound to.

    Of other modules: how many names they have, and their containers, also those of their functions and classes.
    Nothing of the project's code is called.
    """
    own = {module.__name__: module for module in modules}
    found = State(_elsewhere(own))
    waiting = [(name, value, 0) for module in own.values() for name, value in _inside("", vars(module))]
    seen: set[int] = set()
    while waiting and len(seen) < MOST:
        name, value, depth = waiting.pop()
        found.values.setdefault(name, []).append(value)
        if id(value) in seen or depth > DEEPEST:
            continue
        seen.add(id(value))
        if isinstance(value, CACHE) and value.__module__ in own:
            found.sizes[name] = found.sizes.get(name, 0) + CACHE.cache_info(value).misses
        for kind in CONTAINERS:
            if isinstance(value, kind):
                found.sizes[name] = found.sizes.get(name, 0) + kind.__len__(value)
        waiting += [(inner, each, depth + 1) for inner, each in _parts(name, value, own)]
    return found


def _elsewhere(own: dict[str, types.ModuleType]) -> dict[str, int]:
    """Values that other modules hold: a result may be hidden in any that is there."""
    found: dict[str, int] = {}
    for module_name, module in list(sys.modules.items()):
        if type(module) is not types.ModuleType or module_name in own or module_name.startswith(OURS):
            continue
        names = module.__dict__
        found[module_name] = len(names)
        for name, value in list(names.items()):
            _count(found, f"{module_name}.{name}", value)
            if type(value) is types.FunctionType:
                inside: dict[str, Any] = value.__dict__
            elif type(value) is type:
                inside = dict(value.__dict__)
            else:
                continue
            for inner, each in inside.items():
                _count(found, f"{module_name}.{name}.{inner}", each)
    return found


def _count(found: dict[str, int], name: str, value: Any) -> None:
    if type(value) in CONTAINERS and name not in CACHES:
        found[name] = len(value)


def _parts(name: str, value: Any, own: dict[str, types.ModuleType]) -> Iterator[tuple[str, Any]]:
    """Parts of a value, with what each is called."""
    if isinstance(value, (staticmethod, classmethod)):
        yield name, value.__func__
    elif isinstance(value, property):
        yield name, value.fget
    elif isinstance(value, CACHE):
        yield name, getattr(value, "__wrapped__", None)
    elif isinstance(value, types.FunctionType):
        if value.__module__ in own:
            yield from ((name, each) for each in (value.__defaults__ or ()))
            yield from ((name, each) for each in (value.__kwdefaults__ or {}).values())
            yield from ((name, each) for each in _closed_over(value))
            yield from _inside(name, value.__dict__)
    elif isinstance(value, dict):
        yield from ((name, each) for each in (dict.values(value) if dict.__len__(value) <= SMALL else ()))
    elif isinstance(value, list):
        yield from ((name, each) for each in (list.__iter__(value) if list.__len__(value) <= SMALL else ()))
    elif isinstance(value, type):
        if value.__module__ in own:
            yield from _inside(name, dict(type.__dict__["__dict__"].__get__(value)))
    elif isinstance(value, contextvars.ContextVar):
        yield name, contextvars.ContextVar.get(value, None)
    elif not isinstance(value, types.ModuleType):
        yield from _attributes(name, value, own)


def _attributes(name: str, value: Any, own: dict[str, types.ModuleType]) -> Iterator[tuple[str, Any]]:
    """Attributes of an instance of any class, as a memo may stand in one of a library; slots of the project's."""
    find = threading.local.__getattribute__ if isinstance(value, threading.local) else object.__getattribute__
    try:
        yield from _inside(name, find(value, "__dict__"))
    except AttributeError:
        pass
    for kind in type(value).__mro__:
        for inner, member in vars(kind).items() if kind.__module__ in own else ():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield f"{name}.{inner}", member.__get__(value)
                except AttributeError:  # it is empty
                    continue


def _closed_over(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is empty
            continue


def _inside(name: str, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for inner, value in list(names.items()):
        if not (inner.startswith("__") and inner.endswith("__")):
            yield f"{name}.{inner}".lstrip("."), value
