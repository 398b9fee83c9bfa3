"""Race: many tries at one thing, the first accepted one wins, the rest are gone before the call returns."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar, cast

import anyio

from bakeoff.engine.blocking import call_in_thread, is_async, warn_not_stopped
from bakeoff.engine.events import Events
from bakeoff.engine.failures import work_group

Result = TypeVar("Result")


@dataclass(slots=True)
class RaceResult(Generic[Result]):
    """Result of a race: how it ended.

    Attributes:
        winner: the id of the accepted entrant, or None.
        results: what each finished entrant returned, by id.
        not_stopped: entrants that lost and go on all the same, in their threads.
    """

    winner: int | None = None
    results: dict[int, Result] = field(default_factory=dict)
    not_stopped: set[int] = field(default_factory=set)


async def race(
    entrants: int,
    run: Callable[[int], Awaitable[Result]] | Callable[[int], Result],
    accept: Callable[[Result], bool],
    *,
    bound: int,
    mode: Literal["deterministic", "fastest"] = "deterministic",
    fixed_places: bool = False,
    events: Events | None = None,
) -> RaceResult[Result]:
    """Run entrants 0 to `entrants - 1` in order, at most `bound` at once, until one is accepted.

    `deterministic`: the lowest accepted id wins; once one is accepted, higher ids are cancelled and lower ones
    are waited for. `fastest`: the first accepted wins and every other one is cancelled. Cancelled entrants have
    ended, whatever that takes, before this returns; the same holds when the race itself is cancelled. Threads are the
    exception: nothing can stop one, so one that is cancelled goes on, and that is reported.

    Args:
        entrants: how many there are at most.
        run: async, or plain: then it runs in a thread. It must turn failures into results: an exception cancels the
            race and is raised as it is; where others are raised by the entrants it cancels, all come as a group.
        accept: whether a result wins.
        bound: most entrants running at once, at least 1.
        mode: see above.
        fixed_places: entrant `n` runs at place `n % bound`, after `n - bound`, and at no other: for entrants that
            build on the one before them at their place. A free place takes the next entrant otherwise.
        events: where threads that go on are reported.

    Raises:
        ValueError: `bound` is less than 1, `entrants` negative, or the mode is unknown.
        TypeError: one of them is no whole number, or `run` or `accept` no function.
    """
    if not callable(run) or not callable(accept):
        raise TypeError(f"a race calls functions, and {accept if callable(run) else run!r} is none")
    for name, number in (("bound", bound), ("number of entrants", entrants)):
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(f"the {name} of a race must be a whole number, not {number!r}")
    if entrants < 0:
        raise ValueError(f"a race has 0 entrants or more, not {entrants}")
    if bound < 1:
        raise ValueError(f"the bound of a race must be at least 1, not {bound}")
    if mode not in ("deterministic", "fastest"):
        raise ValueError(f"the mode of a race is deterministic or fastest, not {mode!r}")
    ended: RaceResult[Result] = RaceResult()
    scopes: dict[int, anyio.CancelScope] = {}
    places = min(bound, entrants)
    pool = iter(range(entrants))
    plain = None if is_async(run) else anyio.CapacityLimiter(bound)

    async def result_of(entrant: int) -> Result:
        if plain is None:
            return await cast(Awaitable[Result], run(entrant))

        def left() -> None:
            ended.not_stopped.add(entrant)
            warn_not_stopped(events or Events(), run)

        result = await call_in_thread(run, entrant, limiter=plain, left=left)
        return await result if inspect.isawaitable(result) else cast(Result, result)

    def still_counts(entrant: int) -> bool:
        return ended.winner is None or (mode == "deterministic" and entrant < ended.winner)

    def won(entrant: int) -> None:
        if mode == "fastest":
            if ended.winner is None:
                ended.winner = entrant
        elif ended.winner is None or entrant < ended.winner:
            ended.winner = entrant
        for other, scope in scopes.items():
            if mode == "fastest" or other > entrant:
                scope.cancel()

    async def work(upcoming: Iterator[int]) -> None:
        for entrant in upcoming:
            if not still_counts(entrant):
                return
            with anyio.CancelScope() as scope:
                scopes[entrant] = scope
                try:
                    result = await result_of(entrant)
                finally:
                    del scopes[entrant]
                ended.results[entrant] = result
                if accept(result):
                    won(entrant)

    async with work_group() as group:
        for place in range(places):
            group.start(work, iter(range(place, entrants, places)) if fixed_places else pool)
    return ended
