"""Verdict of one requirement on one output: passed, failed, or could not tell."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.model.protocol import Usage

UNDECIDED = "undecided"
SKIPPED = "skipped"
INVALID = "invalid"
"""The check itself says nothing: no test ran, or what was judged was another tree."""


_FIRST_WORD = re.compile(r"[\s*_\"'`]*(yes|no)\b(?!\s*(?:and|or|/|\|)\s*(?:yes|no)\b)[\s*_\"'`.,:;!-]*", re.IGNORECASE)
_YES_NO = {"yes": True, "no": False, True: True, False: False}
_MOST = 1e300
"""No score is larger; none is no number."""


def as_bool(value: object) -> bool | None:
    """A truth value, numpy's `True_` and `False_` included, as a bool; None for anything else."""
    numpys = type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")
    return bool(value) if numpys or isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The verdict of a requirement.

    Attributes:
        result: whether the output meets the requirement.
        reason: why, for a person and for the next attempt.
        score: how well, where the requirement can say: any finite number, higher is better. Best-of-n and the choice
            of the best failure add up the scores of an output.
        error: why it could not be judged (`undecided`, `invalid`, `timeout`, `skipped`, or what was raised); never a
            pass.
        usage: what a model that judged reported.
        receipt: the evidence, where there is any.

    Raises:
        TypeError: `result` is neither True nor False.
        ValueError: it is True beside an error.
    """

    result: bool
    reason: str = ""
    score: float | None = None
    error: str | None = None
    usage: Usage | None = None
    receipt: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        truth = as_bool(self.result)
        if truth is None:
            raise TypeError(f"a verdict is True or False, not {self.result!r}")
        object.__setattr__(self, "result", truth)
        if self.result and self.error is not None:
            raise ValueError(f"what could not be judged has not passed: {self.error}")

    def __bool__(self) -> bool:
        return self.result

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, `error`, `invalid`, `undecided` or `skipped`."""
        if self.error is None:
            return "passed" if self.result else "failed"
        return self.error if self.error in (UNDECIDED, SKIPPED, INVALID) else "error"


SKIP = ValidationResult(False, "not judged: an earlier requirement was not met", error=SKIPPED)


def verdict_of(value: object) -> ValidationResult:
    """Verdict from what a validator returned; anything but a bool, (bool, text) or a verdict is an error."""
    if isinstance(value, ValidationResult):
        return value
    if (truth := as_bool(value)) is not None:
        return ValidationResult(truth)
    match value:
        case (result, str(reason)) if (truth := as_bool(result)) is not None:
            return ValidationResult(truth, reason)
    close = getattr(value, "close", None)
    if callable(close) and hasattr(value, "send"):
        close()  # a coroutine: it would warn that nobody awaited it
        said = "a coroutine that nobody awaits: make the function itself async"
    else:
        said = f"{type(value).__name__} {value!r:.100}"
    return ValidationResult(False, error=f"a validator returns True, False, (bool, reason) or a verdict; not {said}")


def read_answer(text: str) -> tuple[bool | None, str, float | None]:
    """Verdict (None: undecided), reason and score in a judge's answer."""
    if text.lstrip().startswith("{"):
        return _read_json(text)
    found = _FIRST_WORD.match(text)
    if found is None:
        return None, "", None
    return found[1].lower() == "yes", text[found.end() :].strip(), None


def _read_json(text: str) -> tuple[bool | None, str, float | None]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None, "", None
    if not isinstance(data, dict):
        return None, "", None
    given = data.get("verdict", data.get("answer"))
    key = given.strip().lower() if isinstance(given, str) else given
    result = _YES_NO.get(key) if isinstance(key, (str, bool)) else None
    score = data.get("score")
    number = float(score) if isinstance(score, (int, float)) and abs(score) < _MOST else None
    reason = data.get("reason", "")
    said = reason if isinstance(reason, str) else json.dumps(reason)
    return result, said, None if isinstance(score, bool) else number


def to_json(result: ValidationResult) -> dict[str, Any]:
    """A verdict as a run keeps it."""
    data: dict[str, Any] = {"result": result.result}
    for name in ("reason", "score", "error"):
        if (value := getattr(result, name)) not in (None, ""):
            data[name] = value
    if result.usage is not None:
        used = result.usage
        data["usage"] = [used.input_tokens, used.output_tokens, used.cached_tokens, used.usd]
    if result.receipt:
        data["receipt"] = dict(result.receipt)
    return data


def from_json(data: Mapping[str, Any]) -> ValidationResult:
    """The verdict that `to_json` was given."""
    usage = data.get("usage")
    return ValidationResult(
        data["result"],
        data.get("reason", ""),
        data.get("score"),
        data.get("error"),
        None if usage is None else Usage(*usage),
        data.get("receipt"),
    )
