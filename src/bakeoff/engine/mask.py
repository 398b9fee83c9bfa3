"""Secrets masked: the values of named variables are kept out of everything that is written or shown."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 8
"""Bytes below which a value is not masked: it would blacken innocent text."""
_MOST_FORMS = 2000
"""Spellings kept of one secret; a long key has a few hundred."""


class Masker:
    """Replaces secret values in text, in every spelling that bakeoff makes of them.

    These are: stripped, each of its lines, its lines joined by blanks or nothing; and each of these quoted for a shell,
    as `repr` and JSON show it, escaped for HTML and encoded for a URL, also one on top of another.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        forms: set[str] = set()
        for value in (secrets or {}).values():
            forms.update(islice(_spellings(value), _MOST_FORMS))
        # Longest first, so that a secret inside another never leaves the rest of the longer one behind.
        self.forms = tuple(sorted(forms, key=len, reverse=True))

    def text(self, text: str) -> str:
        """`text` with every secret replaced."""
        for form in self.forms:
            text = text.replace(form, MASK)
        return text


def _spellings(value: str) -> Iterator[str]:
    known = dict.fromkeys(form for form in _shapes(value) if len(form.encode("utf-8", "surrogatepass")) >= SHORTEST)
    newest = list(known)
    for _ in range(_LAYERS):
        yield from newest
        found = dict.fromkeys(escape(form) for form in newest for escape in _ESCAPES)
        newest = [form for form in found if form not in known]
        known.update(dict.fromkeys(newest))
    yield from newest


def _shapes(value: str) -> Iterator[str]:
    yield value
    lines = value.splitlines()
    stripped = [line.strip() for line in lines]
    yield from (value.strip(), "\n".join(lines), " ".join(value.split()), "".join(value.split()), "".join(lines))
    yield from stripped
    yield from lines


_LAYERS = 3
"""Escapes on top of one another: `| json`, then `| sh`, and that in the JSON of the journal."""


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _in_json_readable(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _quoted(text: str) -> str:
    return shlex.quote(text)[1:-1] if shlex.quote(text) != text else text


def _shown(text: str) -> str:
    return repr(text)[1:-1]


def _shown_in_double(text: str) -> str:
    return repr(text + "'")[1:-2] if '"' not in text else repr(text)[1:-1]


def _escaped_for_repr(text: str) -> str:
    """As `repr` shows it inside a text that has quotes of both kinds."""
    return repr(text + "\"'")[1:-4]


def _in_url(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _in_path(text: str) -> str:
    return quote(text, safe="/:", errors="replace")


def _in_form(text: str) -> str:
    return quote_plus(text, errors="replace")


_ESCAPES: tuple[Callable[[str], str], ...] = (
    _in_json_readable,
    _in_json,
    _quoted,
    _shown,
    _shown_in_double,
    _escaped_for_repr,
    html.escape,
    _in_url,
    _in_path,
    _in_form,
)
