"""Results and arguments of calls in words, and where two of them differ; for a reader process.

Candidates wrote them: they may be numbers of a million digits, or lists in lists a thousand deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bakeoff.judge.codec import Limits, Malformed, explain
from bakeoff.judge.codec.explaining import described, same_atom, shown
from bakeoff.judge.codec.tree import Node, parse
from bakeoff.judge.codec.wire import AGAIN, ENUM, ITERATOR, LISTED, LISTED_MUTABLE, OBJECT, OBJECT_FIXED, room
from bakeoff.optimize import reasons

SHOWN = 200
WIDE = Limits(nodes=2_000_000, size=64 << 20, depth=4_000)


def results(data: bytes, sizes: Sequence[int]) -> tuple[str, str] | None:
    """The reason of the first difference between two results, and it in words; None where they are equal.

    Args:
        data: result and whole of the original's call, then of the other's.
        sizes: bytes of each.

    Raises:
        Malformed: one of them cannot be read.
    """
    expected, whole, found, other_whole = _cut(data, sizes)
    try:
        if expected and found:
            one, other = parse(expected, WIDE), parse(found, WIDE)
        else:  # an iterator: what it gave stands in the whole
            one, other = _result_in(expected, whole), _result_in(found, other_whole)
    except (IndexError, AttributeError):
        raise Malformed("no result") from None
    with room(4 * WIDE.depth):
        reason = _kind(one, other)
    if reason is None:
        return None
    said = explain(expected, found, WIDE)[: 2 * SHOWN] if expected and found else ""
    return reason, f"returned {said or described(other)[:SHOWN] + ' instead of ' + described(one)[:SHOWN]}"


def difference(data: bytes, sizes: Sequence[int]) -> str:
    """First difference of two values, in words.

    Passes on Malformed: one of them cannot be read.
    """
    expected, found = _cut(data, sizes)
    return explain(expected, found, WIDE)[: 2 * SHOWN]


def arguments(data: bytes, sizes: Sequence[int]) -> str:
    """The arguments of a call in words.

    Passes on Malformed: they cannot be read.
    """
    args, kwargs = parse(data, WIDE).parts
    half = len(kwargs.parts) // 2
    named = zip(kwargs.parts[:half], kwargs.parts[half:], strict=True)
    words = [_plain(part) for part in args.parts[:SHOWN]]
    words += [f"{name}={_plain(part)}" for name, part in list(named)[:SHOWN]]
    return f"({', '.join(words)[:SHOWN]})"


def _cut(data: bytes, sizes: Sequence[int]) -> list[bytes]:
    parts, start = [], 0
    for size in sizes:
        parts.append(data[start : start + size])
        start += size
    return parts


def _result_in(result: bytes, whole: bytes) -> Any:
    parsed = parse(result or whole, WIDE)
    return parsed if result else parsed.parts[-1]


def _kind(one: Any, other: Any) -> str | None:
    """Of which kind the first difference is."""
    if type(one) is not Node or type(other) is not Node:
        if type(one) is not type(other):
            return reasons.TYPE
        return None if same_atom(one, other) else reasons.RETURN
    if one.tag != other.tag:
        return reasons.ALIASING if AGAIN in (one.tag, other.tag) else reasons.TYPE
    if one.tag == AGAIN:
        return None if one.words == other.words else reasons.ALIASING
    if one.tag in (OBJECT, OBJECT_FIXED, ENUM) and _class_of(one) != _class_of(other):
        return reasons.TYPE
    if one.tag in (LISTED, LISTED_MUTABLE) and _dtype_of(one) != _dtype_of(other):
        return reasons.TYPE
    if one.words != other.words:
        return reasons.TYPE if one.tag in (LISTED, LISTED_MUTABLE, ITERATOR) else reasons.RETURN
    for left, right in zip(one.parts, other.parts, strict=False):
        found = _kind(left, right)
        if found is not None:
            return found
    return None if len(one.parts) == len(other.parts) else reasons.RETURN


def _dtype_of(node: Node) -> Any:
    """Element type of an array or a number of numpy."""
    content = node.parts[0]
    return content.parts[0] if node.words[0].startswith("numpy:") and type(content) is Node else None


def _class_of(node: Node) -> Any:
    cls = node.parts[0] if node.parts else None
    return cls.words[:2] if type(cls) is Node else cls


def _plain(part: Any) -> str:
    return described(part) if type(part) is Node else shown(part, most=SHOWN)
