"""Lanes: named capacities, leased all or nothing.

A leaf asks for every lane it needs at once and waits holding none, so there is nothing to deadlock on. Who came
first is served first in every lane it names: a later request is served before an earlier one only if it fits
beside it, and after `PATIENCE` such passes the earlier one's lanes are reserved for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import anyio

from bakeoff.errors import BakeoffError

LEAVES = "leaves"
"""The lane that every leaf holds; its size is `--max-parallel`."""

PATIENCE = 16
"""How often a waiter may be passed before what it asks for is kept free for it."""


class _Waiter:
    __slots__ = ("granted", "names", "passed")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.granted = anyio.Event()
        self.passed = 0


class Lanes:
    """The capacities of one process, shared by everything that runs in it.

    Raises:
        ValueError: a size is not a whole number of at least 1.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        for name, size in sizes.items():
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise ValueError(f"lane {name!r}: its size must be a whole number of at least 1, not {size!r}")
        self.sizes = dict(sizes)
        self._free = dict(sizes)
        self._waiting: deque[_Waiter] = deque()

    @property
    def in_use(self) -> dict[str, int]:
        """Leases held in each lane now."""
        return {name: size - self._free[name] for name, size in self.sizes.items()}

    async def acquire(self, names: Iterable[str]) -> tuple[str, ...]:
        """Wait for one place in every lane of `names`, and take them all at once.

        Returns what `release` wants. Cancelled, it holds nothing.

        Raises:
            BakeoffError: there is no such lane.
        """
        wanted = tuple(dict.fromkeys(names))
        for name in wanted:
            if name not in self.sizes:
                raise BakeoffError(f"there is no lane {name!r}; lanes here: {', '.join(sorted(self.sizes))}")
        if not self._waiting and self._fits(wanted, self._free):
            self._take(wanted)
            return wanted
        waiter = _Waiter(wanted)
        self._waiting.append(waiter)
        self._serve()
        if waiter.granted.is_set():
            return wanted
        try:
            await waiter.granted.wait()
        except BaseException:
            if waiter.granted.is_set():
                self.release(wanted)
            else:
                self._waiting.remove(waiter)
                self._serve()
            raise
        return wanted

    def release(self, lease: tuple[str, ...]) -> None:
        """Give back what `acquire` returned."""
        for name in lease:
            self._free[name] += 1
        if self._waiting:
            self._serve()

    def retake(self, lease: tuple[str, ...]) -> None:
        """Take a lease that was given back, without waiting and beyond the sizes if need be: it is released soon."""
        self._take(lease)

    def _fits(self, wanted: tuple[str, ...], free: Mapping[str, int]) -> bool:
        for name in wanted:  # noqa: SIM110  (asked for every leaf; a generator takes four times as long)
            if free[name] <= 0:
                return False
        return True

    def _take(self, wanted: tuple[str, ...]) -> None:
        for name in wanted:
            self._free[name] -= 1

    def _serve(self) -> None:
        """Grant, in order, whoever fits into what is free and not reserved for an impatient waiter."""
        reserved = dict.fromkeys(self._free, 0)
        earlier: list[_Waiter] = []
        for waiter in tuple(self._waiting):
            if all(self._free[name] > reserved[name] for name in waiter.names):
                self._take(waiter.names)
                self._waiting.remove(waiter)
                waiter.granted.set()
                for passed in earlier:
                    # Only one that competes for the same lanes was passed.
                    passed.passed += not set(passed.names).isdisjoint(waiter.names)
            else:
                earlier.append(waiter)
                if waiter.passed >= PATIENCE:
                    for name in waiter.names:
                        reserved[name] += 1
            if all(free <= reserved[name] for name, free in self._free.items()):
                return
