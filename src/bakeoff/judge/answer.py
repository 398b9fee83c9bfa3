"""The verdict in a judging model's answer, by a strict protocol: yes, no, or undecided."""

from __future__ import annotations

import json
import re

_FIRST_WORD = re.compile(r"[\s*_\"'`]*(yes|no)\b(?!\s*(?:and|or|/|\|)\s*(?:yes|no)\b)[\s*_\"'`.,:;!-]*", re.IGNORECASE)
_YES_NO = {"yes": True, "no": False, True: True, False: False}
MOST = 1e300
"""No score is larger; none is no number."""


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
    number = float(score) if isinstance(score, (int, float)) and abs(score) < MOST else None
    reason = data.get("reason", "")
    said = reason if isinstance(reason, str) else json.dumps(reason)
    return result, said, None if isinstance(score, bool) else number
