"""Messages between coordinator and supervisor: four bytes of length, then one `marshal`ed tuple.

`marshal` is the fastest there is and both ends are the same interpreter.
"""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pack(frame: tuple[Any, ...]) -> bytes:
    """One frame as bytes."""
    body = marshal.dumps(frame)
    return len(body).to_bytes(4, "little") + body


def take_frames(buffer: bytearray) -> list[tuple[Any, ...]]:
    """Take the whole frames off the front of `buffer`."""
    place, frames = 0, []
    with memoryview(buffer) as view:
        while len(buffer) - place >= 4:
            end = place + 4 + int.from_bytes(view[place : place + 4], "little")
            if end > len(buffer):
                break
            frames.append(marshal.loads(view[place + 4 : end]))  # noqa: S302 - our own other half wrote it
            place = end
    del buffer[:place]
    return frames
