"""Values as tagged bytes that are equal exactly when the values are: type by type, aliasing included.

`encode` and `decode` run beside code that nobody has read, in the interpreter of the user's project, which has no
bakeoff: the folder needs the standard library only, imports its parts relatively, and is loaded by its path
(`FOLDER`, under any name). `explain` and `parse` run on our side and execute nothing of a message.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .wire import DEFAULT, Incomparable, Limits, Malformed

FOLDER = os.path.dirname(os.path.abspath(__file__))

Added = Mapping[str, Mapping[str, str]]

__all__ = [
    "DEFAULT",
    "FOLDER",
    "Added",
    "Incomparable",
    "Limits",
    "Malformed",
    "counted",
    "decode",
    "encode",
    "explain",
    "neutral",
    "parse",
]


def encode(
    value: Any,
    limits: Limits = DEFAULT,
    *,
    consume: bool = True,
    unseen: frozenset[str] = frozenset(),
    read: dict[int, tuple[Any, Any]] | None = None,
    messages: bool = True,
) -> bytes:
    """The bytes that stand for a value; equal bytes mean equal values.

    Asks nothing of the value: no method of a class that Python code defined is called. What generators compute while
    they are read is the one exception.

    Args:
        value: anything.
        limits: what one message may hold.
        consume: read generators and iterators to their end (they are used up by it); else they are incomparable.
        unseen: functions and classes, as `module:qualname`, whose code does not count: those that are being changed.
            The code of all other classes of the project is a part of what their instances are. Attributes of these
            classes, too, as `module:Class.attribute`, which instances are written without.
        read: iterators that were read already: by id, each with what it gave (`instances.drained`), which is written
            for it. Those that are read now are entered, so that later messages hold them, too.
        messages: write exceptions that end iterators with what they say; else by their type alone.

    Passes on Incomparable: it holds something that has no such bytes, or too much.
    """
    from .encoder import Encoder

    return Encoder(limits, consume, unseen, _putter, read, messages).message(value)


def counted(
    value: Any, limits: Limits = DEFAULT, *, consume: bool = True, unseen: frozenset[str] = frozenset()
) -> tuple[bytes, int]:
    """The same, and how many nodes it has, as `Limits.nodes` counts them.

    Passes on Incomparable: it holds something that has no such bytes, or too much.
    """
    from .encoder import Encoder

    encoder = Encoder(limits, consume, unseen, _putter)
    return encoder.message(value), limits.nodes - encoder.nodes


def _putter(cls: type) -> Any:
    """See `instances.putter`, which a message of plain values does without."""
    from .instances import putter

    return putter(cls)


def decode(data: bytes, limits: Limits = DEFAULT, added: Added | None = None) -> Any:
    """The value that the bytes stand for. It imports the modules of its classes: only for disposable processes.

    Iterators come back as iterators over what they gave.

    Args:
        data: the message.
        limits: what it may hold.
        added: by class, as `module:qualname`: attributes that its instances get where the message has none, each with
            the expression of `self` and of names of the module that gives them their value.

    Passes on Malformed: they stand for none, or for one that cannot be made.
    """
    from .decoder import build
    from .tree import parse

    return build(parse(data, limits), added)


def parse(data: bytes, limits: Limits = DEFAULT) -> Any:
    """A message as inert values and nodes (see `tree`). Nothing of it is executed.

    Passes on Malformed: it is none.
    """
    from .tree import parse as read

    return read(data, limits)


def neutral(data: bytes) -> bytes:
    """A message with its temporary folders numbered, for comparing. See `temporary.neutral`."""
    from .temporary import neutral as numbered

    return numbered(data)


def explain(ours: bytes, theirs: bytes, limits: Limits = DEFAULT) -> str:
    """First difference of two messages, in words; empty where they are equal. Nothing of them is executed.

    Passes on Malformed: one of them is no message.
    """
    from .explaining import difference

    return "" if ours == theirs else difference(ours, theirs, limits)
