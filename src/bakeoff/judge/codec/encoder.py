"""Writes a value as a message.

What class a value has is `type(value)`; what it holds is read through the descriptors of the built-in classes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from . import wire
from .wire import MIXED, PACK, Incomparable, Limits, int_bytes, number

Put = Callable[["Encoder", Any], None]


class Encoder:
    """One message under way.

    Args:
        limits: what it may hold.
        consume: read iterators to their end.
        unseen: functions and classes, as `module:qualname`, whose code does not count, and attributes of these classes
            that do not.
        putter: how instances of a class are written that `PUT` does not have yet; it enters what it finds there.
        read: iterators that were read before, by id, each with what it gave; those that are read now are entered.
        messages: of an exception that ends an iterator, write what it says, too, and not its type alone.
    """

    __slots__ = (
        "alive",
        "ambiguous",
        "consume",
        "depth",
        "kept",
        "limits",
        "memo",
        "messages",
        "nodes",
        "out",
        "owners",
        "putter",
        "read",
        "size",
        "unseen",
    )

    def __init__(
        self,
        limits: Limits,
        consume: bool,
        unseen: frozenset[str],
        putter: Callable[[type], Put],
        read: dict[int, tuple[Any, Any]] | None = None,
        messages: bool = True,
    ) -> None:
        self.limits = limits
        self.consume = consume
        self.unseen = unseen
        self.putter = putter
        self.read = {} if read is None else read
        self.messages = messages
        self.out: list[bytes] = [wire.VERSION]
        self.memo: dict[int, int] = {}  # id of what was numbered, and its number
        self.kept: list[Any] = []  # the same, alive: else their ids could be given to others
        self.ambiguous: set[int] = set()  # numbers of what another value of the same set looks exactly like
        self.owners: dict[int, list[int]] = {}  # numbers of arrays, by the id of what owns their memory
        self.alive: list[Any] = []  # these owners
        self.nodes = limits.nodes
        self.size = limits.size
        self.depth = limits.depth

    def message(self, value: Any) -> bytes:
        """The whole of it."""
        if id(type(value)) in _FLAT:
            self.put(value)
        else:
            with wire.room(self.limits.depth):
                self.put(value)
        return b"".join(self.out)

    def put(self, value: Any) -> None:
        """Write a value.

        Raises:
            Incomparable: there are too many.
        """
        self.nodes -= 1
        if self.nodes < 0:
            raise Incomparable(f"more than {self.limits.nodes} nodes")
        put = PUT.get(id(type(value)))
        if put is None:
            put = self.putter(type(value))
        put(self, value)

    def add(self, piece: bytes) -> None:
        """Write bytes that may be many.

        Raises:
            Incomparable: they are too many.
        """
        self.size -= len(piece)
        if self.size < 0:
            raise Incomparable(f"more than {self.limits.size} bytes")
        self.out.append(piece)

    def text(self, text: str) -> None:
        """Write a text without its tag."""
        data = text.encode("utf-8", "surrogatepass")
        self.add(number(len(data)) + data)

    def begin(self, tag: bytes, value: Any) -> bool:
        """Write the tag of what has a number; False when it was written before, and its number is all there is to say.

        Raises:
            Incomparable: nobody could tell which of several equal ones of a set is meant.
        """
        known = self.memo.get(id(value))
        if known is None:
            self.memo[id(value)] = len(self.kept)
            self.kept.append(value)
            self.out.append(tag)
            return True
        if known in self.ambiguous and tag != wire.CLASS:
            raise Incomparable("reference to one of several objects of a set that look alike")
        self.out.append(wire.AGAIN + number(known))
        return False

    def deeper(self) -> None:
        """One level down; `depth` is given back by the caller.

        Raises:
            Incomparable: it is too deep.
        """
        self.depth -= 1
        if self.depth < 0:
            raise Incomparable(f"deeper than {self.limits.depth} levels")

    def below(self, step: str, value: Any) -> None:
        """Write a value one level down, `step` being the way there. Passes on Incomparable."""
        self.deeper()
        try:
            self.put(value)
        except Incomparable as failure:
            raise failure.below(step) from None
        self.depth += 1

    def items(self, items: Any) -> None:
        """Write how many there are (a list or tuple, exactly), and each.

        Raises:
            Incomparable: there are too many, or one is.
        """
        count = len(items)
        self.out.append(number(count))
        if count >= PACK:
            packed = self._packed(items, count)
            if packed is not None:
                self.nodes -= count
                if self.nodes < 0:
                    raise Incomparable(f"more than {self.limits.nodes} nodes")
                self.add(packed)
                return
        self.out.append(MIXED)
        self.deeper()
        index = 0
        try:
            for index, item in enumerate(items):  # noqa: B007 - the index is for the path
                self.put(item)
        except Incomparable as failure:
            raise failure.below(f"[{index}]") from None
        self.depth += 1

    def _packed(self, items: Any, count: int) -> bytes | None:
        kinds = set(map(id, map(type, items)))  # ids: a metaclass may have a __hash__ of its own
        if len(kinds) != 1:
            return None
        pack = _PACKED.get(kinds.pop())
        return None if pack is None else pack(items, count)

    def unordered(self, items: list[Any]) -> None:
        """Write the elements of a set, in the order of what is written for each by itself."""
        if len(items) >= PACK and self._all_plain(items):
            self.items(sorted(items))
            return
        marked = []
        for item in items:
            place, numbered, size = len(self.out), len(self.kept), self.size
            self.below("{...}", item)
            piece = b"".join(self.out[place:])
            marked.append((piece, len(self.kept) > numbered, item))
            self._undo(place, numbered)
            self.size = size  # it is written again below
        marked.sort(key=_first)
        self.out.append(number(len(items)) + MIXED)
        before, previous = None, 0
        for piece, numbering, item in marked:
            start = len(self.kept)
            if numbering:
                self.below("{...}", item)
            else:
                self.add(piece)
            if piece == before:
                self.ambiguous.update(range(previous, len(self.kept)))
            before, previous = piece, start

    def _all_plain(self, items: list[Any]) -> bool:
        kinds = set(map(id, map(type, items)))
        return len(kinds) == 1 and kinds <= _SORTED

    def _undo(self, place: int, numbered: int) -> None:
        del self.out[place:]
        for value in self.kept[numbered:]:
            del self.memo[id(value)]
        del self.kept[numbered:]

    def fields(self, values: dict[str, Any]) -> None:
        """Write names and values, by name: in which order attributes were set is nobody's business."""
        self.out.append(number(len(values)))
        self.deeper()
        name = ""
        try:
            for name in sorted(values):
                self.text(name)
                self.put(values[name])
        except Incomparable as failure:
            raise failure.below(f".{name}") from None
        self.depth += 1


def _first(marked: tuple[bytes, bool, Any]) -> bytes:
    return marked[0]


def _constant(tag: bytes) -> Put:
    def put(encoder: Encoder, value: Any) -> None:
        encoder.out.append(tag)

    return put


_SMALL = {value: int_bytes(value) for value in range(-128, 1024)}


def _int(encoder: Encoder, value: int) -> None:
    encoder.add(_SMALL.get(value) or int_bytes(value))


def _bool(encoder: Encoder, value: bool) -> None:
    encoder.out.append(wire.TRUE if value else wire.FALSE)


def _float(encoder: Encoder, value: float) -> None:
    encoder.out.append(wire.FLOAT + wire.DOUBLE.pack(value))


def _complex(encoder: Encoder, value: complex) -> None:
    encoder.out.append(wire.COMPLEX + struct.pack("<dd", value.real, value.imag))


def _text(encoder: Encoder, value: str) -> None:
    data = value.encode("utf-8", "surrogatepass")
    encoder.add(wire.TEXT + number(len(data)) + data)


def _bytes(encoder: Encoder, value: bytes) -> None:
    encoder.add(wire.BYTES + number(len(value)))
    encoder.add(value)


def _bytearray(encoder: Encoder, value: bytearray) -> None:
    if encoder.begin(wire.BYTEARRAY, value):
        encoder.add(number(len(value)))
        encoder.add(bytes(value))


def _tuple(encoder: Encoder, value: tuple[Any, ...]) -> None:
    encoder.out.append(wire.TUPLE)
    encoder.items(value)


def _list(encoder: Encoder, value: list[Any]) -> None:
    if encoder.begin(wire.LIST, value):
        encoder.items(value)


def _set(encoder: Encoder, value: set[Any]) -> None:
    if encoder.begin(wire.SET, value):
        encoder.unordered(list(value))


def _frozenset(encoder: Encoder, value: frozenset[Any]) -> None:
    encoder.out.append(wire.FROZENSET)
    encoder.unordered(list(value))


def _dict(encoder: Encoder, value: dict[Any, Any]) -> None:
    if encoder.begin(wire.DICT, value):
        put_pairs(encoder, list(value.keys()), list(value.values()))


def put_pairs(encoder: Encoder, keys: list[Any], values: list[Any]) -> None:
    """Write keys, in their order, then values.

    Raises:
        Incomparable: one of them is.
    """
    try:
        encoder.items(keys)
    except Incomparable as failure:
        raise failure.below(".keys()") from None
    try:
        encoder.items(values)
    except Incomparable as failure:
        if failure.path:
            index, _, rest = failure.path[1:].partition("]")
            key = keys[int(index)]
            shown = repr(key)[:40] if type(key) in (str, int, bool) else f"key {index}"
            failure.path = f"[{shown}]{rest}"
        raise


def _range(encoder: Encoder, value: range) -> None:
    encoder.out.append(wire.RANGE)
    for part in wire.shown_of(value):
        encoder.put(part)


def _slice(encoder: Encoder, value: slice) -> None:
    encoder.out.append(wire.SLICE)
    for name in ("start", "stop", "step"):
        encoder.below(f".{name}", getattr(value, name))


def _pack_ints(items: Any, count: int) -> bytes | None:
    try:
        return wire.INTS + struct.pack(f"<{count}q", *items)
    except struct.error:
        return None


def _pack_floats(items: Any, count: int) -> bytes | None:
    return wire.FLOATS + struct.pack(f"<{count}d", *items)


def _pack_bools(items: Any, count: int) -> bytes | None:
    return wire.BOOLS + bytes(items)


def _pack_texts(items: Any, count: int) -> bytes | None:
    pieces = [item.encode("utf-8", "surrogatepass") for item in items]
    return wire.TEXTS + struct.pack(f"<{count}I", *map(len, pieces)) + b"".join(pieces)


_PACKED: dict[int, Callable[[Any, int], bytes | None]] = {
    id(int): _pack_ints, id(float): _pack_floats, id(bool): _pack_bools, id(str): _pack_texts,
}  # fmt: skip
_FLAT = frozenset(map(id, (type(None), bool, int, float, complex, str, bytes, bytearray)))
_SORTED = frozenset((id(int), id(str), id(bytes)))

PUT: dict[int, Put] = {
    id(type(None)): _constant(wire.NONE), id(type(Ellipsis)): _constant(wire.ELLIPSIS),
    id(type(NotImplemented)): _constant(wire.NOT_IMPLEMENTED), id(bool): _bool, id(int): _int, id(float): _float,
    id(complex): _complex, id(str): _text, id(bytes): _bytes, id(bytearray): _bytearray, id(tuple): _tuple,
    id(list): _list, id(set): _set, id(frozenset): _frozenset, id(dict): _dict, id(range): _range, id(slice): _slice,
}  # fmt: skip
"""How values are written, by the id of their class: looking up the class itself would ask its metaclass for a hash."""
