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
    "affixes": lambda n: ("x" * n,),
    "any-loop": lambda n: (list(range(n)), -1),
    "by-place": lambda n: ({x: list(range(9)) for x in range(n // 8)}, list(range(9))),
    "comprehension": lambda n: ([_numbers(n)],),
    "count-range": lambda n: (list(range(n)), n),
    "counts": lambda n: (_numbers(n),),
    "hoist": lambda n: ([_numbers(n)] * n, n),
    "index-join": lambda n: (
        [{"id": x, "name": str(x)} for x in range(n)],
        [{"user": x % n, "n": x % 3} for x in _numbers(n)],
    ),
    "invariant": lambda n: ([str(x) for x in _numbers(n)],),
    "iterate": lambda n: (_numbers(n),),
    "join-list": lambda n: (_numbers(n),),
    "joined-lists": lambda n: ([[x] for x in range(n)],),
    "list-concat": lambda n: (_numbers(n),),
    "membership-set": lambda n: (_numbers(n), _numbers(n)),
    "modular-power": lambda n: (3, 10 * n, 10**9 + 7),
    "pattern": lambda n: ("a  b " * n,),
    "remember-below": lambda n: (_numbers(n // 2),),
    "remember": lambda n: ([x % 50 for x in _numbers(n)],),
    "seen-set": lambda n: (_numbers(n),),
    "trailing-zeros": lambda n: (3 << n,),
    "trial-division": lambda n: ({100: 97, 400: 397}.get(n, 1999),),
}


def example(rule: str) -> Case:
    """The first case of a rule that has an after."""
    return next(case for case in read(FOLDER / f"{rule}.cases") if case.after)


def function(case: Case, text: str) -> Callable[..., Any]:
    """The function that a text of a case defines."""
    space: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, f"<{case.rule}>", "exec"), space)
    if "class A:" in text:
        return space["A"]().f  # type: ignore[no-any-return]
    return space["f"]  # type: ignore[no-any-return]
