"""Options that several jobs have: the same word means the same in each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, get_args

from bakeoff.errors import BakeoffError
from bakeoff.options.kinds import LEVEL, SECONDS, USD, Choice, Number, Text, Texts
from bakeoff.options.option import Option

CHECKS = Option(Texts(command=True), "Commands that must end with exit status 0.", "--check", "CMD")
CHECK_TIMEOUT = Option(SECONDS, "Seconds for one check.")
BASE = Option(Text(), "A commit to start from instead of the files as they are.", metavar="REF")

CEILINGS = ("max_cost", "max_tokens", "max_calls")
"""Options that are the budget of a run; a resumed one may be given others."""
MAX_COST = Option(USD, "Ceiling on money, in US dollars.", metavar="USD")
MAX_TOKENS = Option(Number(above=0), "Ceiling on tokens.", metavar="N")
MAX_CALLS = Option(Number(above=0), "Ceiling on calls of agents and models.", metavar="N")

SANDBOX = Option(
    LEVEL,
    "What must hold back code that nobody has read: all, what this machine can do, nothing; the setting if left out.",
)

Output = Literal["same", "any"]
BENCH_OUTPUT = Option(Choice(get_args(Output)), "Whether the command that is timed must print the same as before.")
MIN_SPEEDUP = Option(Number(least=1), "What the lower bound of the speed-up must reach.")
MEASURING = Option(Number(above=0), "Seconds of measuring for one race.")


def changed_amounts(inputs: Mapping[str, str], known: tuple[str, ...], of: str) -> dict[str, float]:
    """Amounts that a run goes on with instead of its own, out of texts.

    Raises:
        BakeoffError: something else was given, or no number above 0.
    """
    found: dict[str, float] = {}
    for name, text in inputs.items():
        if name not in known:
            named = f"{', '.join(known[:-1])} and {known[-1]}"
            raise BakeoffError(f"-i {name}: of {of} only {named} can be changed")
        try:
            found[name] = float(text)
        except ValueError:
            raise BakeoffError(f"-i {name}={text}: it must be a number") from None
        if not math.isfinite(found[name]) or found[name] <= 0:
            raise BakeoffError(f"-i {name}={text}: it must be a number above 0")
    return found
