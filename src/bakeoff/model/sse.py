"""Server-sent events, as far as model endpoints use them: bytes in, the data of each event out."""

from __future__ import annotations

from collections.abc import Iterator


class EventDecoder:
    """Puts a stream's bytes together to events, wherever the network cut them.

    Only `data` matters: every endpoint repeats the name of an event inside its data.

    Attributes:
        pending: bytes of the event that is not complete yet.
    """

    def __init__(self) -> None:
        self.pending = 0
        self._held = b""
        self._line_parts: list[bytes] = []
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of every event that `chunk` completes."""
        # A carriage return at the end may be half of a line's end.
        text = self._held + chunk
        self._held = b"\r" if text.endswith(b"\r") else b""
        text = text[: len(text) - len(self._held)]
        *lines, rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            yield from self._line(self._whole(line))
        self._line_parts.append(rest)
        self.pending += len(rest)

    def end(self) -> Iterator[str]:
        """The data of a last event that the stream's end completes, where its blank line is missing."""
        yield from self._line(self._whole(b""))
        yield from self._line(b"")

    def _whole(self, last: bytes) -> bytes:
        """The line that `last` completes; joined only now, for a long one comes in many parts."""
        line = b"".join((*self._line_parts, last))
        self._line_parts.clear()
        self.pending += len(last)
        return line

    def _line(self, line: bytes) -> Iterator[str]:
        if not line:
            if self._data:
                yield "\n".join(self._data)
                self._data = []
            self.pending = 0
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
