"""Writes what was parsed, and changed, as a message again."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from . import wire
from .encoder import int_bytes
from .parser import Node
from .wire import DEFAULT, Malformed


class Writer:
    """Writes a parsed value as a message that decodes to it; numbers are given anew.

    Args:
        depth: how deep values may be nested.
    """

    def __init__(self, depth: int = DEFAULT.depth) -> None:
        self.depth = depth
        self.out: list[bytes] = [wire.VERSION]
        self.numbers: dict[int, int] = {}
        self.count = 0

    def message(self, tree: Any) -> bytes:
        """The whole of it.

        Passes on Malformed: it refers to something that is not in it.
        """
        with wire.room(self.depth):
            self.put(tree)
        return b"".join(self.out)

    def put(self, value: Any) -> None:
        """Write a value.

        Raises:
            Malformed: it refers to something that was left out.
        """
        if type(value) is not Node:
            self.out.append(_atom(value))
            return
        if value.tag == wire.AGAIN:
            if value.words[0] not in self.numbers:
                raise Malformed("a reference to what is not there")
            self.out.append(wire.AGAIN + wire.number(self.numbers[value.words[0]]))
            return
        self.out.append(value.tag)
        if value.tag in wire.NUMBERED:
            if value.number is not None:
                self.numbers[value.number] = self.count
            self.count += 1
        _WRITE[value.tag](self, value)

    def text(self, text: str) -> None:
        """Write a text without a tag."""
        data = text.encode("utf-8", "surrogatepass")
        self.out.append(wire.number(len(data)) + data)

    def items(self, items: Sequence[Any]) -> None:
        """Write how many there are, and each."""
        self.out.append(wire.number(len(items)) + wire.MIXED)
        for item in items:
            self.put(item)

    def sequence(self, node: Node) -> None:
        """Write a list, tuple or set."""
        self.items(node.parts)

    def pairs(self, node: Node) -> None:
        """Write keys, then values."""
        half = len(node.parts) // 2
        self.items(node.parts[:half])
        self.items(node.parts[half:])

    def content(self, node: Node) -> None:
        """Write bytes of a bytearray."""
        self.out.append(wire.number(len(node.parts[0])) + node.parts[0])

    def parts(self, node: Node) -> None:
        """Write the parts, and nothing besides."""
        for part in node.parts:
            self.put(part)

    def named(self, node: Node) -> None:
        """Write names, a digest, and the parts."""
        for word in node.words:
            if type(word) is bytes:
                self.out.append(word)
            else:
                self.text(word)
        self.parts(node)

    def iterator(self, node: Node) -> None:
        """Write what it gives, and what it raised."""
        self.text(node.words[0])
        self.items(node.parts[:-1])
        self.put(node.parts[-1])

    def object(self, node: Node) -> None:
        """Write class, content and attributes."""
        self.put(node.parts[0])
        self.put(node.parts[1])
        self.out.append(wire.number(len(node.words)))
        for name, part in zip(node.words, node.parts[2:], strict=True):
            self.text(name)
            self.put(part)


def _atom(value: Any) -> bytes:
    match value:
        case None:
            return wire.NONE
        case bool():
            return wire.TRUE if value else wire.FALSE
        case int():
            return int_bytes(value)
        case float():
            return wire.FLOAT + wire.DOUBLE.pack(value)
        case complex():
            return wire.COMPLEX + struct.pack("<dd", value.real, value.imag)
        case str():
            data = value.encode("utf-8", "surrogatepass")
            return wire.TEXT + wire.number(len(data)) + data
        case bytes():
            return wire.BYTES + wire.number(len(value)) + value
    return wire.ELLIPSIS if value is Ellipsis else wire.NOT_IMPLEMENTED


_WRITE: dict[bytes, Callable[[Writer, Node], None]] = {
    wire.LIST: Writer.sequence, wire.TUPLE: Writer.sequence, wire.SET: Writer.sequence, wire.FROZENSET: Writer.sequence,
    wire.DICT: Writer.pairs, wire.PAIRS: Writer.pairs, wire.BYTEARRAY: Writer.content, wire.RANGE: Writer.parts,
    wire.SLICE: Writer.parts, wire.ENUM: Writer.parts, wire.BARE: Writer.parts, wire.CLASS: Writer.named,
    wire.FUNCTION: Writer.named, wire.NAMED: Writer.named, wire.MODULE: Writer.named, wire.METHOD: Writer.named,
    wire.LISTED: Writer.named, wire.LISTED_MUTABLE: Writer.named, wire.ITERATOR: Writer.iterator,
    wire.OBJECT: Writer.object, wire.OBJECT_FIXED: Writer.object,
}  # fmt: skip
