"""Hostile inputs: calls that break what a rule assumes, made of recorded ones; candidates of rules are tried on them.

Nobody has thought over what a rule proposes, so it has to be right for values of kinds that no test shows, too: where
the original raises, it has to raise the same. Parameters with annotations get what those allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations, product, zip_longest
from typing import Any

from bakeoff.judge.codec import Malformed, wire
from bakeoff.judge.codec.tree import Node, Writer, parse
from bakeoff.optimize.behaviour.annotations import Annotations
from bakeoff.optimize.behaviour.derived_inputs import WIDE, numbered_apart
from bakeoff.optimize.behaviour.derived_values import new_node
from bakeoff.optimize.behaviour.hostile_values import ENDLESS, breaking, hostile, small

TEMPLATES = 4
"""Recorded calls that hostile ones are made of."""
MOST = 1_000


def hostile_calls(calls: Mapping[bytes, bytes], annotations: Annotations, most: int = MOST) -> list[bytes]:
    """Hostile calls, encoded; the same ones for the same recorded ones.

    Args:
        calls: recorded ones, each with what came of it: those that hostile ones are made of have different results.
        annotations: of the target's parameters.
        most: how many at most, taken in turns from what was made of each recorded call.
    """
    templates = []
    for place, call in enumerate(_spread(calls)):
        try:
            templates.append(_Call.read(numbered_apart(parse(call, WIDE), place), annotations))
        except Malformed:
            continue
    turns = zip_longest(*(template.variants() for template in templates))
    late = chain.from_iterable(template.endless() for template in templates[:1])
    found: dict[bytes, None] = {}
    for tree in chain((each for turn in turns for each in turn if each is not None), late):
        try:
            data = Writer(WIDE.depth).message(tree)
        except Malformed:
            continue  # it refers to what was left out
        if data not in calls:
            found[data] = None
        if len(found) >= most:
            break
    return list(found)


def _spread(calls: Mapping[bytes, bytes]) -> list[bytes]:
    """The shortest calls of which different things came, then the shortest others."""
    ordered = sorted(calls, key=len)
    first: dict[bytes, bytes] = {}
    for call in ordered:
        first.setdefault(calls[call], call)
    chosen = list(first.values())
    return [*chosen, *(call for call in ordered if call not in chosen)][:TEMPLATES]


class _Call:
    """A recorded call with short arguments, by place and by name."""

    def __init__(self, names: list[Any], values: list[Any], count: int, annotations: Annotations) -> None:
        self.names = names
        self.values = values
        self.count = count
        self.annotations = annotations

    @classmethod
    def read(cls, tree: Node, annotations: Annotations) -> _Call:
        args, kwargs = tree.parts
        half = len(kwargs.parts) // 2
        values = [small(value) for value in (*args.parts, *kwargs.parts[half:])]
        return cls(kwargs.parts[:half], values, len(args.parts), annotations)

    def variants(self) -> Iterator[Node]:
        """Calls with one hostile argument each, in turns, and then with two that break what is assumed together."""
        yield self._made({})
        columns = [[(place, value) for value in self._of(place, hostile)] for place in range(len(self.values))]
        paired = (
            {one: a, other: b}
            for one, other in combinations(range(len(self.values)), 2)
            for a, b in product(self._of(one, breaking), self._of(other, breaking))
        )
        single = ({place: value} for turn in zip_longest(*columns) for place, value in filter(None, turn))
        for both in zip_longest(single, paired):
            yield from (self._made(each) for each in both if each is not None)

    def endless(self) -> Iterator[Node]:
        """Calls with a number that no loop comes up to."""
        for place, value in enumerate(self.values):
            if type(value) in (int, float):
                for number in ENDLESS:
                    if self.annotations.allow(self._parameter(place), number, value):
                        yield self._made({place: number})

    def _of(self, place: int, make: Any) -> list[Any]:
        value, parameter = self.values[place], self._parameter(place)
        return [each for each in make(value) if self.annotations.allow(parameter, each, value)]

    def _parameter(self, place: int) -> int | str:
        return place if place < self.count else str(self.names[place - self.count])

    def _made(self, changed: Mapping[int, Any]) -> Node:
        values = [changed.get(place, value) for place, value in enumerate(self.values)]
        keywords = new_node(wire.DICT, [*self.names, *values[self.count :]])
        return new_node(wire.TUPLE, [new_node(wire.TUPLE, values[: self.count]), keywords])
