"""Finding the first failing prefix, by testing one or several at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence


def first_failing(good: int, bad: int, width: int = 1) -> Generator[Sequence[int], Sequence[bool], int]:
    """The first length in `good + 1 ... bad` whose prefix fails.

    It yields the lengths to test next, at most `width`, and is sent whether each passed. What is found was seen to
    fail, or is `bad`; the one before it was seen to pass, or is `good`.

    Args:
        good: a length that passes.
        bad: a greater one that fails.
        width: how many are tested at once. With one the search takes the fewest tests, log2 of the range; with more
            it takes fewer rounds.
    """
    while bad - good > 1:
        lengths = sorted({good + (bad - good) * number // (width + 1) for number in range(1, width + 1)} - {good})
        passed = yield lengths
        for length, fine in zip(lengths, passed, strict=True):
            if not fine:
                bad = length
                break
            good = length
    return bad
