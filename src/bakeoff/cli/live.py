"""Progress on a terminal: a tree of steps that is redrawn in place, by a task of the run's own event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
from rich.console import Console
from rich.live import Live
from rich.text import Text

from bakeoff.cli.board import Board, Fan, Line
from bakeoff.cli.lines import heard_of
from bakeoff.cli.plain import failure, last_words, progress
from bakeoff.engine.events import Event, NodeEnded, NodeRetried, Warned
from bakeoff.engine.record import Status
from bakeoff.report.escape import one_line, visible
from bakeoff.report.marks import MARKS
from bakeoff.report.words import duration

EVERY = 0.125
"""Seconds between two drawings, at least."""

SHARE = 0.04
"""Of one processor's time, what drawing may use: a slow terminal is drawn to less often."""

MOST_FAILURES = 20
"""Failures that are printed in full above the tree; the tree counts the rest."""

BAR = 24


class LiveDisplay:
    """A tree of steps at the bottom of the terminal; what should stay is printed above it.

    Args:
        mask: keeps secrets out of what is shown.
        console: where to draw; standard error if left out.
    """

    def __init__(self, mask: Callable[[str], str], console: Console | None = None) -> None:
        self.board = Board()
        self.mask = mask
        self.console = console or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._away = 0
        self._failures = 0

    def __call__(self, event: Event) -> None:
        """Take in an event; it is drawn with the next frame."""
        self.board(event)
        match event:
            case NodeEnded() if event.record.status is Status.FAILED and not event.reused:
                self._failures += 1
                if self._failures <= MOST_FAILURES:
                    self._print(failure(event.record), "red")
                    for line in last_words(event.record):
                        self._print(f"    {line}", "bright_black")
            case NodeRetried():
                self._failures += 1
                if self._failures <= MOST_FAILURES:
                    again = f"again in {duration(event.delay)}"
                    self._print(f"↻ {event.path}: try {event.attempt} failed ({event.error}), {again}", "yellow")
            case Warned():
                self._print(f"! {event.path + ': ' if event.path else ''}{event.text}", "yellow")

    async def draw(self) -> None:
        """Draw until cancelled; the last state stays on the terminal. A terminal that is gone is let be."""
        try:
            while True:
                spent = self._frame()
                await anyio.sleep(max(EVERY, spent / SHARE))
        except OSError:
            self._live = None
        finally:
            self._finish()

    def _finish(self) -> None:
        try:
            self._hide()
            self.console.print(self._tree(final=True))
        except OSError:
            pass

    @contextmanager
    def away(self) -> Iterator[None]:
        """Leave the terminal to somebody else for the while."""
        self._away += 1
        self._hide()
        try:
            yield
        finally:
            self._away -= 1

    def _frame(self) -> float:
        if self._away:
            return 0.0
        since = time.perf_counter()
        if self._live is None:
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                vertical_overflow="crop",
            )
            self._live.start()
        self._live.update(self._tree(), refresh=True)
        return time.perf_counter() - since

    def _hide(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _print(self, text: str, style: str) -> None:
        indent = text.startswith("    ")
        self.console.print(Text(visible(self.mask(text)) if indent else one_line(self.mask(text), 400), style))

    def _tree(self, final: bool = False) -> Text:
        board, now = self.board, time.monotonic()
        gates = [] if final else list(board.gates.values())
        room = 10_000 if final else max(3, self.console.height - 3 - 2 * len(gates))
        lines = list(board.lines.values())
        shown = lines[-room:]
        hidden = board.dropped + len(lines) - len(shown)
        text = Text(no_wrap=True, overflow="ellipsis", end="")
        if not final:
            text.append(f"run {board.run_id}", "bold").append(f"  {duration(now - board.began)}\n", "bright_black")
        if hidden:
            text.append(f"  … {hidden:,} steps before these\n", "bright_black")
        for line in shown:
            self._line(text, line, now)
        for gate in gates:
            text.append(f"  ? {gate.path}: {one_line(self.mask(gate.message))}\n", "yellow")
            text.append(f"    {' / '.join(gate.options)}: bakeoff answer {board.run_id} {gate.path} CHOICE\n", "yellow")
        return text

    def _line(self, text: Text, line: Line, now: float) -> None:
        sign, colour = MARKS["halted" if line.halted else line.status.value]
        text.append(f"{'  ' * (line.depth + 1)}{sign} ", colour).append(one_line(line.name, 60), "bold")
        if line.fan is not None:
            self._fan(text, line.fan)
        elif line.type:
            text.append(f" {line.type}", "bright_black")
        seconds = line.seconds if line.seconds is not None else now - line.began
        heard = "" if line.seconds is not None else heard_of(line.heard, time.time())
        text.append("  kept from before" if line.reused else f"  {duration(seconds)}{heard}", "bright_black")
        if line.attempt > 1 and line.type != "gate":
            text.append(f"  try {line.attempt}", "yellow")
        if line.error:
            text.append(f"  {one_line(self.mask(line.error), 120)}", "red")
        text.append("\n")

    def _fan(self, text: Text, fan: Fan) -> None:
        share = BAR / max(1, fan.total)
        done, failed = round(fan.done * share), round((fan.done + fan.failed) * share)
        text.append("  ").append("━" * done, "green").append("━" * (failed - done), "red")
        text.append("─" * (BAR - failed), "bright_black").append(f"  {progress(fan)}")
