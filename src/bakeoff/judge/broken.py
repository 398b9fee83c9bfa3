"""Broken builds: code that a check cannot even load, so that no test says anything of it."""

from __future__ import annotations

import re

from bakeoff.judge.verdict import ValidationResult

LONGEST = 500
"""Characters of a line beyond which it is not looked at."""

_SIGNS = re.compile(
    r"(?:E\s+|\w+: )*(?:ModuleNotFoundError|ImportError(?! while)|SyntaxError|IndentationError|TabError)\b"
    r"|.*(?:Cannot find module|error\[E\d+\]|: undefined: |\[build failed\]|could not compile|error TS\d+:)"
)


def broken(verdict: ValidationResult) -> str | None:
    """The line that says why the code could not be loaded; None where it could, or nobody can say.

    A failed verdict is meant where no test passed and the output names an import, a syntax or a build that failed.
    """
    if verdict.result or verdict.error is not None:
        return None
    tests = (verdict.receipt or {}).get("tests")
    if isinstance(tests, dict) and (tests.get("ran") or 0) > (tests.get("failed") or 0):
        return None
    lines = (line.strip() for line in verdict.reason.splitlines() if len(line) <= LONGEST)
    return next((line.removeprefix("E").strip() for line in lines if _SIGNS.match(line)), None)


def is_near(verdict: ValidationResult) -> bool:
    """Whether a verdict tells that its requirement was nearly met: what was judged was loaded, and judged."""
    return not verdict.result and verdict.error is None and broken(verdict) is None
