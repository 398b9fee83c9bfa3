"""For each rule the arguments on which its own first case takes long: for counting steps, and for measuring."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.optimize.rules.cases import FOLDER, Case, read

SIZE = 400


def _numbers(n: int) -> list[int]:
    return random.Random(n).choices(range(10 * n), k=n)


ARGUMENTS: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "accumulate": lambda n: (_numbers(n),),
    "aggregate": lambda n: (_numbers(n),),
    "any-of": lambda n: (5, "zebra"),
    "bind": lambda n: (_numbers(n),),
    "by-place": lambda n: ({x: list(range(9)) for x in range(n // 8)}, list(range(9))),
    "closure": lambda n: ([n], [(i + 1, i) for i in range(n)]),
    "comprehension": lambda n: (_numbers(n), 3),
    "copy": lambda n: (_numbers(n),),
    "count-range": lambda n: (_numbers(n),),
    "constant-set": lambda n: (["hat"] * n,),
    "counts": lambda n: (_numbers(n),),
    "counter": lambda n: ([x % 50 for x in _numbers(n)],),
    "deep-copy": lambda n: ([_numbers(20)] * (n // 10),),
    "deque": lambda n: ({0: list(range(1, 20 * n))}, 0),
    "early-exit": lambda n: ([1, 5, *_numbers(n)],),
    "extreme": lambda n: (_numbers(n),),
    "filter": lambda n: ([{"who": x, "n": 1} for x in _numbers(n)], list(range(n))),
    "first-only": lambda n: (_numbers(n), 1),
    "grouping": lambda n: ([(x % 20, x) for x in _numbers(n)],),
    "heap": lambda n: ({k: [(x % n, x % 7 + 1) for x in _numbers(10)] for k in range(n)}, 0),
    "hoist": lambda n: ([_numbers(n // 4)] * (n // 4), n // 4),
    "index-below": lambda n: (list(range(n // 2)), [(x, 1) for x in range(n // 2)]),
    "index-join": lambda n: (
        [{"id": x, "name": str(x)} for x in range(n)],
        [{"user": x % n, "n": x % 3} for x in _numbers(n)],
    ),
    "inline": lambda n: (_numbers(n),),
    "insert-front": lambda n: (10 ** (n // 4),),
    "insort": lambda n: (_numbers(n),),
    "invariant": lambda n: ([x + 1 for x in _numbers(n)],),
    "iterate": lambda n: (_numbers(n),),
    "join": lambda n: (_numbers(n),),
    "join-list": lambda n: (_numbers(n),),
    "list-concat": lambda n: (_numbers(n),),
    "loop-constant": lambda n: (_numbers(n // 2),),
    "lookup": lambda n: ([4] * n,),
    "membership-set": lambda n: (_numbers(n), _numbers(n)),
    "membership-view": lambda n: (dict.fromkeys(range(n)), n // 2),
    "memo": lambda n: (min(n // 8, 18),),
    "modular-power": lambda n: (3, 10 * n, 10**9 + 7),
    "multiset": lambda n: (_numbers(n), _numbers(n)[::-1]),
    "nearest": lambda n: ({x: [((x * 7 + k) % n, k) for k in (1, 2)] for x in range(n)}, 0),
    "once": lambda n: ([_numbers(20)] * (n // 10),),
    "ordered-set": lambda n: ([x % n for x in _numbers(n)], n // 2),
    "pairs": lambda n: (_numbers(n // 2),),
    "positions": lambda n: (list(range(n)), list(range(n))[::-1]),
    "prefix-sums": lambda n: (_numbers(n),),
    "ranks": lambda n: (_numbers(n // 2),),
    "remember-below": lambda n: (_numbers(n // 2),),
    "remember": lambda n: ([x % 50 for x in _numbers(n)],),
    "search": lambda n: (_numbers(n), -1),
    "seen-set": lambda n: (_numbers(n),),
    "sort": lambda n: (_numbers(n // 2),),
    "steady-call": lambda n: (_numbers(n // 2),),
    "sum": lambda n: (_numbers(n),),
    "trial-division": lambda n: ({100: 97, 400: 397}.get(n, 1999),),
    "translate": lambda n: ("hello world " * (n // 10),),
    "window": lambda n: (_numbers(n), n // 4),
}

IN_C = {
    "copy": "one call in place of three comprehensions",
    "any-of": "one instruction in place of three comparisons",
    "count-range": "the loop's test and increment are gone",
}


def example(rule: str) -> Case:
    """The first case of a rule that has an after."""
    return next(case for case in read(FOLDER / f"{rule}.cases") if case.after)


def function(case: Case, text: str) -> Callable[..., Any]:
    """The function that a text of a case defines."""
    space: dict[str, Any] = {"__name__": "case"}
    exec(compile(text, f"<{case.rule}>", "exec"), space)
    if "class A:" in text:
        return space["A"]().f  # type: ignore[no-any-return]
    return space["f"]  # type: ignore[no-any-return]
