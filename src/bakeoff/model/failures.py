"""Failure kinds, told from what an endpoint answered: status, headers, body, events of a stream."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from bakeoff.model.protocol import Kind, ModelError

LONGEST_TEXT = 500
LONGEST_PAGE = 4096
"""Characters of a page that are looked at: patterns take time that grows with the square of that."""
"""Characters of an endpoint's own words that a message repeats."""

_WORDS: tuple[tuple[Kind, str], ...] = (
    (
        "context_length",
        r"context_length_exceeded|context_window_exceeded|string_above_max_length|exceed_context_size\w*",
    ),
    ("refusal", r"content_filter|content_policy_violation|responsibleaipolicyviolation|prohibited_content"),
    ("rate_limit", r"rate_limit\w*|too_many_requests|resource_exhausted|throttl\w*|tokens|requests"),
    ("overload", r"overloaded\w*|server_overloaded|unavailable\w*|engine_overloaded|capacity\w*|model_loading"),
    ("auth", r"authentication\w*|permission\w*|invalid_api_key|unauthori[sz]ed|unauthenticated|billing\w*|forbidden"),
    ("not_found", r"not_found\w*|model_not_found|deployment_?notfound"),
    ("timeout", r"timeout\w*|deadline_exceeded"),
    ("server", r"api_error|server_error|internal\w*|vector_store_timeout|bad_gateway"),
    ("bad_request", r"invalid_request\w*|invalid_prompt|invalid_argument|unsupported\w*|invalid_value|badrequest\w*"),
)
_KINDS = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _WORDS)
TOO_LONG = (
    r"context (?:length|window|size)|prompt is too long|too many (?:input )?tokens|maximum (?:context|input)|"
    r"input (?:is|was) too long|exceeds? the (?:available )?context|reduce the length"
)
"""Words of endpoints, whatever their case, for a request that is longer than the model takes."""
_TOO_LONG = re.compile(TOO_LONG, re.IGNORECASE)
_STATUS: Mapping[int, Kind] = {
    400: "bad_request",
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    409: "server",
    413: "context_length",
    422: "bad_request",
    425: "server",
    429: "rate_limit",
    503: "overload",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    529: "overload",
}
SAID: Mapping[Kind, str] = {
    "rate_limit": "the rate limit is reached",
    "overload": "the endpoint is overloaded",
    "timeout": "the endpoint took too long",
    "auth": "the key or login was not accepted",
    "bad_request": "the request was not accepted",
    "not_found": "there is no such model or path",
    "cut": "the answer was cut short",
    "refusal": "the model refused",
    "context_length": "the request is too long for the model",
    "server": "the endpoint failed",
    "connection": "the endpoint could not be reached",
}


def from_response(status: int, headers: Mapping[str, str], body: bytes, where: str) -> ModelError:
    """The failure that an HTTP answer tells of; a success whose body is no answer is one, too.

    Args:
        status: the HTTP status.
        headers: by name in lower case.
        body: as much of it as is worth reading.
        where: names model and endpoint, for the message.
    """
    text = body.decode("utf-8", "replace")
    if 300 <= status < 400:
        text = f"it has moved to {headers.get('location', 'another place')}; correct base_url"
        return ModelError(_said(where, "not_found", None, text), "not_found", status=status)
    try:
        error = error_of(json.loads(text))
    except (ValueError, RecursionError):
        error = None
    found = from_error(error, where, status) if error else _from_status(status, visible(text), where)
    found.retry_after = retry_after(headers)
    found.request_id = request_id(headers)
    return found


def from_error(error: Mapping[str, Any], where: str, status: int | None = None) -> ModelError:
    """The failure that an error object tells of, from a body or from the middle of a stream."""
    message = visible(str(error.get("message") or ""))
    names = [str(error[key]) for key in ("code", "type", "status") if isinstance(error.get(key), str)]
    inner = error.get("innererror")
    if isinstance(inner, dict) and isinstance(inner.get("code"), str):
        names.insert(0, inner["code"])
    kind = next((kind for name in names for kind, words in _KINDS if words.fullmatch(name)), None)
    code = status if status and status >= 400 else _number(error.get("code"))
    if code is not None and (kind in (None, "server") or (kind == "bad_request" and code not in (400, 422))):
        kind = _STATUS.get(code, kind)
    if kind in (None, "bad_request") and code not in (401, 403, 404) and _TOO_LONG.search(message):
        kind = "context_length"
    if kind is None:
        return _from_status(code or 500, message, where)
    # The account has run dry: the status of a rate limit, but waiting does not help.
    dry = any(re.search("insufficient_quota|billing", name, re.IGNORECASE) for name in names)
    transient = False if dry else None
    return ModelError(_said(where, kind, code, message), kind, status=code, transient=transient)


def error_of(body: Any) -> Mapping[str, Any] | None:
    """The error object in a decoded body or event; None when it holds none."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, dict) and error:
        return error
    if isinstance(error, str) and error:
        return {"message": error, "code": body.get("code"), "type": body.get("type")}
    if body.get("type") == "error" or body.get("object") == "error":
        return body
    for key in ("detail", "message"):
        if isinstance(body.get(key), str | list) and not body.keys() & {"choices", "content", "output"}:
            return {"message": body[key] if isinstance(body[key], str) else json.dumps(body[key])}
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, from `Retry-After` (seconds or an HTTP date) or `retry-after-ms`."""
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    when = _date(headers.get("retry-after", ""))
    if when is None:
        return None
    # By the server's own clock where it tells it: ours may be wrong.
    now = _date(headers.get("date", ""))
    return max(0.0, when - (time.time() if now is None else now))


def request_id(headers: Mapping[str, str]) -> str | None:
    """The name that the provider gave the request."""
    return headers.get("x-request-id") or headers.get("request-id") or headers.get("apim-request-id")


def _from_status(status: int, text: str, where: str) -> ModelError:
    kind: Kind
    if status < 400:
        kind, text = "server", f"its answer (status {status}) is none that can be read: {text or 'nothing'}"
    else:
        kind = _STATUS.get(status) or ("bad_request" if status < 500 else "server")
    if kind == "bad_request" and _TOO_LONG.search(text):
        kind = "context_length"
    return ModelError(_said(where, kind, status, text), kind, status=status)


def _said(where: str, kind: Kind, status: int | None, text: str) -> str:
    code = f" (HTTP {status})" if status and status >= 400 else ""
    return f"{where}: {SAID[kind]}{code}" + (f": {text}" if text else "")


def visible(text: str) -> str:
    """Visible text of `text`, which may be a proxy's HTML page, on one line."""
    text = text[:LONGEST_PAGE]
    if re.search(r"<html|<!doctype|<body", text, re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        named = f" titled {' '.join(title[1].split())!r}" if title else ""
        plain = re.sub(r"(?is)<(script|style|title)\b.*?</\1>|<[^>]*>", " ", text)
        text = f"an HTML page{named}: {plain}"
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else line[: LONGEST_TEXT - 3] + "..."


def _number(code: Any) -> int | None:
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
