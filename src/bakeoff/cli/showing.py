"""Chooses how a run is shown while it goes on, and shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from bakeoff.cli.asking import TerminalAsker, somebody_is_there
from bakeoff.engine.events import Events


class Showing:
    """The display of one run.

    Attributes:
        asker: puts gates to the person at the terminal; None when nobody is there.

    Args:
        events: what happens.
        folder: the project.
        quiet: show nothing but errors.
        ask: whether gates may be put to somebody here.
    """

    def __init__(self, events: Events, folder: Path, *, quiet: bool, ask: bool) -> None:
        self._live = None
        self.asker: TerminalAsker | None = None
        mask = events.mask_text
        ask = ask and somebody_is_there()
        if quiet:
            pass
        elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from bakeoff.cli.live import LiveDisplay

            self._live = LiveDisplay(mask)
            events.subscribe(self._live)
        else:
            from bakeoff.cli.plain import PlainDisplay

            events.subscribe(PlainDisplay(mask))
        if ask:
            away = self._live.away if self._live else None
            self.asker = TerminalAsker(folder, mask, away) if away else TerminalAsker(folder, mask)

    @asynccontextmanager
    async def drawn(self) -> AsyncIterator[None]:
        """Keep the display up to date while the context is open."""
        if self._live is None:
            yield
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._live.draw)
            try:
                yield
            finally:
                group.cancel_scope.cancel()
