"""The most valuable crate that a van can take."""

from typing import List, NamedTuple, Tuple


class Item(NamedTuple):
    """Something to pack."""

    name: str
    weight: int
    volume: int
    value: int


def best_value(items: List[Item], weight: int, volume: int) -> int:
    """Return the highest value that fits."""
    if len(items) == 0:
        return 0
    first = items[0]
    without = best_value(items[1:], weight, volume)
    if first.weight > weight or first.volume > volume:
        return without
    return max(without, first.value + best_value(items[1:], weight - first.weight, volume - first.volume))


def pack(items: List[Item], weight: int, volume: int) -> Tuple[int, List[str]]:
    """Return the highest value and the names of the items, those that come first preferred."""
    value = best_value(items, weight, volume)
    names: List[str] = []
    for position, item in enumerate(items):
        if item.weight > weight or item.volume > volume:
            continue
        rest = items[position + 1 :]
        if item.value + best_value(rest, weight - item.weight, volume - item.volume) >= best_value(
            items[position:], weight, volume
        ):
            names.append(item.name)
            weight -= item.weight
            volume -= item.volume
    return value, names


def describe(items: List[Item], names: List[str]) -> str:
    """Return one line about what was packed."""
    packed = [item for item in items if item.name in names]
    return f"{len(packed)} items, {sum(item.weight for item in packed)} kg, {sum(item.volume for item in packed)} l"
