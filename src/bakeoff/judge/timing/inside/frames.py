"""Messages over pipes: the sizes of both parts, a header in JSON, then bytes."""

from __future__ import annotations

import json
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZES = struct.Struct("<II")
HEADER_LIMIT = 4 << 20
BODY_LIMIT = 128 << 20


class Broken(Exception):
    """The other end is gone, or sent what is no message."""


def packed(header: dict[str, Any], body: bytes = b"") -> bytes:
    """A message."""
    text = json.dumps(header).encode()
    return SIZES.pack(len(text), len(body)) + text + body


def sizes(data: bytes) -> tuple[int, int]:
    """Sizes of header and body, from the first bytes of a message.

    Raises:
        Broken: it is too large.
    """
    header, body = SIZES.unpack(data)
    if header > HEADER_LIMIT or body > BODY_LIMIT:
        raise Broken(f"a message of {header} and {body} bytes")
    return header, body


def parsed(text: bytes) -> dict[str, Any]:
    """The header of a message.

    Raises:
        Broken: it is no JSON object.
    """
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise Broken("a header that is no JSON") from None
    if type(header) is not dict:
        raise Broken("a header that is no object")
    return header


def write(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read(descriptor: int) -> tuple[dict[str, Any], bytes]:
    """Wait for a message.

    Passes on Broken: there comes none.
    """
    header, body = sizes(_exactly(descriptor, SIZES.size))
    return parsed(_exactly(descriptor, header)), _exactly(descriptor, body)


def _exactly(descriptor: int, count: int) -> bytes:
    pieces = []
    while count:
        piece = os.read(descriptor, min(count, 1 << 20))
        if not piece:
            raise Broken("the other end is gone")
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
