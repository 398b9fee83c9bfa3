"""Resolution of a clash: the merged file, the rule that made it, and why it may stand."""

from __future__ import annotations

from typing import NamedTuple

PROVEN = "proven"
"""The changes commute: whatever the order, this comes of them."""

CHOSEN = "chosen"
"""Something was chosen, as which of two additions comes first."""

TESTED = "tested"
"""Something was chosen, and the checks passed on what came of it."""


class Resolution(NamedTuple):
    """A clash that a rule resolved.

    Attributes:
        rule: its name.
        content: the merged file.
        why: `proven` or `chosen`.
        choices: what was chosen, in words.
    """

    rule: str
    content: bytes
    why: str
    choices: tuple[str, ...] = ()
