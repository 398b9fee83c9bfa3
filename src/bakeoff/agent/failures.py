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


def one_line(text: str, limit: int = 400) -> str:
    """`text` on one line, cut in the middle of a sentence if it must be."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
