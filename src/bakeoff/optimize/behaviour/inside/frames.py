"""Frames on a socket: a header of JSON and some parts of bytes, of limited size whoever sent them."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

HEAD = struct.Struct("<4sII")
MARK = b"bkof"
HEADER_LIMIT = 16 << 20
"""Bytes: the names of some hundred thousand tests."""
PARTS_LIMIT = 256 << 20

Frame = tuple[dict[str, Any], list[bytes]]


class BrokenFrame(Exception):
    """Data that is no frame: somebody else wrote to the socket."""


class LateFrame(Exception):
    """There was none in time."""


def pack(header: dict[str, Any], parts: list[bytes] | tuple[bytes, ...] = ()) -> bytes:
    """A frame as bytes."""
    data = json.dumps([header, [len(part) for part in parts]]).encode()
    return b"".join([HEAD.pack(MARK, len(data), sum(map(len, parts))), data, *parts])


def sizes(head: bytes) -> tuple[int, int]:
    """Sizes of header and parts of a frame, told by its first `HEAD.size` bytes.

    Raises:
        BrokenFrame: they are no frame's, or it is too large.
    """
    mark, header, parts = HEAD.unpack(head)
    if mark != MARK or header > HEADER_LIMIT or parts > PARTS_LIMIT:
        raise BrokenFrame("something that is no frame")
    return header, parts


def unpack(header: bytes, body: bytes) -> Frame:
    """The frame of these bytes.

    Raises:
        BrokenFrame: they are none.
    """
    try:
        found, lengths = json.loads(header)
        if not isinstance(found, dict) or sum(lengths) != len(body) or any(length < 0 for length in lengths):
            raise BrokenFrame("lengths that do not fit")
        parts, start = [], 0
        for length in lengths:
            parts.append(body[start : start + length])
            start += length
    except (ValueError, TypeError, RecursionError) as failure:
        raise BrokenFrame("something that is no frame") from failure
    return found, parts


def send(link: socket.socket, header: dict[str, Any], parts: list[bytes] | tuple[bytes, ...] = ()) -> None:
    """Send a frame, waiting for room."""
    link.sendall(pack(header, parts))


def receive(link: socket.socket, deadline: float | None = None) -> Frame | None:
    """The next frame; None at the end.

    Passes on LateFrame: it did not come before the deadline (of `time.monotonic`). Passes on BrokenFrame.
    """
    head = _exactly(link, HEAD.size, deadline)
    if head is None:
        return None
    header, body = sizes(head)
    first = _exactly(link, header, deadline)
    rest = _exactly(link, body, deadline)
    if first is None or rest is None:
        return None
    return unpack(first, rest)


def _exactly(link: socket.socket, size: int, deadline: float | None, clock: Any = time.monotonic) -> bytes | None:
    """So many bytes; None at the end.

    Raises:
        LateFrame: they did not come in time.
    """
    data = bytearray()
    while len(data) < size:
        if deadline is not None:
            left = deadline - clock()
            if left <= 0:
                raise LateFrame
            link.settimeout(left)
        try:
            piece = link.recv(min(size - len(data), 1 << 20))
        except TimeoutError:
            raise LateFrame from None
        except ConnectionError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)
