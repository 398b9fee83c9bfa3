"""Puts one HTTP answer together to a reading, whatever the endpoint and the proxies before it make of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bakeoff.model import failures
from bakeoff.model.protocol import ModelError
from bakeoff.model.sse import EventDecoder
from bakeoff.model.wires import Reading, Wire

LARGEST = 64 * 1024 * 1024
"""Bytes of one answer; what sends more has lost its way."""


class Answer:
    """An answer of status 200 under way.

    Attributes:
        reading: what is known of the reply so far.
        ended: whether the last event was there.
    """

    def __init__(self, wire: Wire, where: str) -> None:
        self.reading = Reading()
        self.ended = False
        self._wire = wire
        self._where = where
        self._decoder = EventDecoder()
        self._raw = bytearray()
        self._events = 0
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take bytes in.

        Raises:
            ModelError: they are too many, or an event is not JSON.
        """
        self._size += len(chunk)
        if self._size > LARGEST:
            raise ModelError(f"{self._where}: the answer is larger than {LARGEST} bytes", "server", transient=False)
        if not self._events:
            self._raw += chunk
        for data in self._decoder.feed(chunk):
            if not self.ended:
                self._take(data)

    def finish(self) -> Reading:
        """The reading, once no more bytes come, for whatever reason.

        Passes on ModelError: it is not whole, tells of an error, or was no answer at all.
        """
        failure = self._failed()
        if failure is not None:
            failure.request_id = failure.request_id or self.reading.request_id
            if self.reading.usage.tokens is not None:
                failure.usage = self.reading.usage
            raise failure
        return self.reading

    def _failed(self) -> ModelError | None:
        if not self.ended and self.reading.finish_reason is None:
            for data in self._decoder.end():
                self._take(data)
        if not self._events and not self._take_whole():
            return failures.from_response(200, {}, bytes(self._raw), self._where)
        reading = self.reading
        if reading.error is not None:
            return failures.from_error(reading.error, self._where)
        if reading.refused:
            said = failures.visible("".join(reading.parts))
            return ModelError(f"{self._where}: {failures.SAID['refusal']}" + f": {said}" * bool(said), "refusal")
        if reading.finish_reason is None:
            return ModelError(f"{self._where}: {failures.SAID['cut']} before its end", "cut")
        return None

    def _take(self, data: str) -> None:
        self._events += 1
        self._raw.clear()
        if data.strip() == "[DONE]":
            self.ended = True
            return
        try:
            event = json.loads(data)
        except ValueError:
            text = f"{self._where}: an event of its stream is not JSON: {failures.visible(data)}"
            raise ModelError(text, "server", request_id=self.reading.request_id) from None
        self._event(event)

    def _take_whole(self) -> bool:
        """No events came: an endpoint that does not stream, an error, a page of something in between, or nothing."""
        if not self._raw.strip():
            return True
        try:
            self._event(json.loads(self._raw))
        except ValueError:
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
                text = f"{self._where}: an event of its stream has another form than it should"
                raise ModelError(text, "server", request_id=self.reading.request_id) from None
