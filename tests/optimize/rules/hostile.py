"""Hostile inputs as the judge makes them, and what a call gives, types and all."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from bakeoff.judge.codec import Incomparable, decode, encode
from bakeoff.optimize.behaviour.annotations import Annotations
from bakeoff.optimize.behaviour.hostile_inputs import MOST, hostile_calls

ANYTHING = Annotations(ast.parse("def f(*given): ...").body[0])  # type: ignore[arg-type]
MOST_LINES = 20_000
MORE_LINES = 20 * MOST_LINES
"""For a version whose helpers have lines that the original has not."""


class TooLong(BaseException):
    """A call that goes on and on."""


def variants(arguments: Sequence[Any], most: int = MOST) -> Iterator[list[Any]]:
    """What the judge of `optimize` would give in place of these."""
    try:
        call = encode((tuple(arguments), {}), consume=False)
    except Incomparable:
        return
    for message in hostile_calls({call: b""}, ANYTHING, most):
        yield list(decode(message)[0])


def outcome(function: Callable[..., Any], arguments: Sequence[Any], most: int = MOST_LINES) -> Any:
    """What a call gives or raises, with types, and what it leaves of its arguments; None where it goes on and on."""
    given = copy.deepcopy(list(arguments))
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > most:
            raise TooLong
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result: Any = typed(function(*given))
    except TooLong:
        return None
    except Exception as failure:
        result = f"raises {type(failure).__name__}"
    finally:
        sys.settrace(before)
    return result, typed(given)


def typed(value: Any, depth: int = 6) -> Any:
    """A value such that equal things of different types are different."""
    name = type(value).__name__
    if not depth:
        return name
    if isinstance(value, list | tuple):
        return name, [typed(each, depth - 1) for each in value]
    if isinstance(value, set | frozenset):
        return name, sorted(map(repr, (typed(each, depth - 1) for each in value)))
    if isinstance(value, dict):
        return name, [(typed(key, depth - 1), typed(each, depth - 1)) for key, each in value.items()]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return name, typed(vars(value), depth - 1)
    if hasattr(value, "__next__"):
        return name, [typed(each, depth - 1) for _, each in zip(range(1000), value, strict=False)]
    return name, repr(value)
