"""Rate controller: the gate's decisions as plain functions of a state and the time; no clock, no chance, no waiting.

Two separate controls. 429 means "too often": it sets the *rate*. 503 and 529 mean "too many at once": they set the
*window* of requests in flight.

Rate. It is unlimited until the first 429. An episode is the time between two decreases; only a 429 whose request was
sent within the episode ends it, for all others say nothing new. The server's allowance is spent at each 429, so what
it admitted in the episode, over the episode's time, is its true rate or a lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

NEVER = -math.inf

FIRST_WINDOW = 4.0
WIDEST = 1e6
FIRST_SHARE = 0.7
"""Of the rate seen until the first 429: what was admitted then includes a burst that does not come again."""
FIRST_LEAST = 1.0
"""Requests a second that the first decrease leaves at least: few requests over a short time tell little."""
STEP = 0.97
DEEPEST = 0.8
BLIND = 0.7
"""The decrease when an episode was too short to tell a rate."""
ENOUGH = 8
FEW, LONG = 2, 2.0
"""An episode tells a rate when `ENOUGH` were admitted in it, or `FEW` over `LONG` seconds."""
SHORT_EPISODES = 3
"""After so many short episodes the rate doubles no longer while nothing is known of it."""
HOLD = 2.0
"""Seconds after a decrease before the rate grows."""
GROWTH = 0.03
"""Share by which it grows in the first second; more with time, so that a limit that was raised is found."""
PACE = 6.0
DECLARED_SHARE = 0.98
"""Of a declared limit that is used."""
CATCH_UP = 0.2
"""Of a slot by which requests that were late may follow one another more closely."""
CATCH_UP_SECONDS = 0.002
TOKEN_BURST = 10.0
"""Seconds' worth of tokens that may be used at once."""
SLOWEST = 1 / 120
NARROWER = 0.75
RECENT = 0.25
"""Seconds for which an owner counts as waiting after it last asked."""
FORGET = 600.0
"""Seconds without a request after which what was learned is forgotten."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Declared limits of an endpoint; None where nothing is declared.

    Attributes:
        requests_per_minute: requests, evenly spread.
        tokens_per_minute: tokens, input and output, evenly spread but for ten seconds' worth.
        max_in_flight: requests at once.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_in_flight: int | None = None

    @property
    def rate(self) -> float:
        """Requests a second that are used of the declared ones; infinite where nothing is declared."""
        return math.inf if self.requests_per_minute is None else DECLARED_SHARE * self.requests_per_minute / 60


UNDECLARED = Limits()

Owner = tuple[int, float, int]
"""A gate: process id, when that process started, number of the gate in it."""


@dataclass(slots=True)
class Presence:
    """Presence of one owner: requests in flight, and when it last asked without being admitted."""

    in_flight: int = 0
    waiting_at: float = NEVER


@dataclass(slots=True)
class Episode:
    """One that is over, and what it told.

    Attributes:
        admitted: requests sent in it, less those known to have been answered 429.
        rate: requests a second that were allowed at its end.
        usable: whether enough were admitted to tell the server's rate.
    """

    begun: float = NEVER
    passed: float = 0.0
    admitted: float = 0.0
    rate: float = math.inf
    usable: float = 0.0


@dataclass(slots=True)
class State:
    """All that is known of an endpoint. Times are seconds of one monotonic clock.

    Attributes:
        touched: when something was last admitted.
        window: requests in flight at most.
        narrowed_at: when the window was last lowered.
        rate: requests a second right after the last decrease; infinite before the first 429.
        lowered_at: when the rate was last lowered: the episode's begin.
        grown: seconds since then in which the rate was what held requests back; it does not grow unused.
        admitted: requests sent in the episode, less those answered 429.
        known: whether an episode ever told a rate.
        short: episodes too short to tell one.
        next_slot: when the next request is due.
        held_until: the time up to which `grown` is counted.
        next_tokens: when all tokens used so far will have been allowed for.
        last: the episode before.
        owners: who has requests in flight or waits.
    """

    touched: float = NEVER
    window: float = FIRST_WINDOW
    narrowed_at: float = NEVER
    rate: float = math.inf
    lowered_at: float = NEVER
    grown: float = 0.0
    admitted: float = 0.0
    known: float = 0.0
    short: float = 0.0
    next_slot: float = NEVER
    held_until: float = NEVER
    next_tokens: float = NEVER
    last: Episode = field(default_factory=Episode)
    owners: dict[Owner, Presence] = field(default_factory=dict)


def rate_now(state: State, limits: Limits) -> float:
    """Requests a second that are allowed at this moment."""
    if state.rate == math.inf:
        return limits.rate
    if not state.known and state.short < SHORT_EPISODES:
        factor = math.exp2(min(state.grown, 60.0))
    else:
        time = min(max(0.0, state.grown - HOLD), 60.0)
        factor = math.exp(GROWTH * (time + time**3 / (3 * PACE**2)))
    return min(state.rate * factor, limits.rate)


def take_slot(state: State, limits: Limits, now: float) -> float:
    """When the next request is due; the one after it is due a slot later."""
    if NEVER < state.touched < now - FORGET:
        _forget(state)
    rate = rate_now(state, limits)
    if rate == math.inf:
        return now
    length = 1 / rate
    slot = now
    if now - state.next_slot <= length:
        slot = max(state.next_slot, now - max(CATCH_UP * length, CATCH_UP_SECONDS))
    if slot > now:
        state.grown += max(0.0, slot - max(now, state.held_until))
        state.held_until = slot
    state.next_slot = slot + length
    return slot


def admit(state: State, limits: Limits, owner: Owner, now: float, slot: float, tokens: float) -> float:
    """Admit a request that holds `slot`, if it may go now.

    Returns seconds to wait: 0 when it is admitted, infinite when it waits for others to end.
    """
    wait = slot - now
    if limits.tokens_per_minute is not None:
        wait = max(wait, state.next_tokens - TOKEN_BURST - now)
    if wait > 0:
        return wait
    mine = state.owners.setdefault(owner, Presence())
    if not _has_room(state, limits, mine, now):
        mine.waiting_at = now
        return math.inf
    if state.lowered_at == NEVER:
        state.lowered_at = now
    mine.in_flight += 1
    mine.waiting_at = NEVER
    state.admitted += 1
    state.touched = now
    if limits.tokens_per_minute is not None:
        state.next_tokens = max(state.next_tokens, now) + _seconds(tokens, limits.tokens_per_minute)
    return 0.0


def accepted(state: State) -> None:
    """The endpoint has begun to answer a request: there is room for more at once."""
    if state.narrowed_at == NEVER:
        state.window = min(state.window + 1, WIDEST)
    else:
        state.window += 1 / state.window


def too_often(state: State, limits: Limits, sent: float, now: float) -> None:
    """A request sent at `sent` was answered 429."""
    if sent >= state.lowered_at:
        _end_episode(state, limits, now)
        state.next_slot = NEVER  # whoever holds a slot takes a new one
    elif sent < state.last.begun:
        return
    # Also a late answer to what was sent in the last episode: it corrects what that one told.
    state.last.admitted -= 1
    state.rate = max(_lowered(state.last), SLOWEST)
    state.next_slot = max(state.next_slot, now + 1 / state.rate)


def _end_episode(state: State, limits: Limits, now: float) -> None:
    passed = max(now - state.lowered_at, 1e-3)
    usable = state.admitted > ENOUGH or (state.admitted > FEW and passed >= LONG)
    rate = rate_now(state, limits)
    if rate < math.inf:
        state.known = max(state.known, float(usable))
        state.short += not usable
    state.last = Episode(state.lowered_at, passed, state.admitted, rate, float(usable))
    state.lowered_at, state.grown, state.admitted = now, 0.0, 0.0


def _lowered(last: Episode) -> float:
    seen = max(last.admitted, 0.0) / last.passed
    if last.rate == math.inf:
        return max(FIRST_LEAST, FIRST_SHARE * seen)
    if not last.usable:
        return BLIND * last.rate
    return min(STEP * last.rate, max(STEP * seen, DEEPEST * last.rate))


def too_many(state: State, sent: float, crowd: int, now: float) -> None:
    """A request sent at `sent`, as one of `crowd` in flight then, was answered 503 or 529."""
    if sent < state.narrowed_at:
        return
    state.window = max(1.0, NARROWER * min(state.window, crowd))
    state.narrowed_at = now


def ended(state: State, owner: Owner) -> None:
    """A request of `owner` is in flight no longer."""
    mine = state.owners.get(owner)
    if mine is not None:
        mine.in_flight = max(0, mine.in_flight - 1)
        _tidy(state, owner, mine)


def gave_up(state: State, owner: Owner) -> None:
    """`owner` does not wait any longer."""
    mine = state.owners.get(owner)
    if mine is not None:
        mine.waiting_at = NEVER
        _tidy(state, owner, mine)


def used_tokens(state: State, limits: Limits, reserved: float, used: float) -> None:
    """A request for which `reserved` tokens were counted used `used`."""
    if limits.tokens_per_minute is not None:
        state.next_tokens += _seconds(used - reserved, limits.tokens_per_minute)


def in_flight(state: State) -> int:
    """Requests of all owners in flight."""
    return sum(presence.in_flight for presence in state.owners.values())


def _has_room(state: State, limits: Limits, mine: Presence, now: float) -> bool:
    widest = state.window if limits.max_in_flight is None else min(state.window, limits.max_in_flight)
    if in_flight(state) + 1 > widest:
        return False
    # Whoever waits and has less goes first, or the one that took all places first would keep them.
    return not any(
        other.in_flight < mine.in_flight and now - other.waiting_at < RECENT for other in state.owners.values()
    )


def _tidy(state: State, owner: Owner, mine: Presence) -> None:
    if mine.in_flight == 0 and mine.waiting_at == NEVER:
        del state.owners[owner]


def _forget(state: State) -> None:
    fresh = State(owners=state.owners, next_tokens=state.next_tokens)
    for name in State.__slots__:
        setattr(state, name, getattr(fresh, name))


def _seconds(tokens: float, per_minute: float) -> float:
    return tokens / (DECLARED_SHARE * per_minute / 60)
