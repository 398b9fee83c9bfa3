"""Derived inputs: property-based testing of recorded calls, mutated by hypothesis within the types and ranges seen.

It works on parsed messages, so nothing of the project is imported or called. hypothesis runs in a process of its own.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import anyio

from bakeoff.judge.codec import Limits, Malformed, wire
from bakeoff.judge.codec.tree import Node, Writer, parse
from bakeoff.optimize.behaviour.derived_values import new_node, strategy
from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.errors import BehaviourError
from bakeoff.system.temporary import temporary_folder

SECONDS = 60.0
APART = 32
"""Bits of a number within one call."""
LONG, ALIKE = range(16, 100_001), 3
"""Lengths of arguments, and how many calls get others that differ by one item only."""
WIDE = Limits(nodes=2_000_000, size=64 << 20, depth=4_000)


async def derive(calls: Sequence[bytes], count: int, *, keep_first: bool = False) -> list[bytes]:
    """New calls; the same ones for the same recorded ones.

    Args:
        calls: recorded ones.
        count: how many are wanted; there may be fewer, or none.
        keep_first: leave the first argument as it was recorded: it is the `self` of a method.

    Cancelled, the process is gone.

    Raises:
        BehaviourError: hypothesis does not work.
    """
    told = frames.pack({"count": count, "keep_first": keep_first}, list(calls))
    # Not in the user's project: hypothesis writes where it works, and Python imports from there.
    argv = [sys.executable, "-P", "-m", "bakeoff.optimize.behaviour.derived_inputs"]
    done = None
    with anyio.move_on_after(SECONDS) as scope, temporary_folder("derive") as folder:
        try:
            done = await anyio.run_process(argv, input=told, check=False, stderr=subprocess.PIPE, cwd=folder)
        except* anyio.BrokenResourceError:
            pass  # it ended before it had read all
    if scope.cancelled_caught:
        return []
    if done is None or done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() if done is not None else []
        raise BehaviourError(f"derived inputs cannot be made: {(lines or ['it ended without a word'])[-1]}")
    header, body = frames.sizes(done.stdout[: frames.HEAD.size])
    rest = done.stdout[frames.HEAD.size :]
    return frames.unpack(rest[:header], rest[header : header + body])[1]


def derived(calls: Sequence[bytes], count: int, keep_first: bool) -> list[bytes]:
    """The same in this process."""
    from hypothesis import HealthCheck, Phase, given, settings

    trees: list[Any] = []
    for call in calls:
        try:
            trees.append(numbered_apart(parse(call, WIDE), len(trees)))
        except Malformed:
            continue
    known, found = set(calls), list[bytes]()
    if not trees:
        return found

    @settings(
        max_examples=4 * count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(call_strategy(trees, keep_first))
    def collect(tree: Any) -> None:
        try:
            data = Writer(WIDE.depth).message(tree)
        except Malformed:
            return  # it refers to what was left out
        if data not in known:
            known.add(data)
            found.append(data)
        if len(found) >= count:
            raise _Enough

    with suppress(_Enough):
        collect()
    found = found or _shuffled(trees, count, keep_first)
    return [*found, *(data for data in _alike(trees, keep_first) if data not in known)]


def _alike(trees: Sequence[Node], keep_first: bool) -> Iterator[bytes]:
    """Calls that differ from a recorded one, and from each other, by one item inside of a long argument.

    A memo whose key has the length and the ends of an argument, or a sample of it, takes them for the same.
    """
    chance = random.Random(0)  # noqa: S311 - to be repeatable, not secret
    for tree in sorted(trees, key=lambda one: _longest(one, keep_first)[0], reverse=True)[:ALIKE]:
        size, place = _longest(tree, keep_first)
        if size == 0:
            continue
        args, kwargs = tree.parts
        for _ in range(2):
            given = [*args.parts]
            given[place] = _with_another_item(given[place], chance)
            made = new_node(wire.TUPLE, [new_node(wire.TUPLE, given), kwargs])
            with suppress(Malformed):
                yield Writer(WIDE.depth).message(made)


def _longest(tree: Node, keep_first: bool) -> tuple[int, int]:
    """Length and place of a call's longest argument; 0 where none is long enough, or too long."""
    sizes = [(_length(value), place) for place, value in enumerate(tree.parts[0].parts) if place or not keep_first]
    return max((one for one in sizes if one[0] in LONG), default=(0, 0))


def _length(value: Any) -> int:
    listed = type(value) is Node and value.tag in (wire.LIST, wire.TUPLE)
    return len(value.parts) if listed else len(value) if type(value) in (str, bytes) else 0


def _with_another_item(value: Any, chance: random.Random) -> Any:
    """The same with one item of the middle half replaced by another one of it; letters and instances change places."""
    items = [*value.parts] if type(value) is Node else [*value]
    half = range(len(items) // 4, len(items) - len(items) // 4)
    place = chance.choice(half)
    others = [other for other in half if _differ(items[other], items[place])]
    if not others:
        return value
    other = chance.choice(others)
    if type(value) is Node and type(items[place]) is not Node and type(items[other]) is not Node:
        items[place] = items[other]
    else:
        items[place], items[other] = items[other], items[place]
    if type(value) is Node:
        return new_node(value.tag, items, value)
    return "".join(items) if type(value) is str else bytes(items)


def _differ(one: Any, other: Any) -> bool:
    return one is not other if type(one) is Node or type(other) is Node else bool(one != other)


def _shuffled(trees: Sequence[Node], count: int, keep_first: bool) -> list[bytes]:
    """Calls with the letters of their texts in another order, for where all is always the same.

    Without any fresh input, answers that are written down would pass.
    """
    chance, found = random.Random(0), dict[bytes, None]()  # noqa: S311 - to be repeatable, not secret
    for turn in range(4 * count):
        args, kwargs = trees[turn % len(trees)].parts
        half, kept = len(kwargs.parts) // 2, int(keep_first)
        given = [*args.parts[:kept], *(_shuffle(part, chance) for part in args.parts[kept:])]
        named = [*kwargs.parts[:half], *(_shuffle(part, chance) for part in kwargs.parts[half:])]
        made = new_node(wire.TUPLE, [new_node(wire.TUPLE, given), new_node(wire.DICT, named)])
        with suppress(Malformed):
            found[Writer(WIDE.depth).message(made)] = None
        if len(found) > count:
            break
    before = {Writer(WIDE.depth).message(tree) for tree in trees}
    return [data for data in found if data not in before][:count]


def _shuffle(value: Any, chance: random.Random) -> Any:
    """The same value with the letters of each text, and the bytes of each bytes, turned about; keys stay."""
    if type(value) is str:
        return "".join(chance.sample(value, len(value)))
    if type(value) is bytes:
        return bytes(chance.sample(value, len(value)))
    if type(value) is not Node or value.tag not in (wire.LIST, wire.TUPLE, wire.DICT):
        return value
    kept = len(value.parts) // 2 if value.tag == wire.DICT else 0
    return new_node(value.tag, [*value.parts[:kept], *(_shuffle(part, chance) for part in value.parts[kept:])], value)


class _Enough(BaseException):
    """Ends hypothesis: it takes an `Exception` for a failure, and looks for more of them."""


def numbered_apart(tree: Any, place: int) -> Any:
    """A call whose numbers no other one has: else a part of one could refer to a part of another."""
    waiting, seen = [tree], set[int]()
    while waiting:
        node = waiting.pop()
        if type(node) is not Node or id(node) in seen:
            continue
        seen.add(id(node))
        if node.number is not None:
            node.number += place << APART
        if node.tag == wire.AGAIN:
            node.words = (node.words[0] + (place << APART),)
        waiting.extend(node.parts)
    return tree


# Strategies for calls like those that were seen: of the same types, in the same ranges


def call_strategy(calls: Sequence[Node], keep_first: bool) -> Any:
    """Calls of the shapes that were seen: each argument as it was in one call, or a new one."""
    from hypothesis import strategies as st

    groups: dict[Any, list[Node]] = defaultdict(list)
    for call in calls:
        args, kwargs = call.parts
        names = kwargs.parts[: len(kwargs.parts) // 2]
        groups[len(args.parts), tuple(names)].append(call)
    return st.one_of([_calls(group, keep_first) for group in groups.values()])


def _calls(group: list[Node], keep_first: bool) -> Any:
    from hypothesis import strategies as st

    count = len(group[0].parts[0].parts)
    names = group[0].parts[1].parts[: len(group[0].parts[1].parts) // 2]
    columns = list(zip(*([*call.parts[0].parts, *call.parts[1].parts[len(names) :]] for call in group), strict=True))
    kept = [index == 0 and keep_first for index in range(len(columns))]
    fresh = [st.nothing() if keep else strategy(list(column)) for keep, column in zip(kept, columns, strict=True)]

    @st.composite
    def make(draw: Any) -> Node:
        template = draw(st.integers(0, len(group) - 1))
        values = []
        for index, column in enumerate(columns):
            if kept[index] or (len(columns) > 1 and draw(st.integers(0, 2)) == 0):
                values.append(column[template])
            else:
                values.append(draw(fresh[index]))
        return new_node(
            wire.TUPLE, [new_node(wire.TUPLE, values[:count]), new_node(wire.DICT, [*names, *values[count:]])]
        )

    return make()


def main() -> None:
    """Read recorded calls, write derived ones."""
    data = sys.stdin.buffer.read()
    header, body = frames.sizes(data[: frames.HEAD.size])
    rest = data[frames.HEAD.size :]
    told, calls = frames.unpack(rest[:header], rest[header : header + body])
    sys.stdout.buffer.write(frames.pack({}, derived(calls, told["count"], told["keep_first"])))


if __name__ == "__main__":
    main()
