"""Derived values: hypothesis strategies for values of the types, lengths and ranges that were seen at one place.

Where one value alone was seen, it stays. Instances stay whole: what belongs together in them nobody knows.
"""

from __future__ import annotations

import math
import random
import struct
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bakeoff.judge.codec import wire
from bakeoff.judge.codec.tree import Node

SMALL = 30
"""Items of a container that hypothesis makes one by one; larger ones are made from what was seen, by chance."""
UNIQUE = 5
"""Elements of a set or keys of a dict that are drawn anew at most; where all have more, those seen stay."""
MARKS = ("Cf", "Mn", "Me")
"""Categories of Unicode of signs that belong to others."""
SIGNS = "\u200d\u0301\ufe0f\u3042\U0001f469\ud800"
"""A joiner, a combining accent, a variation selector, a wide letter, an emoji, half of a pair."""
BLANKS = " \t\n\r\f\xa0"
MANY_STEPS = 40
"""Steps of logarithms in a range from which some are tried: below it chance meets them."""
FLOATS = {"<f8": "<d", "<f4": "<f"}
"""Arrays whose elements are numbers that can be made anew, and how each is written."""


def new_node(tag: bytes, parts: list[Any], like: Node | None = None) -> Node:
    """A node of that tag, with the names and the number of another one."""
    made = Node(tag, like.words if like else (), like.number if like else None)
    made.parts = parts
    return made


def strategy(samples: list[Any]) -> Any:
    """Values like the samples: of the same types, in the same ranges."""
    from hypothesis import strategies as st

    return st.one_of([_of_kind(group) for group in _by_kind(samples)])


def _by_kind(samples: list[Any]) -> list[list[Any]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for sample in samples:
        groups[_kind(sample)].append(sample)
    return list(groups.values())


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
    alone = type(first) not in (Node, int, float) and all(map(first.__eq__, samples))
    if made is None or alone:
        return seen
    return made(samples) if type(first) is float else st.one_of(made(samples), seen)


def _by_chance(make: Callable[[random.Random], Any]) -> Any:
    from hypothesis import strategies as st

    return st.integers(0, 2**32 - 1).map(lambda seed: make(random.Random(seed)))  # noqa: S311 - no secret


# Atoms


def _ints(samples: list[int]) -> Any:
    from hypothesis import strategies as st

    low, high = int(_range(samples)[0]), int(_range(samples)[1])
    steps = [near for near in _steps(max(abs(low), abs(high))) if low <= near <= high]
    made = st.integers(low, high)
    return st.one_of(made, made, st.sampled_from(steps)) if len(steps) > MANY_STEPS else made


def _steps(most: int) -> Iterator[int]:
    """Powers of two and of ten up to a number, and the numbers beside them: logarithms and digits change there."""
    for base in (2, 10):
        power = 1
        while power <= most:
            yield from (sign * (power + beside) for sign in (1, -1) for beside in (-1, 0, 1))
            power *= base


def _range(samples: Sequence[float]) -> tuple[float, float]:
    """Between which numbers; where one alone was seen, from half of it, so that not all answers can be written down.

    Zero and other signs are what no test shows then.
    """
    low, high = min(samples), max(samples)
    if low == high:
        low, high = (low / 2, high) if type(low) is not int else (_half(low), high)
    return min(low, high), max(low, high)


def _half(number: int) -> int:
    """Half of a whole number, away from zero: exact for any size."""
    return number - number // 2 if number > 0 else -(-number - -number // 2)


def _floats(samples: list[float]) -> Any:
    from hypothesis import strategies as st

    finite = [sample for sample in samples if math.isfinite(sample)]
    if not finite:
        return st.sampled_from(samples)
    return _by_chance(lambda chance: any_float(chance, finite) if chance.random() < 0.8 else chance.choice(samples))


def any_float(chance: random.Random, seen: Sequence[float]) -> float:
    """A float in the range of those seen, mostly with all of its bits in use: so that rounding shows.

    Sums of halves and eighths are exact in any order; those of tenths and thirds are not.
    """
    low, high = _range(seen)
    sizes = [abs(each) for each in seen if each]
    how = chance.random()
    if how < 0.5 or not sizes:
        made = low + (high / 2 - low / 2) * chance.random() * 2
    elif how < 0.7:  # as people write them
        made = round(low + (high / 2 - low / 2) * chance.random() * 2, chance.randint(1, 3))
    elif how < 0.8:
        made = chance.choice(seen) / chance.choice((3.0, 7.0, 10.0))
    else:  # of any magnitude that was seen
        made = math.exp(chance.uniform(math.log(min(sizes)), math.log(max(sizes)))) * chance.choice((1, -1))
    return min(max(made, low), high)


def _lengths(samples: Sequence[Any]) -> tuple[int, int]:
    """Between which lengths."""
    found = [len(sample) for sample in samples]
    return min(found), max(found)


def _texts(samples: list[str]) -> Any:
    from hypothesis import strategies as st

    low, high = _lengths(samples)
    letters = sorted(set("".join(samples)))
    if not letters:
        return st.just("")
    pool, long = list("".join(samples)), [sample for sample in samples if len(sample) > low]
    if high <= SMALL:
        made = st.text(st.sampled_from(letters), min_size=low, max_size=high)
    else:
        made = _by_chance(lambda chance: "".join(chance.choices(pool, k=_size(chance, low, high))))
    if long:
        made = st.one_of(made, made, _by_chance(lambda chance: _with_relative(chance, chance.choice(long))))
    if not all(map(str.isascii, samples)):
        placed = _by_chance(lambda chance: _with_sign(chance, chance.choice(samples), letters, high))
        made = st.one_of(made, placed, placed)
    # What is parsed is seldom met by chance; a text that ends, or begins, in its midst is what breaks a parser.
    return st.one_of(made, _by_chance(lambda chance: _cut(chance, chance.choice(long), low))) if long else made


def _with_sign(chance: random.Random, text: str, letters: Sequence[str], high: int) -> str:
    """A text beyond ASCII with one more sign that changes how others are read or how wide they are, mostly at an end.

    In place of one of its characters where it is as long as the longest.
    """
    marks = [letter for letter in letters if unicodedata.category(letter) in MARKS]
    sign = chance.choice(marks if marks and chance.random() < 0.5 else SIGNS)
    place = chance.choice((len(text), len(text), 0, chance.randint(0, len(text))))
    if len(text) < high:
        return text[:place] + sign + text[place:]
    place = max(place - 1, 0)
    return text[:place] + sign + text[place + 1 :]


def _with_relative(chance: random.Random, text: str) -> str:
    """A text with one of its blanks, at an end mostly, or letters as another of its kind.

    Who strips or compares takes them for the same more often than is meant.
    """
    places = [place for place, letter in enumerate(text) if letter.isspace() or letter.isalpha()]
    if not places:
        return text
    place = chance.choice((places[0], places[-1], chance.choice(places)))
    other = chance.choice(BLANKS) if text[place].isspace() else text[place].swapcase()[:1]
    return text[:place] + other + text[place + 1 :]


def _cut(chance: random.Random, text: str, low: int) -> str:
    """The beginning, or the end, of a text."""
    kept = chance.randint(low, len(text))
    return text[:kept] if chance.random() < 0.6 else text[len(text) - kept :]


def _bytes(samples: list[bytes]) -> Any:
    low, high = _lengths(samples)
    pool = list(b"".join(samples))
    if not pool:
        return _by_chance(lambda chance: b"")
    return _by_chance(lambda chance: bytes(chance.choices(pool, k=_size(chance, low, high))))


def _size(chance: random.Random, low: int, high: int) -> int:
    """Mostly as long as the longest: that is where it takes time."""
    return high if chance.random() < 0.5 else chance.randint(low, high)


# Containers


def _sequences(samples: list[Node]) -> Any:
    """Lists, tuples."""
    from hypothesis import strategies as st

    like = samples[0]
    low, high = _lengths([sample.parts for sample in samples])
    pool = [part for sample in samples for part in sample.parts]
    if not pool:
        return st.just(like)
    if like.tag == wire.TUPLE and high <= 8 and low == high:
        columns = [strategy(list(column)) for column in zip(*(sample.parts for sample in samples), strict=True)]
        return st.tuples(*columns).map(lambda parts: new_node(like.tag, list(parts), like))
    if _is_table(samples):
        items = _by_chance(lambda chance: _table(chance, pool, samples))
    else:
        any_item = _any_item(pool)
        items = _by_chance(lambda chance: _many(chance, any_item, samples, low, high))
        if high <= SMALL:
            one_by_one = st.lists(strategy(pool), min_size=low, max_size=high)
            items = items | one_by_one if any(map(_holds_float, pool)) else one_by_one
    return items.map(lambda parts: new_node(like.tag, list(parts), like))


def _many(
    chance: random.Random, any_item: Callable[[random.Random], Any], samples: list[Node], low: int, high: int
) -> list[Any]:
    """A long sequence: one that was seen, turned about, or drawn anew from all items."""
    if chance.random() < 0.4:
        items = list(chance.choice(samples).parts)
        chance.shuffle(items)
        return items[: _size(chance, low, max(low, len(items)))]
    return [any_item(chance) for _ in range(_size(chance, low, high))]


def _any_item(pool: list[Any]) -> Callable[[random.Random], Any]:
    """Function that makes items like those of a long sequence: numbers anew, all else as it was seen."""
    groups = _by_kind(pool)
    if len(groups) > 1:
        made = [_any_item(group) for group in groups]
        counts = [len(group) for group in groups]
        return lambda chance: chance.choices(made, counts)[0](chance)
    first = pool[0]
    finite = [item for item in pool if type(item) is float and math.isfinite(item)]
    if type(first) is int:
        least, most = min(pool), max(pool)
        return lambda chance: chance.randint(least, most)
    if finite and len(set(finite)) > 1:
        return lambda chance: any_float(chance, finite) if chance.random() < 0.8 else chance.choice(pool)
    if type(first) is Node and first.tag == wire.TUPLE and len({len(item.parts) for item in pool}) == 1:
        columns = [_any_item(list(column)) for column in zip(*(item.parts for item in pool), strict=True)]
        return lambda chance: (
            new_node(first.tag, [column(chance) for column in columns], first)
            if chance.random() < 0.7
            else chance.choice(pool)
        )
    return lambda chance: chance.choice(pool)


def _holds_float(item: Any) -> bool:
    parts = item.parts if type(item) is Node and item.tag == wire.TUPLE else (item,)
    return any(type(part) is float for part in parts)


def _is_table(samples: list[Node]) -> bool:
    """Whether each is a table: rows of one length, and more than one row somewhere."""
    rows = [part for sample in samples for part in sample.parts]
    if not all(type(row) is Node and row.tag in (wire.LIST, wire.TUPLE) and row.tag == rows[0].tag for row in rows):
        return False
    if not rows or (rows[0].tag == wire.TUPLE and len({len(row.parts) for row in rows}) == 1):
        return False  # records
    return max(len(sample.parts) for sample in samples) > 1 and all(
        len({len(row.parts) for row in sample.parts}) <= 1 for sample in samples
    )


def _table(chance: random.Random, rows: list[Node], samples: list[Node]) -> list[Any]:
    """Rows as many and as long as in one that was seen: no caller has ragged ones."""
    shape = chance.choice(samples).parts
    cells = [cell for row in rows for cell in row.parts]
    any_cell = _any_item(cells) if cells else None
    return [new_node(row.tag, [any_cell(chance) for _ in row.parts] if any_cell else [], row) for row in shape]


def _sets(samples: list[Node]) -> Any:
    from hypothesis import strategies as st

    like = samples[0]
    low, high = _lengths([sample.parts for sample in samples])
    pool = [part for sample in samples for part in sample.parts]
    if not pool:
        return st.just(like)
    if low <= UNIQUE:
        items = st.lists(strategy(pool), min_size=low, max_size=min(high, SMALL), unique_by=_shape)
    else:
        distinct = list({_shape(part): part for part in pool}.values())
        items = _by_chance(lambda chance: chance.sample(distinct, min(len(distinct), _size(chance, low, high))))
    return items.map(lambda parts: new_node(like.tag, list(parts), like))


def _dicts(samples: list[Node]) -> Any:
    from hypothesis import strategies as st

    like = samples[0]
    halves = [(sample.parts[: len(sample.parts) // 2], sample.parts[len(sample.parts) // 2 :]) for sample in samples]
    shapes = [[_shape(key) for key in keys] for keys, _ in halves]
    if all(shape == shapes[0] for shape in shapes) and len(shapes[0]) <= SMALL:  # a record
        columns = [strategy(list(column)) for column in zip(*(values for _, values in halves), strict=True)]
        return st.tuples(*columns).map(lambda values: new_node(like.tag, [*halves[0][0], *values], like))
    keys = [key for half, _ in halves for key in half]
    values = [value for _, half in halves for value in half]
    low, high = _lengths([half for half, _ in halves])
    if low > UNIQUE:
        any_value = _any_item(values)

        def filled(chance: random.Random) -> Node:
            kept = chance.choice(halves)[0]
            return new_node(like.tag, [*kept, *(any_value(chance) for _ in kept)], like)

        return _by_chance(filled)
    pairs = st.lists(
        st.tuples(strategy(keys), strategy(values)),
        min_size=low,
        max_size=min(high, SMALL),
        unique_by=lambda pair: _shape(pair[0]),
    )
    return pairs.map(lambda made: new_node(like.tag, [key for key, _ in made] + [value for _, value in made], like))


def _shape(value: Any) -> Any:
    """Key that tells two values of a set apart, as Python would: 1, 1.0 and True are one."""
    if type(value) is Node:
        return value.tag, tuple(map(repr, value.words)), tuple(map(_shape, value.parts))
    return value


def _iterators(samples: list[Node]) -> Any:
    """Iterators that end without a failure: over other items."""
    from hypothesis import strategies as st

    like = samples[0]
    if any(sample.parts[-1] is not None for sample in samples):
        return st.sampled_from(samples)
    lists = [new_node(wire.LIST, sample.parts[:-1]) for sample in samples]
    return _sequences(lists).map(lambda made: new_node(like.tag, [*made.parts, None], like))


# Instances


def _objects(samples: list[Node]) -> Any:
    """Instances, as they were seen. Of those that hold one float, and else no number or container, another float.

    What else an instance holds may belong together, and one made of parts of others could never come to be.
    """
    from hypothesis import strategies as st

    like = samples[0]
    columns = list(zip(*(sample.parts[1:] for sample in samples), strict=True))
    kinds = [{type(part) for part in column} for column in columns]
    floats = [index for index, kind in enumerate(kinds, 1) if kind == {float}]
    if len(floats) != 1 or any(kind - {float, str, bool, type(None)} for kind in kinds):
        return st.sampled_from(samples)
    place = floats[0]
    seen = [value for value in columns[place - 1] if math.isfinite(value)]
    if len(set(seen)) < 2:
        return st.sampled_from(samples)

    def other(chance: random.Random) -> Node:
        parts = list(chance.choice(samples).parts)
        parts[place] = any_float(chance, seen)
        return new_node(like.tag, parts, like)

    return _by_chance(other)


def _arrays(samples: list[Node]) -> Any:
    """Arrays of numpy: their elements turned about, or other floats in the same range."""
    from hypothesis import strategies as st

    like = samples[0]
    if like.words[0] != "numpy:ndarray":
        return st.sampled_from(samples)

    def shuffled(chance: random.Random) -> Node:
        array = chance.choice(samples)
        dtype, shape, data, *more = array.parts[0].parts
        width = int("".join(filter(str.isdigit, str(dtype))) or 0)
        if type(data) is not bytes or not width or len(data) % width:
            return array
        items = [data[start : start + width] for start in range(0, len(data), width)]
        numbers = [struct.unpack(FLOATS[dtype], item)[0] for item in items] if dtype in FLOATS else []
        finite = [number for number in numbers if math.isfinite(number)]
        how = chance.random()
        if how < 0.5 and len(set(finite)) > 1:
            items = [struct.pack(FLOATS[dtype], any_float(chance, finite)) for _ in items]
        elif how < 0.7 and items:
            items = chance.choices(items, k=len(items))
        chance.shuffle(items)
        content = new_node(wire.TUPLE, [dtype, shape, b"".join(items), *more])
        return new_node(array.tag, [content], array)

    return _by_chance(shuffled)


_ATOMS: dict[type, Callable[[list[Any]], Any]] = {int: _ints, float: _floats, str: _texts, bytes: _bytes}
_NODES: dict[bytes, Callable[[list[Any]], Any]] = {
    wire.LIST: _sequences, wire.TUPLE: _sequences, wire.SET: _sets, wire.FROZENSET: _sets, wire.DICT: _dicts,
    wire.ITERATOR: _iterators, wire.OBJECT: _objects, wire.OBJECT_FIXED: _objects, wire.LISTED_MUTABLE: _arrays,
}  # fmt: skip
