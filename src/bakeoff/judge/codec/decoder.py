"""Makes values out of what was parsed, in a process that may come to harm: modules are imported, classes instantiated.

Instances are made without `__init__`: what they hold is put into them.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from . import wire
from .arrays import DTYPE, FUNCTION, SCALAR
from .classes import dictionary_of, digest, function_digest, mro_of, name_of, native_base, slots_of
from .instances import SAID, isinstance_of, named_rule
from .language import GENERAL
from .library import LISTED, imported
from .local import is_local, local_class, local_function, nameless_class
from .pandas_values import OFFSET, ZONE
from .tree import Node
from .wire import Malformed


def build(parsed: Any, added: Mapping[str, Mapping[str, str]] | None = None) -> Any:
    """The value; `added` as in `decode`.

    Passes on Malformed: it cannot be made here.
    """
    with wire.room(10_000):
        return _Builder(added or {}).value(parsed)


class _Builder:
    __slots__ = ("added", "made")

    def __init__(self, added: Mapping[str, Mapping[str, str]]) -> None:
        self.added = added
        self.made: dict[int, Any] = {}

    def value(self, parsed: Any) -> Any:
        if type(parsed) is not Node:
            return parsed
        try:
            return _BUILD[parsed.tag](self, parsed)
        except (Malformed, RecursionError):
            raise
        except Exception as failure:
            raise Malformed(f"a value cannot be made: {type(failure).__name__}: {failure}") from failure

    def values(self, parsed: list[Any]) -> list[Any]:
        if Node not in set(map(type, parsed)):
            return parsed[:]
        return [self.value(part) for part in parsed]

    def note(self, node: Node, value: Any) -> Any:
        if node.number is not None:
            self.made[node.number] = value
        return value

    def again(self, node: Node) -> Any:
        number = node.words[0]
        if number not in self.made:
            raise Malformed("a value that holds itself, of a class whose instances are made whole")
        return self.made[number]

    def list(self, node: Node) -> list[Any]:
        made: list[Any] = self.note(node, [])
        made.extend(self.values(node.parts))
        return made

    def set(self, node: Node) -> set[Any]:
        made: set[Any] = self.note(node, set())
        made.update(self.values(node.parts))
        return made

    def dictionary(self, node: Node) -> dict[Any, Any]:
        made: dict[Any, Any] = self.note(node, {})
        made.update(self.pairs(node))
        return made

    def pairs(self, node: Node) -> dict[Any, Any]:
        half = len(node.parts) // 2
        keys = self.values(node.parts[:half])
        return dict(zip(keys, self.values(node.parts[half:]), strict=True))

    def cls(self, node: Node) -> Any:
        module, qualname, _ = node.words
        if module == "builtins" and "." not in qualname:
            known = _UNNAMED.get(qualname)
            if known is not None:
                return self.note(node, known)
        if is_local(qualname):
            found = local_class(f"{module}:{qualname}")
            if node.words[2] not in (bytes(8), digest(found)):
                raise Malformed(f"{module}:{qualname} is another class here")
            return self.note(node, found)
        try:
            return self.note(node, imported(f"{module}:{qualname}"))
        except Malformed:
            alike = nameless_class(module, qualname, node.words[2], digest)
            if alike is None:
                raise
            return self.note(node, alike)

    def enum(self, node: Node) -> Any:
        cls, name, value = self.values(node.parts)
        members = cls.__members__
        return members[name] if name in members else cls(value)

    def listed(self, node: Node) -> Any:
        rule = LISTED.get(node.words[0]) or _RULES.get(node.words[0])
        if rule is None or rule.make is None:
            raise Malformed(f"there is no way back to {node.words[0]}")
        value = self.value(node.parts[0])
        nameless = node.words[0] in _RULES or node.words[0].startswith(("builtins:", "_thread:"))
        cls = None if nameless else imported(node.words[0])
        return self.note(node, rule.make(cls, value))

    def iterator(self, node: Node) -> Any:
        items = self.values(node.parts[:-1])
        failure = self.value(node.parts[-1])
        return self.note(node, iter(items) if failure is None else _failing(items, failure))

    def object(self, node: Node) -> Any:
        cls = self.value(node.parts[0])
        base = native_base(cls)
        made = self.note(node, object.__new__(cls)) if base is None else self.instance(node, cls, base)
        _fill(made, cls, dict(zip(node.words, self.values(node.parts[2:]), strict=True)))
        if self.added:
            self.complete(made, cls, node.words)
        return made

    def complete(self, made: Any, cls: Any, given: Sequence[str]) -> None:
        """Set the attributes that were added to its class, and that the message does not have."""
        held = dictionary_of(cls)
        for base in mro_of(cls):
            module, qualname = name_of(base)
            slots = slots_of(base)
            for name, text in self.added.get(f"{module}:{qualname}", {}).items():
                if not text or name in given:
                    continue
                names = sys.modules[module].__dict__
                try:
                    value = eval(_compiled(text), names, {"self": made})  # noqa: S307 - the candidate's own
                except AttributeError:  # it is still being made
                    continue
                # Evaluated in the original's class, too, which has no place: inputs take as long to make there.
                if name in slots:
                    slots[name].__set__(made, value)
                elif held is not None:
                    held.__get__(made)[name] = value

    def instance(self, node: Node, cls: Any, base: Any) -> Any:
        """One whose class has a C part, with what that holds."""
        content = node.parts[1]
        if base in _FILLED:
            made = self.note(node, base.__new__(cls))
            if base is dict:
                dict.update(made, self.pairs(content))
            elif base is set:
                set.update(made, self.values(content.parts))
            else:
                list.extend(made, self.values(content.parts))
            return made
        if BaseException in mro_of(base):
            args, *more = self.values(content.parts)
            made = self.note(node, base.__new__(cls, *args))
            try:
                base.__init__(made, *args)  # only this sets what the C part holds besides, as `errno`
            except (TypeError, ValueError, LookupError, AttributeError):  # its own class gave it other arguments
                pass
            BaseException.args.__set__(made, args)  # type: ignore[attr-defined]
            for member, part in zip(_said(made), more, strict=True):
                if member.__get__(made) is not part:  # a second file that is set to None is shown as one
                    member.__set__(made, part)
            return made
        rule = named_rule(base, *name_of(base))
        if rule is not None and rule.make is not None:
            return self.note(node, rule.make(cls, self.value(content)))
        parts = self.values(content.parts) if base in (tuple, frozenset) else self.value(content)
        if base is bytearray:
            made = bytearray.__new__(cls)
            bytearray.extend(made, parts)
            return self.note(node, made)
        return self.note(node, base.__new__(cls, parts))

    def bare(self, node: Node) -> Any:
        return self.note(node, object())


def _fill(made: Any, cls: Any, state: dict[str, Any]) -> None:
    """Give an instance its attributes.

    Raises:
        Malformed: its class has no place for one of them.
    """
    for name, slot in slots_of(cls).items():
        if name in state:
            slot.__set__(made, state.pop(name))
    if state:
        held = dictionary_of(cls)
        if held is None:
            raise Malformed(f"{cls!r} has no attributes {', '.join(state)}")
        held.__get__(made).update(state)


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> types.CodeType:
    return compile(text, "<added attribute>", "eval")


_FILLED = (list, set, dict)
_UNNAMED = {"NoneType": type(None), "ellipsis": type(Ellipsis), "NotImplementedType": type(NotImplemented)}


def _said(made: BaseException) -> list[Any]:
    return [member for member in SAID if isinstance_of(made, member.__objclass__)]


def _failing(items: list[Any], failure: BaseException) -> Any:
    yield from items
    raise failure


def _function(builder: _Builder, node: Node) -> Any:
    module, qualname, digest_of = node.words
    if is_local(qualname):
        return local_function(f"{module}:{qualname}", digest_of, function_digest)
    return imported(f"{module}:{qualname}")


_RULES = {rule.name: rule for rule in (SCALAR, DTYPE, FUNCTION, OFFSET, ZONE, *GENERAL)}
"""Rules of classes that have many names."""


def _module(builder: _Builder, node: Node) -> Any:
    from importlib import import_module

    import_module(node.words[0])
    return sys.modules[node.words[0]]


_BUILD: dict[bytes, Any] = {
    wire.LIST: _Builder.list, wire.SET: _Builder.set, wire.DICT: _Builder.dictionary, wire.AGAIN: _Builder.again,
    wire.TUPLE: lambda builder, node: tuple(builder.values(node.parts)),
    wire.FROZENSET: lambda builder, node: frozenset(builder.values(node.parts)),
    wire.RANGE: lambda builder, node: range(*builder.values(node.parts)),
    wire.SLICE: lambda builder, node: slice(*builder.values(node.parts)),
    wire.BYTEARRAY: lambda builder, node: builder.note(node, bytearray(node.parts[0])),
    wire.CLASS: _Builder.cls, wire.ENUM: _Builder.enum, wire.MODULE: _module, wire.BARE: _Builder.bare,
    wire.FUNCTION: _function,
    wire.NAMED: lambda builder, node: imported("{}:{}".format(*node.words)),
    wire.METHOD: lambda builder, node: getattr(builder.value(node.parts[0]), node.words[0]),
    wire.LISTED: _Builder.listed, wire.LISTED_MUTABLE: _Builder.listed, wire.ITERATOR: _Builder.iterator,
    wire.OBJECT: _Builder.object, wire.OBJECT_FIXED: _Builder.object,
}  # fmt: skip
