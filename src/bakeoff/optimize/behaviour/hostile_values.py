"""Hostile values: what a rewrite that is right for the values seen may get wrong: other kinds, none, NaN, equal twins.

Everything works on parsed messages (`judge.codec.tree`), so that nothing of the project is imported or called.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import isnan
from typing import Any

from bakeoff.judge.codec import encode, odd, wire
from bakeoff.judge.codec.tree import Node, parse
from bakeoff.optimize.behaviour.derived_values import new_node

NAN, INFINITY, LARGE = math.nan, math.inf, 1e16
ENDLESS = (INFINITY, LARGE)
"""Numbers that a loop may count up to: as arguments they come last, since many functions never return from them."""
ITEMS = 5
"""Items that stay of a long container: the first ones and the last two."""
DEEP = 3
"""Levels of containers in each other in which items are made hostile."""
INNER = 24
"""Variants of one item that is a container itself."""


def small(value: Any, depth: int = 8) -> Any:
    """The same value with at most `ITEMS` items in each container, so that one call takes no time."""
    if type(value) is not Node or depth == 0:
        return value
    if value.tag == wire.DICT:
        keys, values = _halves(value)
        places = _kept(len(keys))
        return new_node(value.tag, [*(keys[i] for i in places), *(small(values[i], depth - 1) for i in places)], value)
    if value.tag in _SEQUENCES or value.tag in _SETS:
        return new_node(value.tag, [small(value.parts[i], depth - 1) for i in _kept(len(value.parts))], value)
    return value


def hostile(value: Any, depth: int = DEEP) -> Iterator[Any]:
    """Values that a caller may give in the place of this one; the likeliest to break a rewrite first."""
    if type(value) is not Node:
        yield from _of_atom(value)
    elif value.tag in _SEQUENCES:
        yield from _of_sequence(value, depth)
    elif value.tag == wire.DICT:
        yield from _of_dict(value, depth)
    elif value.tag in _SETS:
        yield from _of_set(value)
    elif value.tag in (wire.OBJECT, wire.OBJECT_FIXED):
        yield from _of_instance(value, depth)
    else:
        yield from (None, 0, node([]))


def breaking(value: Any) -> list[Any]:
    """The few of them that are tried together with those of other arguments: nothing there, and nothing that fits."""
    if type(value) is Node and value.tag in _SEQUENCES:
        wrong = [new_node(value.tag, [item, *value.parts[1:]]) for item in (None, "a", node({}), node([]), NAN)]
        return [new_node(value.tag, []), None, *wrong, new_node(value.tag, [*value.parts, None])]
    if type(value) is Node and value.tag == wire.DICT:
        keys, _ = _halves(value)
        return [node({}), None, new_node(wire.DICT, [*keys, *[None] * len(keys)])]
    if type(value) is Node:
        return [new_node(value.tag, []) if value.tag in _SETS else value, None]
    if type(value) is str:
        return ["", None, 0]
    return [0, None, -1, "a", NAN]


def node(value: Any) -> Any:
    """A plain value, or one of a class of the standard library, as a tree."""
    found = parse(encode(value), wire.DEFAULT)
    waiting = [found]
    while waiting:
        each = waiting.pop()
        if type(each) is Node:
            each.number = None  # nothing refers to it
            waiting.extend(each.parts)
    return found


_SEQUENCES = (wire.LIST, wire.TUPLE)
_SETS = (wire.SET, wire.FROZENSET)
_ATOMS = (None, 0, -1, 0.5, NAN, "a", True, "", *ENDLESS)
"""What is put among the items of a container."""
_STRANGE: tuple[Any, ...] = (
    [], {}, (), {1}, [None], (1, "a"), Decimal("0.5"), Fraction(1, 3), b"x", bytearray(b"x"), frozenset({1}), object,
    defaultdict(int), odd.Alike(), odd.AlikeHashed(), odd.Raising(), odd.Stopping(), odd.Once([1, 2]), odd.Text("a"),
    odd.Level.LOW,
)  # fmt: skip
"""The same: what cannot be a key, is equal to what has another hash, does something when it is looked at."""
_TWINS: tuple[list[Any], ...] = (
    [bytearray(b"x"), b"x", bytearray(b"x")], [{1}, frozenset({1}), {1}], [1, True, 1.0, odd.Level.LOW],
    [0.0, -0.0, 0, False], ["A", odd.Text("a"), "a"], [odd.Alike(), 1, "a"], [1, odd.Alike(), 2],
    [odd.AlikeHashed(), 1, 2], [1, 2, odd.AlikeHashed()], [1, odd.Raising(), 2], [odd.Raising(), 1],
    [1, odd.Stopping(), 2], [odd.Once([1, 2]), odd.Once([1])], [defaultdict(int), defaultdict(list)],
)  # fmt: skip
"""Items that are equal to one another, or do something when they are compared, in ways that no hash tells."""


def _kept(count: int) -> list[int]:
    if count <= ITEMS:
        return list(range(count))
    return [*range(ITEMS - 2), count - 2, count - 1]


def _halves(value: Node) -> tuple[list[Any], list[Any]]:
    half = len(value.parts) // 2
    return value.parts[:half], value.parts[half:]


# Atoms


def _of_atom(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield from (not value, int(value), 2, None, "a", node([]))
        case int():
            yield from (0, -1, -value, 1, 2, value + 1, value + 0.5, True, None, "a", NAN, node([]))
            yield from (
                node(Fraction(2 * value + 1, 2)),
                _as_float(value),
                -0.5,
                node(odd.Level.HIGH),
                node(odd.Alike()),
            )
        case float():
            yield from (0.0, -0.0, -value, NAN, None, "a", 1, -1, 0.1, value * 3, node(Decimal("0.1")))
            yield from (1e-320, value + 1e-9)
        case str():
            yield from ("", value.upper(), value.swapcase(), value + value, value + "\u0130\u00df", value + " \n", " ")
            yield from (value[:1], value[::-1], None, 0, value.encode("utf-8", "surrogatepass"))
            yield from (node(list(value[:ITEMS])), node(tuple(value[:ITEMS])), NAN, True, node(odd.Text(value)))
            yield from (node(odd.Alike()), node(odd.AlikeHashed()), node(odd.Raising()))
        case bytes():
            yield from (b"", value + value, value[::-1], None, 0, value.decode("latin-1"), node(bytearray(value)))
        case _:
            yield from (None, 0, 1, "a", node([]), node([1, 2]), node({}))


def _as_float(value: int) -> float:
    return float(value) if abs(value) < 1 << 1000 else LARGE


# Containers


def _of_sequence(value: Node, depth: int) -> Iterator[Any]:
    parts = value.parts

    def with_parts(items: list[Any]) -> Node:
        return new_node(value.tag, items)

    yield with_parts([])
    yield None
    yield from _other_containers(value)
    yield from map(with_parts, _more_items(parts))
    for item in _ATOMS:
        yield with_parts([*parts, item])
        yield with_parts([item, *parts])
        yield with_parts([*parts[:-1], item])
        yield with_parts([item])
        yield with_parts([item, item, *parts[1:]])
    for item in map(node, _STRANGE):
        yield with_parts([*parts, item])
        yield with_parts([item, *parts[1:]])
    for items in _TWINS:
        yield with_parts([node(each) for each in items])
    yield from (node(odd.Once([])), node(defaultdict(int)))
    if depth:
        for place in sorted({0, len(parts) - 1} & set(range(len(parts)))):
            for count, item in enumerate(hostile(parts[place], depth - 1)):
                if count >= INNER * (1 + (type(parts[place]) is Node)):
                    break
                yield with_parts([*parts[:place], item, *parts[place + 1 :]])


def _more_items(parts: list[Any]) -> Iterator[list[Any]]:
    """Lists of the same items: turned about, repeated, and of numbers that are equal, inexact or do not compare."""
    yield parts[::-1]
    yield [*parts, *parts]
    yield parts[:1]
    yield parts[:1] * 3
    yield [*parts, *parts[:1]]
    numbers = [part for part in parts if type(part) in (int, float, bool) and not isnan(part)]
    if len(numbers) == len(parts) and parts:
        exact = [_as_float(part) if type(part) is int else float(part) for part in numbers]
        yield [LARGE, 1.0, 1.0, 1.0, *exact[1:]]
        yield [INFINITY, *exact, -INFINITY, *exact]
        yield [*exact]
        yield [part + 0.1 for part in exact] + [0.1, 0.2, 0.3, 0.7]
        yield [1, True, 1.0, *numbers, *exact]
        yield [-part for part in numbers]
        yield [0.0, -0.0, 0, False, *numbers]
        yield [NAN, *exact, NAN]
        yield [0] * (len(parts) + 1)
    if len({id(part) for part in parts}) == len(parts) and all(type(part) is str for part in parts):
        yield [part.upper() for part in parts]
        yield ["", *parts, ""]


def _other_containers(value: Node) -> Iterator[Any]:
    """The same items in containers of other kinds."""
    parts = value.parts
    places = list(range(len(parts)))
    yield new_node(wire.TUPLE if value.tag == wire.LIST else wire.LIST, parts)
    yield new_node(wire.DICT, [*places, *parts])
    yield new_node(wire.DICT, [*places, *(6 * (place + 1) for place in places)])
    yield _iterator(parts)
    if all(type(part) is not Node for part in parts):
        distinct = list(dict.fromkeys(parts))
        yield new_node(wire.SET, distinct)
        yield new_node(wire.DICT, [*distinct, *range(len(distinct))])
        yield node(deque(parts))
        if all(type(part) is str for part in parts):
            yield "".join(parts)
        if all(type(part) is int and 0 <= part < 256 for part in parts):
            yield bytes(parts)
    yield node(range(len(parts)))
    yield "ab"
    yield 0


def _iterator(items: list[Any]) -> Node:
    made = Node(wire.ITERATOR, ("builtins:list_iterator",))
    made.parts = [*items, None]
    return made


def _of_dict(value: Node, depth: int) -> Iterator[Any]:
    keys, values = _halves(value)
    yield new_node(wire.DICT, [])
    yield None
    yield new_node(wire.DICT, [*keys[1:], *values[1:]])
    yield new_node(wire.DICT, [*keys[:-1], *values[:-1]])
    yield new_node(wire.DICT, [*keys[::-1], *values[::-1]])
    yield new_node(wire.LIST, [new_node(wire.TUPLE, list(pair)) for pair in zip(keys, values, strict=True)])
    yield new_node(wire.LIST, keys)
    yield new_node(wire.LIST, values)
    for item in _ATOMS:
        yield new_node(wire.DICT, [*keys, *values[:-1], item][: 2 * len(keys)])
        yield new_node(wire.DICT, [*keys, *[item] * len(keys)])
        if not any(type(key) is type(item) and key == item for key in keys):
            yield new_node(wire.DICT, [*keys, item, *values, *(values[:1] or [item])])
    for item in map(node, _STRANGE):
        yield new_node(wire.DICT, [*keys, *values[:-1], item][: 2 * len(keys)])
    if all(type(part) is not Node for part in value.parts):
        held = dict(zip(keys, values, strict=True))
        yield node(defaultdict(int, held))
        yield node(OrderedDict(held))
        if all(type(part) is int for part in values):
            yield node(Counter(held))
    if depth and keys:
        for place in sorted({0, len(keys) - 1}):
            for count, item in enumerate(hostile(values[place], depth - 1)):
                if count >= INNER:
                    break
                yield new_node(wire.DICT, [*keys, *values[:place], item, *values[place + 1 :]])


def _of_set(value: Node) -> Iterator[Any]:
    parts = value.parts
    yield new_node(value.tag, [])
    yield None
    yield new_node(wire.FROZENSET if value.tag == wire.SET else wire.SET, parts)
    yield new_node(wire.LIST, parts)
    yield new_node(wire.LIST, [*parts, *parts])
    yield new_node(wire.DICT, [*parts, *range(len(parts))])
    for item in _ATOMS:
        if item not in [part for part in parts if type(part) is not Node]:
            yield new_node(value.tag, [*parts, item])
            yield new_node(value.tag, [item])


def _of_instance(value: Node, depth: int) -> Iterator[Any]:
    """Instances of the same class, of which one attribute is hostile."""
    if not depth:
        return
    for place in range(2, len(value.parts)):
        for item in hostile(value.parts[place], depth - 1):
            yield new_node(value.tag, [*value.parts[:place], item, *value.parts[place + 1 :]], value)
