"""Standard output of a CLI, read by a reader process as it comes: events that others wrote are not parsed here.

`begin`, `feed` and `end` run in that process, which belongs to one CLI meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import anyio

from bakeoff.agent.clis import event_format
from bakeoff.agent.events import EventFormat, EventStream, Reading
from bakeoff.process.command import SpawnError
from bakeoff.reader.reading import UnreadError, holding

PIECE = 1 << 20
"""Bytes that the reader process is given at a time."""

BEHIND = 256 << 20
"""Bytes that may wait for it."""

TRIES, PAUSE = 60, 0.5
"""Tries of starting a reader process, and seconds between."""

_at_work: list[tuple[EventStream, EventFormat]] = []


def begin(data: bytes, name: str) -> None:
    """The next pieces are of a CLI whose events have the format called `name`."""
    form = event_format(name)
    _at_work[:] = [(EventStream(form.read), form)]


def feed(data: bytes) -> dict[str, int]:
    """Take a piece; returns what was told so far."""
    ((stream, _),) = _at_work
    stream.feed(data)
    return stream.reading.so_far()


def end(data: bytes) -> dict[str, Any]:
    """The reading, after the last piece; `data` is the end of what was printed, for CLIs that print no events."""
    ((stream, form),) = _at_work
    _at_work.clear()
    reading = stream.close()
    if not form.has_final and form.read_text is not None:
        form.read_text(data.decode("utf-8", "replace"), reading)
    return asdict(reading)


class OutputReader:
    """Reader of a CLI's standard output: has it read to its end, while the CLI runs and after.

    Args:
        name: of the format of its events.
        heard: called whenever it printed, with what it has told so far.
    """

    def __init__(self, name: str, heard: Callable[[Mapping[str, Any]], None] | None) -> None:
        self._name = name
        self._heard = heard
        self._waiting = bytearray()
        self._some = anyio.Event()
        self._tail: bytes | None = None
        self._late = self._over = False
        self.reading = Reading()

    def take(self, piece: bytes) -> None:
        """Note the next bytes, wherever they were cut."""
        if self._over:
            return
        self._late = self._late or len(self._waiting) + len(piece) > BEHIND
        if not self._late:
            self._waiting += piece
        self._some.set()

    def told(self, piece: bytes) -> None:
        """That it printed something, of a CLI that prints no events."""
        if self._heard is not None:
            self._heard(self.reading.so_far())

    def end(self, tail: str = "") -> None:
        """Nothing more comes; `tail` is the end of what was printed."""
        self._tail = tail.encode("utf-8", "surrogatepass")
        self._some.set()

    async def listen(self) -> None:
        """Have all that comes read, to its end; then `reading` is whole. What cannot be read is its error."""
        for left in reversed(range(TRIES)):
            try:
                async with holding() as ask:
                    await ask(begin, b"", self._name)
                    while self._waiting or self._tail is None:
                        await self._pass_on(ask)
                    self.reading = Reading(**await ask(end, self._tail))
                break
            except UnreadError as failure:
                self._give_up(str(failure))
                break
            except SpawnError as failure:  # the work is paid for, and what it prints waits
                if not left:
                    self._give_up(str(failure))
                await anyio.sleep(PAUSE)
        if self._late:
            self._give_up(f"it printed more than {BEHIND >> 20} MiB at once")

    def _give_up(self, why: str) -> None:
        self.reading = Reading(heard=1)
        self.reading.end(False, f"what it printed cannot be read: {why}", "output")
        self._over = True
        self._waiting.clear()

    async def _pass_on(self, ask: Callable[..., Any]) -> None:
        if not self._waiting:
            await self._some.wait()
            self._some = anyio.Event()
            return
        piece = bytes(self._waiting[:PIECE])
        del self._waiting[:PIECE]
        so_far = await ask(feed, piece)
        if self._heard is not None:
            self._heard(so_far)
