"""The order of leaves: what is imported comes first; leaves that import each other in a circle are one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bakeoff.plan.decompose.links import Links


@dataclass(frozen=True, slots=True)
class Order:
    """In which order leaves should be carried out.

    Attributes:
        groups: numbers of leaves; a group's own import each other in a circle.
        requires: of each leaf, the leaves of other groups that its files import from.
    """

    groups: list[list[int]]
    requires: list[list[int]]


def order_of(leaves: Sequence[Sequence[int]], hubs: Sequence[int], links: Links) -> Order:
    """The order of `leaves`, none of which is empty: hubs first, then what is imported, else in path order.

    Args:
        leaves: file numbers, which are in path order.
        hubs: the numbers of the leaves that hold hubs: these come first, and what they import orders nothing.
        links: between the files.
    """
    leaf_of = {file: at for at, leaf in enumerate(leaves) for file in leaf}
    pairs = {
        (leaf_of[file], leaf_of[other])
        for file, other in links.imports
        if file not in links.hubs and other not in links.hubs
    }
    targets: list[list[int]] = [[] for _ in leaves]
    for source, target in sorted(pairs):
        if source != target:
            targets[source].append(target)
    groups = circles(targets)
    group_of = {at: number for number, group in enumerate(groups) for at in group}
    requires = [[other for other in targets[at] if group_of[other] != group_of[at]] for at in range(len(leaves))]
    first = set(hubs)
    keys = [(not first.issuperset(group), min(leaves[at][0] for at in group)) for group in groups]
    waits = [{group_of[other] for at in group for other in requires[at]} for group in groups]
    return Order([groups[number] for number in _dependencies_first(waits, keys)], requires)


def circles(targets: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components of the nodes whose edges `targets` has (Tarjan's algorithm)."""
    index = [-1] * len(targets)
    low = [0] * len(targets)
    done = [False] * len(targets)
    stack: list[int] = []
    found: list[list[int]] = []
    number = 0
    for start in range(len(targets)):
        todo = [start] if index[start] < 0 else []
        following = {start: iter(targets[start])}
        while todo:
            node = todo[-1]
            if index[node] < 0:
                index[node] = low[node] = number
                number += 1
                stack.append(node)
            for other in following[node]:
                if index[other] < 0:
                    following[other] = iter(targets[other])
                    todo.append(other)
                    break
                if not done[other]:
                    low[node] = min(low[node], index[other])
            else:
                todo.pop()
                if todo:
                    low[todo[-1]] = min(low[todo[-1]], low[node])
                if low[node] == index[node]:
                    group: list[int] = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        done[group[-1]] = True
                    found.append(sorted(group))
    return found


def _dependencies_first(waits: Sequence[set[int]], keys: Sequence[tuple[bool, int]]) -> list[int]:
    """All numbers, each after those it waits for; of several that could come next, the one with the least key."""
    left = [len(others) for others in waits]
    after: list[list[int]] = [[] for _ in waits]
    for number, others in enumerate(waits):
        for other in others:
            after[other].append(number)
    ready = [(keys[number], number) for number, count in enumerate(left) if count == 0]
    heapify(ready)
    found = []
    while ready:
        _, number = heappop(ready)
        found.append(number)
        for other in after[number]:
            left[other] -= 1
            if left[other] == 0:
                heappush(ready, (keys[other], other))
    return found
