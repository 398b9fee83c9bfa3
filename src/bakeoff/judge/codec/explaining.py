"""Says in words where two messages differ first."""

from __future__ import annotations

import struct
from typing import Any

from . import wire
from .tree import Node, parse
from .wire import Limits

SHOWN = 60

KINDS = {
    wire.TUPLE: "tuple", wire.FROZENSET: "frozenset", wire.RANGE: "range", wire.SLICE: "slice", wire.LIST: "list",
    wire.SET: "set", wire.DICT: "dict", wire.BYTEARRAY: "bytearray", wire.CLASS: "class", wire.FUNCTION: "function",
    wire.METHOD: "method", wire.MODULE: "module", wire.BARE: "object()", wire.PAIRS: "dict",
}  # fmt: skip

FIELDS = {
    "pandas:Series": (".index", ".name", ".values", ".attrs", ".flags"),
    "pandas:DataFrame": (".index", ".columns", "", ".attrs", ".flags"),
    "pandas:MultiIndex": (".names", ".levels", ""), "pandas:Categorical": (".dtype", ".codes"),
    "pandas:CategoricalDtype": (".categories", ".ordered"), "pandas:Timestamp": ("", ".tz", ".fold"),
    "pandas:Interval": (".left", ".right", ".closed"), "pandas:offset": ("", ""), "pandas:Period": ("", ".freq"),
    **{f"pandas:{kind}Index": (".name", ".values", ".freq") for kind in (
        "", "Categorical", "Datetime", "Timedelta", "Period", "Interval",
    )},
    "pandas:RangeIndex": (".name", ".start", ".stop", ".step"), "re:Pattern": (".pattern", ".flags"),
    "re:Match": (".re", ".string", ".pos", ".endpos", ".regs", ".lastindex"),
    "xml.etree.ElementTree:Element": (".tag", ".attrib", ".text", ".tail", ""), "builtins:structseq": ("", "", ""),
    "types:GenericAlias": (".__origin__", ".__args__", ""), "_hashlib:HASH": (".name", ".digest()", "", ""),
    "numpy:ndarray": (".dtype", ".shape", "", ".flags", ""),
    "builtins:method_descriptor": (".__objclass__", ".__name__"),
}  # fmt: skip
"""Steps to the parts of what is listed, as people write them; none where the parts are the value itself."""
_NUMBERS = {
    "i1": "b",
    "u1": "B",
    "i2": "h",
    "u2": "H",
    "i4": "i",
    "u4": "I",
    "i8": "q",
    "u8": "Q",
    "f4": "f",
    "f8": "d",
}
"""Letters of `struct`, by a dtype without its order of bytes."""


def difference(expected: bytes, found: bytes, limits: Limits) -> str:
    """The first difference, as in `[2].name: int 3 instead of float 3.0`; of equal trees, that they only look alike."""
    one, other = parse(expected, limits), parse(found, limits)
    with wire.room(4 * limits.depth):
        said = _first(one, other, "")
    return said or "the bytes differ, what they say does not"


def _first(one: Any, other: Any, path: str) -> str:
    if type(one) is not Node or type(other) is not Node:
        return "" if same_atom(one, other) else _said(one, other, path)
    if one.tag != other.tag:
        return _said(one, other, path)
    if one.tag == wire.AGAIN:
        return "" if one.words == other.words else _at(path, "another object that occurred before")
    if one.tag in (wire.OBJECT, wire.OBJECT_FIXED, wire.ENUM):
        said = _class(one, other, path)
        if said:
            return said
    if one.words != other.words:
        return _words(one, other, path)
    if one.tag in (wire.SET, wire.FROZENSET):
        return _sets(one, other, path)
    if one.tag in (wire.LISTED, wire.LISTED_MUTABLE):
        told = _listed(one, other, path)
        if told is not None:
            return told
    sized = one.tag in (wire.LIST, wire.TUPLE, wire.DICT, wire.PAIRS, wire.ITERATOR)
    for step, left, right in zip(_steps(one), one.parts, other.parts, strict=False):
        said = _first(left, right, path + step)
        if said:
            return said
    if sized and len(one.parts) != len(other.parts):
        half = 2 if one.tag in (wire.DICT, wire.PAIRS) else 1
        count = len(other.parts) // half, len(one.parts) // half
        return _at(path, f"{count[0]} items instead of {count[1]}")
    return ""


def _listed(one: Node, other: Node, path: str) -> str | None:
    """Difference of what has parts with names, in words; None for what has others."""
    steps, left, right = FIELDS.get(one.words[0]), one.parts[0], other.parts[0]
    both = type(left) is Node and type(right) is Node and left.tag == right.tag == wire.TUPLE
    if steps is None or not both or not len(left.parts) == len(right.parts) <= len(steps):
        return None
    if one.words[0] == "numpy:ndarray":
        element = _element(left.parts, right.parts, path)
        if element:
            return element
    for step, mine, yours in zip(steps, left.parts, right.parts, strict=False):
        said = _first(mine, yours, path + step)
        if said:
            return said
    return ""


def _element(one: list[Any], other: list[Any], path: str) -> str:
    """The first number that two arrays of one type and shape have not in common; empty where it cannot be told."""
    dtype, shape, data = one[:3]
    letter = _NUMBERS.get(dtype[1:]) if type(dtype) is str and dtype[:1] in ("<", ">", "|") else None
    if letter is None or dtype != other[0] or type(data) is not bytes or type(other[2]) is not bytes:
        return ""
    if _first(shape, other[1], "") or data == other[2]:
        return ""
    size = struct.calcsize(letter)
    place = next((at for at in range(0, len(data), size) if data[at : at + size] != other[2][at : at + size]), 0)
    form = ("<" if dtype[0] == "|" else dtype[0]) + letter
    if not place + size <= len(data) == len(other[2]):
        return ""
    left, right = (struct.unpack_from(form, held, place)[0] for held in (data, other[2]))
    return _at(f"{path}[{place // size}]", f"{right!r} instead of {left!r}")


def _class(one: Node, other: Node, path: str) -> str:
    """Difference of two classes, in words."""
    left, right = one.parts[0], other.parts[0]
    if type(left) is not Node or type(right) is not Node:
        return _first(left, right, path)  # nothing that was encoded
    if left.words[:2] != right.words[:2]:
        return _said(one, other, path)
    if left.words != right.words:
        return _at(path, f"its class {left.words[1]} has other code")
    return ""


def _words(one: Node, other: Node, path: str) -> str:
    if one.tag in (wire.OBJECT, wire.OBJECT_FIXED):
        missing = [name for name in one.words if name not in other.words]
        more = [name for name in other.words if name not in one.words]
        said = [f"without .{name}" for name in missing] + [f"with .{name} besides" for name in more]
        return _at(path, ", ".join(said) or "attributes differ")
    if one.tag in (wire.CLASS, wire.FUNCTION) and one.words[:2] == other.words[:2]:
        return _at(path, f"{KINDS[one.tag]} {one.words[1]} has other code")
    return _said(one, other, path)


def _sets(one: Node, other: Node, path: str) -> str:
    left, right = ([_shown(part) for part in node.parts] for node in (one, other))
    missing, more = [text for text in left if text not in right], [text for text in right if text not in left]
    said = [f"without {text}" for text in missing[:2]] + [f"with {text} besides" for text in more[:2]]
    if said:
        return _at(path, f"a {KINDS[one.tag]} " + ", ".join(said))
    for left_part, right_part in zip(one.parts, other.parts, strict=False):
        found = _first(left_part, right_part, path + "{...}")
        if found:
            return found
    return "" if len(left) == len(right) else _at(path, f"{len(right)} elements instead of {len(left)}")


def _steps(node: Node) -> list[str]:
    count = len(node.parts)
    if node.tag in (wire.OBJECT, wire.OBJECT_FIXED):
        return ["", "", *(f".{name}" for name in node.words)]
    if node.tag in (wire.DICT, wire.PAIRS):
        half = count // 2
        return [f".keys()[{place}]" for place in range(half)] + [f"[{_shown(part)}]" for part in node.parts[:half]]
    if node.tag == wire.METHOD:
        return [".__self__"]
    if node.tag in (wire.LISTED, wire.LISTED_MUTABLE, wire.ENUM):
        return [""] * count
    return [f"[{place}]" for place in range(count)]


def _at(path: str, text: str) -> str:
    return f"{path}: {text}" if path else text


def _said(one: Any, other: Any, path: str) -> str:
    return _at(path, f"{described(other)} instead of {described(one)}")


def same_atom(one: Any, other: Any) -> bool:
    """Whether two values without parts are equal, type and every bit."""
    if type(one) is not type(other):
        return False
    if type(one) is float:
        return struct.pack("<d", one) == struct.pack("<d", other)
    if type(one) is complex:
        return struct.pack("<dd", one.real, one.imag) == struct.pack("<dd", other.real, other.imag)
    return bool(one == other)


def described(parsed: Any) -> str:
    """A parsed value in a few words: its type and how it looks."""
    if type(parsed) is Node:
        return _shown(parsed)
    if parsed is None or type(parsed) in (bool, type(Ellipsis), type(NotImplemented)):
        return repr(parsed)
    return f"{type(parsed).__name__} {_shown(parsed)}"


def shown(atom: Any, most: int = SHOWN) -> str:
    """A value without parts as text, in about `most` characters."""
    if type(atom) is int and atom.bit_length() > 4 * most:
        return f"of {atom.bit_length()} bits"
    text = repr(atom[: 2 * most] if type(atom) in (str, bytes) else atom)
    return text if len(text) <= most else text[: most - 3] + "..."


def _shown(parsed: Any, depth: int = 2) -> str:
    if type(parsed) is not Node:
        return shown(parsed)
    tag, words = parsed.tag, parsed.words
    if tag == wire.AGAIN:
        return "an object that occurred before"
    if tag in (wire.CLASS, wire.FUNCTION, wire.NAMED):
        return f"{KINDS.get(tag, 'object')} {words[0]}.{words[1]}"
    name = KINDS.get(tag) or (words[0].partition(":")[2] if tag in _NAMED_BY_WORD else _class_name(parsed))
    inner = ""
    if depth and parsed.parts:
        parts = parsed.parts[1:] if tag in _WITH_CLASS else parsed.parts
        parts = parts[1:] if tag in (wire.OBJECT, wire.OBJECT_FIXED) and parts[0] is None else parts
        if tag in _NAMED_BY_WORD and words[0] in FIELDS and type(parts[0]) is Node and parts[0].tag == wire.TUPLE:
            parts = parts[0].parts
        count = len(parts) // 2 if tag == wire.DICT else len(parts)
        looks = [_shown(part, depth - 1) for part in parts[:4]]
        if tag == wire.DICT:
            half = parts[count : count + 4]
            looks = [f"{key}: {_shown(part, depth - 1)}" for key, part in zip(looks, half, strict=False)]
        inner = ", ".join(looks) + (", ..." if count > 4 else "")
    elif parsed.parts:
        inner = "..."
    text = f"{name}({inner})"
    return text if len(text) <= 2 * SHOWN else text[: 2 * SHOWN - 3] + "..."


_NAMED_BY_WORD = (wire.LISTED, wire.LISTED_MUTABLE, wire.ITERATOR)
_WITH_CLASS = (wire.OBJECT, wire.OBJECT_FIXED, wire.ENUM)


def _class_name(node: Node) -> str:
    cls = node.parts[0] if node.parts else None
    if type(cls) is Node and cls.tag == wire.CLASS:
        return str(cls.words[1])
    return "object"
