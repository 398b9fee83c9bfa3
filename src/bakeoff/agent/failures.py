"""Failure kinds, told from what a CLI says of a failure, so that retries and people know what it was."""

from __future__ import annotations

import re

from bakeoff.model.failures import TOO_LONG

KINDS = (
    "rate-limit",
    "overload",
    "context-length",
    "connection",
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

LOOKED_AT = 1 << 16
"""Characters at the end of a text that are looked at."""

LONGEST_PAUSE = 30 * 86_400.0
"""Seconds; who asks for more asks for this."""

LIMITED = ("rate-limit", "overload")
"""Kinds that say that the model would have answered at another time."""

_SIGNS = (
    ("rate-limit", r"\b429\b|rate.?limit|too many requests|resource.?exhausted|quota|usage limit"),
    ("overload", r"\b(?:502|503|504|529)\b|overloaded|service.?unavailable|high demand|at capacity|UNAVAILABLE"),
    ("context-length", rf"{TOO_LONG}|context.?window.?exceeded|context.?overflow|context_length_exceeded"),
    ("connection", r"ECONNREFUSED|connection refused"),
    (
        "auth",
        r"\b40[13]\b|unauthori[sz]ed|not logged in|please run /login|invalid (?:auth|api.?key|x-api-key)|"
        r"(?:auth\w{0,20}|api.?key|credentials?)\b.{0,40}"
        r"\b(?:missing|required|not (?:set|found)|must|fail|expired|invalid)|"
        r"(?:set|no|provide)\b.{0,30}\b(?:api.?key|auth method|credentials)|permission.?denied.{0,200}\bapi\b",
    ),
    ("refusal", r"refus(?:al|ed to)|content.?filter|content.?policy|usage policy|\bSAFETY\b|prohibited.?content"),
    ("timeout", r"timed?.?out\b|deadline exceeded|ETIMEDOUT"),
    (
        "cut-stream",
        r"stream (?:disconnected|closed|ended|error)|disconnected before completion|premature|socket hang up|"
        r"ECONNRESET|EPIPE|connection (?:error|reset|closed|aborted)|fetch failed|terminated|"
        r"invalid.?stream|incomplete (?:json|response|stream)|empty (?:response|stream)|no finish reason|"
        r"other side closed|error sending request|error decoding|malformed response|ended without sending",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for kind, pattern in _SIGNS)


def kind_of(text: str) -> str | None:
    """The sort of failure that `text` tells of, or None where it tells none."""
    end = text[-LOOKED_AT:]
    return next((kind for kind, pattern in _PATTERNS if pattern.search(end)), None)


_ERROR_LINE = re.compile(
    r"^[^\w\n\"'{}]{0,4}(?:\[[^\]\n]*\]\s*)?(?:(?:fatal|api|http|request|unexpected|an?)[ _-]+)?"
    r"(?:[\w.]*(?:error|exception)|fatal)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)


def error_lines(text: str) -> str:
    """The lines of printed text in which a program tells of an error of its own, such as `Error: 429`.

    A CLI also prints what its tools said and what it works on, where a number or a word means nothing.
    """
    return "\n".join(match[0] for match in _ERROR_LINE.finditer(text[-LOOKED_AT:]))


_PAUSE = re.compile(
    r"(?:try again|retry\w{0,20}|resets?|wait)\b[^0-9\n]{0,20}"
    r"((?:\d{1,12}(?:\.\d{1,12})?\s{0,9}(?:ms|s|m|h|d)[a-z]{0,20}\s{0,9}){1,9})"
    r"|retry.?after[\"']?\s{0,9}[:=]?\s{0,9}(\d{1,12}(?:\.\d{1,12})?)(?!\s{0,9}[a-z\d.])",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)\s{0,9}(ms|s|m|h|d)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def pause_of(text: str) -> float | None:
    """Seconds after which `text` says that trying again may help, or None where it says nothing of it."""
    match = _PAUSE.search(text[-LOOKED_AT:])
    if match is None:
        return None
    if match[2]:
        return min(float(match[2]), LONGEST_PAUSE)
    seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in _SPAN.findall(match[1]))
    return min(seconds, LONGEST_PAUSE)


def one_line(text: str, limit: int = 400) -> str:
    """`text` on one line, cut in the middle of a sentence if it must be."""
    line = " ".join(text[: 40 * limit].split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
