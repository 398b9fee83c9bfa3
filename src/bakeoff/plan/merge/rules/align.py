"""Alignment of two rows of siblings (a diff by nodes): equal ones, ones known by one label, and changed ones."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from bakeoff.plan.merge.rules.branches import conditions
from bakeoff.plan.merge.rules.node import Node

ALIKE = 0.6
"""Share of equal words from which two statements count as versions of one."""

NEARLY = 0.8
"""The same share for entries that refer to different things."""

MOST_PAIRS = 2500
"""Pairs of nodes that are compared for likeness at one place."""

MOST_ALIKE = 1000
"""Nodes between two anchors from which those that stand there often are left out of account."""

_WORD = re.compile(r"\w+|[^\w\s]")
_ENTRY = re.compile(r"\s*(?:[-*+•]|\.\.)\s+\S")
_REFERENCE = re.compile(r"https?://[^\s)>\]]+|[\w.+-]+@[\w-]+\.[\w.]+|:\w+:`\d+`|(?<!\w)(?:#|gh-|GH-)\d+")


def labelled(*rows: Sequence[Node]) -> set[str]:
    """Labels that stand for one node in each row that has them."""
    counts = [Counter(node.label for node in row if node.label) for row in rows]
    return {label for count in counts for label in count if all(other[label] <= 1 for other in counts)}


def aligned(base: Sequence[Node], side: Sequence[Node], names: set[str]) -> dict[int, int]:
    """The node of `side` that each of `base` has become, by their numbers; both in rising order.

    Nodes go together that have one label out of `names` or, where they have none of these, one meaning; between such
    pairs those that are alike.
    """
    keys = [[node.label if node.label in names else node.meaning for node in row] for row in (base, side)]
    found: dict[int, int] = {}
    least = min(len(base), len(side))
    start = next((at for at in range(least) if keys[0][at] != keys[1][at]), least)
    end = next((at for at in range(least - start) if keys[0][-1 - at] != keys[1][-1 - at]), least - start)
    stops = (len(base) - end, len(side) - end)
    found.update((at, at) for at in range(start))
    at = (start, start)
    for anchor in [*_anchors(keys, start, stops), stops]:
        rows = [range(begin, stop) for begin, stop in zip(at, anchor, strict=True)]
        _between(keys, rows, found)
        if anchor != stops:
            found[anchor[0]] = anchor[1]
        at = (anchor[0] + 1, anchor[1] + 1)
    found.update((stops[0] + at, stops[1] + at) for at in range(end))
    _pair_alike(base, side, found)
    return dict(sorted(found.items()))


def _anchors(keys: Sequence[Sequence[Hashable]], start: int, stops: tuple[int, int]) -> list[tuple[int, int]]:
    """Pairs of what stands once on each side, as many as keep their order (patience diff)."""
    places: list[dict[Hashable, int]] = []
    for row, stop in zip(keys, stops, strict=True):
        counts = Counter(row[start:stop])
        places.append({key: at for at, key in enumerate(row[start:stop], start) if counts[key] == 1})
    pairs = [(at, places[1][key]) for key, at in places[0].items() if key in places[1]]
    tops: list[int] = []
    links: list[tuple[int, int | None]] = []
    piles: list[int] = []
    for number, (_, other) in enumerate(pairs):
        pile = bisect_left(tops, other)
        links.append((number, piles[pile - 1] if pile else None))
        if pile == len(tops):
            tops.append(other)
            piles.append(number)
        else:
            tops[pile], piles[pile] = other, number
    chain: list[tuple[int, int]] = []
    last: int | None = piles[-1] if piles else None
    while last is not None:
        chain.append(pairs[last])
        last = links[last][1]
    return chain[::-1]


def _between(keys: Sequence[Sequence[Hashable]], rows: Sequence[range], found: dict[int, int]) -> None:
    """Pair equal keys between two anchors."""
    one, other = rows
    if not (one and other):
        return
    parts = [row[each.start : each.stop] for row, each in zip(keys, rows, strict=True)]
    matcher = SequenceMatcher(None, parts[0], parts[1], autojunk=len(one) > MOST_ALIKE)
    for begin, to, size in matcher.get_matching_blocks():
        found.update((one.start + begin + at, other.start + to + at) for at in range(size))


def _pair_alike(base: Sequence[Node], side: Sequence[Node], found: dict[int, int]) -> None:
    """Pair what is alike between two pairs, in order; statements only where as many of them are alike in both."""
    start = first = 0
    for at, now in [*sorted(found.items()), (len(base), len(side))]:
        if (at - start) * (now - first) <= MOST_PAIRS:
            rows = base[start:at], side[first:now]
            for one in range(start, at):
                for other in range(first, now):
                    if alike(base[one], side[other]) and _plain(base[one], rows):
                        found[one], first = other, other + 1
                        break
        start, first = at + 1, now + 1


def _plain(node: Node, rows: tuple[Sequence[Node], Sequence[Node]]) -> bool:
    """Whether it is plain which of several alike statements a node has become: none of them is gone or new."""
    if node.kind in ("line", "item"):
        return True
    counts = [sum(alike(node, other) for other in row) for row in rows]
    return counts[0] == counts[1]


def alike(one: Node, other: Node) -> bool:
    """Whether two nodes look like versions of one: the same head, or most words."""
    if one.kind != other.kind or (one.body is None) != (other.body is None):
        return False
    if one.label or other.label:
        return one.label == other.label
    if one.body is not None:
        if conditions(one.body) & conditions(other.body or []):
            return True
        pair = [node.heads[-1:] or node.body[0].heads[-1:] if node.body else node.heads[-1:] for node in (one, other)]
        if not all(pair):
            return not any(pair)
        return likeness(pair[0][0].text, pair[1][0].text) >= ALIKE
    if _ENTRY.match(one.text) and _ENTRY.match(other.text):
        return _alike_entries(one.text, other.text)
    return likeness(one.text, other.text) >= ALIKE


def _alike_entries(one: str, other: str) -> bool:
    """The same of two entries of a list, by their words alone: links and signs are much the same in all entries.

    Two that refer to one issue are versions of one; two that refer to different issues or addresses only if they say
    nearly the same besides.
    """
    refers = [set(_REFERENCE.findall(text)) for text in (one, other)]
    if any(re.search(r"\d", reference) for reference in refers[0] & refers[1]):
        return True
    least = NEARLY if all(refers) and not refers[0] & refers[1] else ALIKE
    words = [Counter(re.findall(r"\w+", _REFERENCE.sub("", text))) for text in (one, other)]
    if not all(words):
        return refers[0] == refers[1]
    return 2 * (words[0] & words[1]).total() / (words[0].total() + words[1].total()) >= least


def likeness(one: str, other: str) -> float:
    """Share of words that two texts have in common, from 0 to 1."""
    words = [_words(text) for text in (one, other)]
    return 2 * (words[0] & words[1]).total() / max(1, words[0].total() + words[1].total())


@lru_cache(maxsize=8192)
def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text))
