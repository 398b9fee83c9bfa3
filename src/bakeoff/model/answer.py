"""Assembly of one HTTP answer to a reading, whatever the endpoint and the proxies before it make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.model import failures
from bakeoff.model.protocol import ModelError
from bakeoff.model.wires import Reading, Wire

LARGEST = 64 * 1024 * 1024
"""Bytes of one answer; what sends more has lost its way."""
LARGEST_PART = 4 * 1024 * 1024
"""Bytes of what is parsed at once: an event, or an answer that comes as a whole."""
LARGEST_ERROR = 64 * 1024
"""Bytes that are read of an answer that is an error."""


class Answer:
    """An answer under way: `start` when its headers are there, then `feed`, then `finish`.

    Attributes:
        started: whether the headers were there.
        begun: whether a byte of the body was there.
        ended: whether nothing that matters follows.
    """

    def __init__(self, wire: Wire, where: str) -> None:
        self.reading = Reading()
        self.started = False
        self.begun = False
        self.ended = False
        self._wire = wire
        self._where = where
        self._status = 200
        self._headers: Mapping[str, str] = {}
        self._decoder = EventDecoder()
        self._raw = bytearray()
        self._events = 0
        self._size = 0
        self._broken: ModelError | None = None

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Take status and headers in, whose names are found in lower case."""
        self.started = True
        self._status, self._headers = status, headers

    def feed(self, chunk: bytes) -> None:
        """Take bytes in. It never fails, so that whoever reads can close the connection in order."""
        self.begun = True
        self._size += len(chunk)
        if self._status != 200:
            self._raw += chunk
            self.ended = self._size > LARGEST_ERROR
            return
        if self._size > LARGEST:
            self._break(f"is larger than {LARGEST} bytes", transient=False)
            return
        if not self._events:
            self._raw += chunk
        for data in self._decoder.feed(chunk):
            if not self.ended:
                self._take(data)
        if not self.ended and max(self._decoder.pending, len(self._raw)) > LARGEST_PART:
            self._break(f"has an event that is larger than {LARGEST_PART} bytes", transient=False)

    @property
    def is_whole(self) -> bool:
        """Whether it tells all that matters, though bytes may be missing."""
        return self.ended or self.reading.finish_reason is not None or (self.started and self._status != 200)

    def finish(self) -> Reading:
        """The reading, once no more bytes come, for whatever reason.

        Passes on ModelError: it is not whole, tells of an error, or was no answer at all.
        """
        failure = self._failed()
        request_id = failures.request_id(self._headers)
        if failure is not None:
            failure.request_id = request_id or self.reading.request_id
            if self.reading.usage.tokens is not None:
                failure.usage = self.reading.usage
            raise failure
        self.reading.request_id = request_id or self.reading.request_id
        return self.reading

    def _failed(self) -> ModelError | None:
        if self._status == 200 and not self.is_whole:
            for data in self._decoder.end():
                self._take(data)
        reading = self.reading
        if self._broken is not None:
            return self._broken
        if self._status != 200 or not (self._events or self._take_whole()):
            return failures.from_response(self._status, self._headers, bytes(self._raw[:LARGEST_ERROR]), self._where)
        if reading.error is not None:
            return failures.from_error(reading.error, self._where)
        if reading.refused:
            said = failures.visible("".join(reading.parts))
            return ModelError(f"{self._where}: {failures.SAID['refusal']}" + f": {said}" * bool(said), "refusal")
        if self._broken is None and reading.finish_reason is None:
            return ModelError(f"{self._where}: {failures.SAID['cut']} before its end", "cut")
        return self._broken

    def _take(self, data: str) -> None:
        self._events += 1
        self._raw.clear()
        if data.strip() == "[DONE]":
            self.ended = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self._break(f"has an event that is not JSON: {failures.visible(data)}")
            return
        self._event(event)

    def _break(self, what: str, transient: bool | None = None) -> None:
        self._broken = ModelError(f"{self._where}: the answer {what}", "server", transient=transient)
        self.ended = True

    def _take_whole(self) -> bool:
        """No events came: an endpoint that does not stream, an error, a page of something in between, or nothing."""
        if not self._raw.strip():
            return True
        try:
            self._event(json.loads(self._raw))
        except (ValueError, RecursionError):
            return False
        return self.ended or self.reading.finish_reason is not None

    def _event(self, event: Any) -> None:
        error = failures.error_of(event)
        if error is not None:
            self.reading.error = error
            self.ended = True
        elif isinstance(event, Mapping):
            try:
                self.ended = self._wire.feed(self.reading, event)
            except (TypeError, AttributeError):
                self._break("has another form than it should")


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
