"""Temporary folders in messages: the random part of a name that `tempfile` made, replaced so that it does not count.

`mkdtemp()` and `TemporaryDirectory()` name each folder anew. What two runs of a function give is the same if it is but
for that name.
"""

from __future__ import annotations

import re

_RANDOM = re.compile(rb"(?<=/tmp/tmp)[a-z0-9_]{8}")
PLACES = 8
"""Characters of the random part; what replaces it has as many, so that lengths in a message stay right."""


def neutral(data: bytes) -> bytes:
    """A message (or what was printed) with its temporary folders below `/tmp` numbered, in the order they occur in.

    Two messages that are equal then are equal but for these names: different folders stay different ones. Made twice it
    is as made once. What comes out is for comparing; only the message itself says where the folders are.
    """
    if b"/tmp/tmp" not in data:
        return data
    known: dict[bytes, bytes] = {}

    def numbered(found: re.Match[bytes]) -> bytes:
        return known.setdefault(found.group(), b"%0*d" % (PLACES, len(known)))

    return _RANDOM.sub(numbered, data)
