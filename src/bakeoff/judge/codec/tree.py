"""Messages as inert trees: parsed, executing nothing of them, and written again after changes.

What cannot be changed and has no parts becomes the Python value itself; all else a `Node`. What is read is counted, so
that a small message cannot become a large tree.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from . import wire
from .wire import DEFAULT, Limits, Malformed, int_bytes


class Node:
    """A value with parts.

    Attributes:
        tag: what it is, one of `wire`'s.
        words: texts that belong to it: names of a class, of fields; a digest.
        number: its number, where it has one.
    """

    __slots__ = ("number", "parts", "tag", "words")

    def __init__(self, tag: bytes, words: tuple[Any, ...] = (), number: int | None = None) -> None:
        self.tag = tag
        self.words = words
        self.parts: list[Any] = []
        self.number = number


def parse(data: bytes, limits: Limits) -> Any:
    """The value of a message: an atom or a Node.

    Raises:
        Malformed: it is none, or holds more than is allowed.
    """
    if len(data) > limits.size + 64:
        raise Malformed(f"{len(data)} bytes, of which {limits.size} are allowed")
    reader = _Reader(data, limits)
    if reader.take(1) != wire.VERSION:
        raise Malformed("no message of this version")
    with wire.room(4 * limits.depth):
        found = reader.value()
    if reader.place != len(data):
        raise Malformed(f"{len(data) - reader.place} bytes too many")
    return found


class _Reader:
    __slots__ = ("classes", "data", "depth", "nodes", "numbered", "place")

    def __init__(self, data: bytes, limits: Limits) -> None:
        self.data = data
        self.place = 0
        self.nodes = 2 * limits.nodes  # fields and parts of listed ones are counted here only
        self.depth = 4 * limits.depth
        self.numbered = 0
        self.classes: dict[int, Node] = {}

    def take(self, count: int) -> bytes:
        place = self.place
        end = place + count
        if end > len(self.data):
            raise Malformed(f"it ends within what begins at byte {place}")
        self.place = end
        return self.data[place:end]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise Malformed(f"a number without end at byte {self.place}")

    def text(self) -> str:
        try:
            return self.take(self.number()).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise Malformed(f"no text at byte {self.place}") from None

    def count(self, number: int) -> None:
        self.nodes -= number
        if self.nodes < 0:
            raise Malformed("more nodes than are allowed")

    def value(self) -> Any:
        self.count(1)
        tag = self.take(1)
        read = _READ.get(tag)
        if read is None:
            raise Malformed(f"no tag: {tag!r} at byte {self.place - 1}")
        self.depth -= 1
        if self.depth < 0:
            raise Malformed("deeper than is allowed")
        found = read(self, tag)
        self.depth += 1
        return found

    def node(self, tag: bytes, *words: Any) -> Node:
        if tag not in wire.NUMBERED:
            return Node(tag, words)
        self.numbered += 1
        return Node(tag, words, self.numbered - 1)

    def items(self) -> list[Any]:
        count = self.number()
        form = self.take(1)
        self.count(count)
        if form == wire.MIXED:
            self.nodes += count
            return [self.value() for _ in range(count)]
        if form == wire.INTS:
            return list(struct.unpack(f"<{count}q", self.take(8 * count)))
        if form == wire.FLOATS:
            floats = list(struct.unpack(f"<{count}d", self.take(8 * count)))
            total = sum(floats)  # tells in C that there is no NaN
            return floats if total == total else [each if each == each else _same_nan(each) for each in floats]
        if form == wire.BOOLS:
            return [byte == 1 for byte in self.take(count)]
        if form == wire.TEXTS:
            sizes = struct.unpack(f"<{count}I", self.take(4 * count))
            try:
                return [self.take(size).decode("utf-8", "surrogatepass") for size in sizes]
            except UnicodeDecodeError:
                raise Malformed(f"no text at byte {self.place}") from None
        raise Malformed(f"no form of items: {form!r} at byte {self.place - 1}")


def _atom(value: Any) -> Callable[[_Reader, bytes], Any]:
    return lambda reader, tag: value


def _int(reader: _Reader, tag: bytes) -> int:
    return int.from_bytes(reader.take(reader.number()), "little", signed=True)


def _float(reader: _Reader, tag: bytes) -> float:
    found: float = wire.DOUBLE.unpack(reader.take(8))[0]
    return found if found == found else _same_nan(found)


_NANS: dict[bytes, float] = {}


def _same_nan(value: float) -> float:
    """The same object for each NaN of the same bits: it is found in a container that holds it, as `in` asks identity.

    Programs mostly have one, such as `math.nan`, and of what comes in a message nobody knows any more which it was.
    """
    return _NANS.setdefault(wire.DOUBLE.pack(value), value)


def _complex(reader: _Reader, tag: bytes) -> complex:
    return complex(*struct.unpack("<dd", reader.take(16)))


def _text(reader: _Reader, tag: bytes) -> str:
    return reader.text()


def _bytes(reader: _Reader, tag: bytes) -> bytes:
    return reader.take(reader.number())


def _bytearray(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag)
    node.parts = [reader.take(reader.number())]
    return node


def _items(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag)
    node.parts = reader.items()
    return node


def _pairs(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag)
    keys = reader.items()
    values = reader.items()
    if len(keys) != len(values):
        raise Malformed("keys without values")
    node.parts = [*keys, *values]
    return node


def _values(count: int) -> Callable[[_Reader, bytes], Node]:
    def read(reader: _Reader, tag: bytes) -> Node:
        node = reader.node(tag)
        node.parts = [reader.value() for _ in range(count)]
        return node

    return read


def _named(reader: _Reader, tag: bytes) -> Node:
    return reader.node(tag, reader.text(), reader.text())


def _coded(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag, reader.text(), reader.text(), reader.take(8))
    if node.number is not None:
        reader.classes[node.number] = node
    return node


def _method(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag, reader.text())
    node.parts = [reader.value()]
    return node


def _module(reader: _Reader, tag: bytes) -> Node:
    return reader.node(tag, reader.text())


def _iterator(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag)
    node.words = (reader.text(),)
    node.parts = [*reader.items(), reader.value()]
    return node


def _object(reader: _Reader, tag: bytes) -> Node:
    node = reader.node(tag)
    node.parts = [reader.value(), reader.value()]
    names = []
    for _ in range(reader.number()):
        names.append(reader.text())
        node.parts.append(reader.value())
    node.words = tuple(names)
    return node


def _again(reader: _Reader, tag: bytes) -> Node:
    number = reader.number()
    if number >= reader.numbered:
        raise Malformed(f"a reference to what never came, before byte {reader.place}")
    return reader.classes.get(number) or Node(tag, (number,))


_READ: dict[bytes, Callable[[_Reader, bytes], Any]] = {
    wire.NONE: _atom(None), wire.TRUE: _atom(True), wire.FALSE: _atom(False), wire.ELLIPSIS: _atom(Ellipsis),
    wire.NOT_IMPLEMENTED: _atom(NotImplemented), wire.INT: _int, wire.FLOAT: _float, wire.COMPLEX: _complex,
    wire.TEXT: _text, wire.BYTES: _bytes, wire.BYTEARRAY: _bytearray, wire.TUPLE: _items, wire.LIST: _items,
    wire.SET: _items, wire.FROZENSET: _items, wire.DICT: _pairs, wire.PAIRS: _pairs, wire.RANGE: _values(3),
    wire.SLICE: _values(3), wire.CLASS: _coded, wire.FUNCTION: _coded, wire.METHOD: _method, wire.MODULE: _module,
    wire.BARE: _values(0), wire.NAMED: _named, wire.ENUM: _values(3), wire.LISTED: _method,
    wire.LISTED_MUTABLE: _method, wire.ITERATOR: _iterator, wire.OBJECT: _object, wire.OBJECT_FIXED: _object,
    wire.AGAIN: _again,
}  # fmt: skip


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
            self.out.append(_plain(value))
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


def _plain(value: Any) -> bytes:
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
