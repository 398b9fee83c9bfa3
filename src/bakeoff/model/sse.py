"""Server-sent events, as far as model endpoints use them: bytes in, the data of each event out."""

from __future__ import annotations

from collections.abc import Iterator


class EventDecoder:
    """Puts a stream's bytes together to events, wherever the network cut them.

    Only `data` matters: every endpoint repeats the name of an event inside its data.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of every event that `chunk` completes."""
        # A carriage return at the end may be half of a line's end.
        held = b"\r" if chunk.endswith(b"\r") else b""
        text = self._rest + chunk[: len(chunk) - len(held)]
        lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[str]:
        """The data of a last event that the stream's end completes, where its blank line is missing."""
        yield from self._line(self._rest.rstrip(b"\r"))
        yield from self._line(b"")
        self._rest = b""

    def _line(self, line: bytes) -> Iterator[str]:
        if not line:
            if self._data:
                yield "\n".join(self._data)
                self._data = []
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
