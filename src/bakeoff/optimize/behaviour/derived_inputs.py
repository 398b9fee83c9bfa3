"""Derived inputs: property-based testing of recorded calls, mutated by hypothesis within the types and ranges seen.

It works on parsed messages, so nothing of the project is imported or called. hypothesis runs in a process of its own.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio

from bakeoff.judge.codec import Limits, Malformed, wire
from bakeoff.judge.codec.tree import Node, Writer, parse
from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.errors import BehaviourError
from bakeoff.system.temporary import temporary_folder

SECONDS = 60.0
WIDE = Limits(nodes=2_000_000, size=64 << 20, depth=4_000)
SMALL = 30
"""Items of a container that hypothesis makes one by one; larger ones are made from what was seen, by chance."""


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

    trees = []
    for call in calls:
        try:
            trees.append(parse(call, WIDE))
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
    return found


class _Enough(BaseException):
    """Ends hypothesis: it takes an `Exception` for a failure, and looks for more of them."""


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
        return _node(wire.TUPLE, [_node(wire.TUPLE, values[:count]), _node(wire.DICT, [*names, *values[count:]])])

    return make()


def _node(tag: bytes, parts: list[Any], like: Node | None = None) -> Node:
    made = Node(tag, like.words if like else (), like.number if like else None)
    made.parts = parts
    return made


def strategy(samples: list[Any]) -> Any:
    """Values like the samples: of the same types, in the same ranges."""
    from hypothesis import strategies as st

    groups: dict[Any, list[Any]] = defaultdict(list)
    for sample in samples:
        groups[_kind(sample)].append(sample)
    return st.one_of([_of_kind(group) for group in groups.values()])


def _kind(sample: Any) -> Any:
    if type(sample) is not Node:
        return type(sample)
    if sample.tag in (wire.OBJECT, wire.OBJECT_FIXED):
        cls = sample.parts[0]
        return sample.tag, sample.words, cls.words[:2] if type(cls) is Node else cls
    return sample.tag, sample.words if sample.tag not in (wire.AGAIN, wire.BARE) else id(sample)


def _of_kind(samples: list[Any]) -> Any:
    from hypothesis import strategies as st

    first = samples[0]
    made = _ATOMS.get(type(first)) if type(first) is not Node else _NODES.get(first.tag)
    seen = st.sampled_from(samples)
    if made is None:
        return seen
    return st.one_of(made(samples), seen)


def _ints(samples: list[int]) -> Any:
    from hypothesis import strategies as st

    low, high = min(samples), max(samples)
    if low == high:
        low, high = min(0, low), max(0, high)
    return st.integers(low, high)


def _floats(samples: list[float]) -> Any:
    from hypothesis import strategies as st

    finite = [sample for sample in samples if math.isfinite(sample)]
    if not finite:
        return st.sampled_from(samples)
    low, high = min(finite), max(finite)
    if low == high:
        low, high = min(0.0, low), max(0.0, high)
    return st.floats(low, high, allow_nan=False)


def _lengths(samples: Sequence[Any]) -> tuple[int, int]:
    """Between which lengths; where all are as long, shorter ones will do."""
    found = [len(sample) for sample in samples]
    return (min(found), max(found)) if min(found) < max(found) else (min(1, found[0]), found[0])


def _texts(samples: list[str]) -> Any:
    from hypothesis import strategies as st

    low, high = _lengths(samples)
    letters = sorted(set("".join(samples)))
    if not letters:
        return st.just("")
    if high <= SMALL:
        return st.text(st.sampled_from(letters), min_size=low, max_size=high)
    pool = list("".join(samples))
    return _by_chance(lambda chance: "".join(chance.choices(pool, k=_size(chance, low, high))))


def _bytes(samples: list[bytes]) -> Any:
    low, high = _lengths(samples)
    pool = list(b"".join(samples))
    if not pool:
        return _by_chance(lambda chance: b"")
    return _by_chance(lambda chance: bytes(chance.choices(pool, k=_size(chance, low, high))))


def _size(chance: random.Random, low: int, high: int) -> int:
    """Mostly as long as the longest: that is where it takes time."""
    return high if chance.random() < 0.5 else chance.randint(low, high)


def _by_chance(make: Callable[[random.Random], Any]) -> Any:
    from hypothesis import strategies as st

    return st.integers(0, 2**32 - 1).map(lambda seed: make(random.Random(seed)))  # noqa: S311 - no secret


def _sequences(samples: list[Node]) -> Any:
    """Lists, tuples, sets."""
    from hypothesis import strategies as st

    like = samples[0]
    low, high = _lengths([sample.parts for sample in samples])
    pool = [part for sample in samples for part in sample.parts]
    if not pool:
        return st.just(like)
    if like.tag == wire.TUPLE and high <= 8 and all(len(sample.parts) == high for sample in samples):
        columns = [strategy(list(column)) for column in zip(*(sample.parts for sample in samples), strict=True)]
        return st.tuples(*columns).map(lambda parts: _node(like.tag, list(parts), like))
    if like.tag in (wire.SET, wire.FROZENSET):
        items = st.lists(strategy(pool), min_size=min(low, 1), max_size=min(high, SMALL), unique_by=_shape)
    elif high <= SMALL:
        items = st.lists(strategy(pool), min_size=low, max_size=high)
    else:
        items = _by_chance(lambda chance: _many(chance, pool, samples, low, high))
    return items.map(lambda parts: _node(like.tag, list(parts), like))


def _many(chance: random.Random, pool: list[Any], samples: list[Node], low: int, high: int) -> list[Any]:
    """A long sequence: one that was seen, turned about, or drawn anew from all items."""
    if chance.random() < 0.4:
        items = list(chance.choice(samples).parts)
        chance.shuffle(items)
        return items[: _size(chance, low, max(low, len(items)))]
    numbers = [item for item in pool if type(item) is int]
    size = _size(chance, low, high)
    if len(numbers) == len(pool):
        least, most = min(numbers), max(numbers)
        return [chance.randint(least, most) for _ in range(size)]
    return [chance.choice(pool) for _ in range(size)]


def _dicts(samples: list[Node]) -> Any:
    from hypothesis import strategies as st

    like = samples[0]
    halves = [(sample.parts[: len(sample.parts) // 2], sample.parts[len(sample.parts) // 2 :]) for sample in samples]
    shapes = [[_shape(key) for key in keys] for keys, _ in halves]
    if all(shape == shapes[0] for shape in shapes) and len(shapes[0]) <= SMALL and len(samples) > 1:
        columns = [strategy(list(column)) for column in zip(*(values for _, values in halves), strict=True)]
        return st.tuples(*columns).map(lambda values: _node(like.tag, [*halves[0][0], *values], like))
    keys = [key for half, _ in halves for key in half]
    values = [value for _, half in halves for value in half]
    if not keys:
        return st.just(like)
    low, high = _lengths([half for half, _ in halves])
    pairs = st.lists(
        st.tuples(strategy(keys), strategy(values)),
        min_size=min(low, 1),
        max_size=min(high, SMALL),
        unique_by=lambda pair: _shape(pair[0]),
    )
    return pairs.map(lambda made: _node(like.tag, [key for key, _ in made] + [value for _, value in made], like))


def _shape(value: Any) -> Any:
    """Key that tells two values of a set apart, as Python would: 1, 1.0 and True are one."""
    if type(value) is Node:
        return value.tag, tuple(map(repr, value.words)), tuple(map(_shape, value.parts))
    return value


def _objects(samples: list[Node]) -> Any:
    """Instances: each attribute like those that were seen."""
    from hypothesis import strategies as st

    like = samples[0]
    fields = [strategy(list(column)) for column in zip(*(sample.parts[2:] for sample in samples), strict=True)]
    if not fields:
        return st.sampled_from(samples)
    return st.tuples(*fields).map(lambda parts: _node(like.tag, [*like.parts[:2], *parts], like))


def _arrays(samples: list[Node]) -> Any:
    """Arrays of numpy: their elements turned about."""
    from hypothesis import strategies as st

    like = samples[0]
    if like.words[0] != "numpy:ndarray":
        return st.sampled_from(samples)

    def shuffled(chance: random.Random) -> Node:
        array = chance.choice(samples)
        dtype, shape, data = array.parts[0].parts
        width = int("".join(filter(str.isdigit, str(dtype))) or 0)
        if type(data) is not bytes or not width or len(data) % width:
            return array
        items = [data[start : start + width] for start in range(0, len(data), width)]
        if chance.random() < 0.5 and items:
            items = chance.choices(items, k=len(items))
        chance.shuffle(items)
        content = _node(wire.TUPLE, [dtype, shape, b"".join(items)])
        return _node(array.tag, [content], array)

    return _by_chance(shuffled)


def _booleans(samples: list[bool]) -> Any:
    from hypothesis import strategies as st

    return st.booleans()


_ATOMS: dict[type, Callable[[list[Any]], Any]] = {
    int: _ints, float: _floats, str: _texts, bytes: _bytes, bool: _booleans,
}  # fmt: skip
_NODES: dict[bytes, Callable[[list[Any]], Any]] = {
    wire.LIST: _sequences, wire.TUPLE: _sequences, wire.SET: _sequences, wire.FROZENSET: _sequences, wire.DICT: _dicts,
    wire.OBJECT: _objects, wire.OBJECT_FIXED: _objects, wire.LISTED_MUTABLE: _arrays,
}  # fmt: skip


def main() -> None:
    """Read recorded calls, write derived ones."""
    data = sys.stdin.buffer.read()
    header, body = frames.sizes(data[: frames.HEAD.size])
    rest = data[frames.HEAD.size :]
    told, calls = frames.unpack(rest[:header], rest[header : header + body])
    sys.stdout.buffer.write(frames.pack({}, derived(calls, told["count"], told["keep_first"])))


if __name__ == "__main__":
    main()
