"""Keeps the values of named secrets out of everything that is written or shown."""

from __future__ import annotations

import json
from collections.abc import Mapping

MASK = "***"
SHORTEST = 8
"""Bytes below which a value is not masked: it would blacken innocent text."""


class Masker:
    """Replaces secret values, also in their JSON-escaped form, in text and bytes."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        forms: set[str] = set()
        for value in (secrets or {}).values():
            if len(value.encode()) >= SHORTEST:
                forms |= {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        # Longest first, so that a secret inside another never leaves the rest of the longer one behind.
        self.forms = tuple(sorted(forms, key=len, reverse=True))

    def text(self, text: str) -> str:
        """`text` with every secret replaced."""
        for form in self.forms:
            text = text.replace(form, MASK)
        return text
