"""Names the sort of a failure from what a CLI says about it, so that retries and people know what it was."""

from __future__ import annotations

import re

KINDS = (
    "rate-limit",
    "overload",
    "timeout",
    "auth",
    "refusal",
    "cut-stream",
    "budget",
    "turns",
    "output",
    "missing",
    "spawn",
    "agent",
)
"""Every kind an agent's failure can have; `agent` where nothing more is known."""

LIMITED = ("rate-limit", "overload")
"""Kinds that say that the model would have answered at another time."""

_SIGNS = (
    ("rate-limit", r"\b429\b|rate.?limit|too many requests|resource.?exhausted|quota|usage limit"),
    ("overload", r"\b(?:502|503|504|529)\b|overloaded|service.?unavailable|high demand|at capacity|UNAVAILABLE"),
    (
        "auth",
        r"\b40[13]\b|unauthori[sz]ed|not logged in|please run /login|invalid (?:auth|api.?key|x-api-key)|"
        r"(?:auth\w*|api.?key|credentials?)\b.{0,40}\b(?:missing|required|not (?:set|found)|must|fail|expired|invalid)|"
        r"(?:set|no|provide)\b.{0,30}\b(?:api.?key|auth method|credentials)|permission.?denied.*\bapi\b",
    ),
    ("refusal", r"refus(?:al|ed to)|content.?filter|content.?policy|usage policy|\bSAFETY\b|prohibited.?content"),
    ("timeout", r"timed?.?out\b|deadline exceeded|ETIMEDOUT"),
    (
        "cut-stream",
        r"stream (?:disconnected|closed|ended|error)|disconnected before completion|premature|socket hang up|"
        r"ECONNRESET|ECONNREFUSED|EPIPE|connection (?:error|reset|closed|aborted|refused)|fetch failed|terminated|"
        r"invalid.?stream|incomplete (?:json|response|stream)|empty (?:response|stream)|no finish reason|"
        r"other side closed|error sending request|error decoding|malformed response|ended without sending",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for kind, pattern in _SIGNS)


def kind_of(text: str) -> str | None:
    """The sort of failure that `text` tells of, or None where it tells none."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(text)), None)


_PAUSE = re.compile(
    r"(?:try again|retry\w*|resets?|wait)\b[^0-9\n]{0,20}((?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)[a-z]*\s*)+)"
    r"|retry.?after[\"']?\s*[:=]?\s*(\d+(?:\.\d+)?)(?!\s*[a-z\d.])",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def pause_of(text: str) -> float | None:
    """Seconds after which `text` says that trying again may help, or None where it says nothing of it."""
    match = _PAUSE.search(text)
    if match is None:
        return None
    if match[2]:
        return float(match[2])
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(match[1]))


def one_line(text: str, limit: int = 400) -> str:
    """`text` on one line, cut in the middle of a sentence if it must be."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
