"""Progress of a run in words: which events say which line, and what is at work; a display prints and draws it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from bakeoff.engine.events import Event, NodeEnded, NodeHeard, RunChanged, Warned
from bakeoff.report.escape import one_line
from bakeoff.report.words import duration

Row = list[tuple[str, str]]
"""A line that is drawn: pieces of text, each with its style, as rich names it; an empty one is none."""


class Progress:
    """Formatter of one run's events. A job's own says its lines in `noted`, and puts what takes time into `running`.

    Attributes:
        styles: of lines that stay, by their first character; others have none.
        on_terminal: whether what is at work is drawn below the lines.
        mask: keeps secrets out of what is shown.
        began: monotonic seconds.
        running: what is at work: by the path of its node, in words, and since when.
        heard: when it was last heard of, by the path of its node.
    """

    styles: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.on_terminal = False
        self.mask: Callable[[str], str] = str
        self.began = time.monotonic()
        self.running: dict[str, tuple[str, float]] = {}
        self.heard: dict[str, NodeHeard] = {}

    def told(self, event: Event) -> Iterator[str]:
        """The lines that are said of an event; one that begins with four spaces is told as it is."""
        match event:
            case RunChanged() if event.status == "running":
                yield f"▶ run {event.run_id}"
            case Warned():
                yield f"! {event.text}"
            case NodeHeard():
                self.heard[event.path] = event
            case NodeEnded():
                self.running.pop(event.record.path, None)
                self.heard.pop(event.record.path, None)
        yield from self.noted(event)

    def noted(self, event: Event) -> Iterable[str]:
        """Notes of the job on an event."""
        return ()

    def short(self, text: str, width: int = 200) -> str:
        """A text out of an event as one line that is drawn, secrets replaced before anything is cut off."""
        return one_line(self.mask(text), width)

    def begin(self, path: str, what: str) -> None:
        """A node is at work from now on."""
        self.running[path] = (what, time.monotonic())

    def head(self) -> str:
        """The first line of what is drawn, but for the time."""
        return f"{len(self.running)} at work"

    def now(self, room: int) -> Iterator[Row]:
        """Rows on what goes on now, about `room` of them."""
        yield [(f"{self.head()}, {duration(time.monotonic() - self.began)}", "bold")]
        yield from self.at_work(max(1, room))

    def at_work(self, most: int) -> Iterator[Row]:
        """Rows on what is at work, the oldest first."""
        yield from work_rows(self.running, self.heard, most)

    def last(self) -> Iterable[Row]:
        """Rows that stay on the terminal when the run is over."""
        return ()


def work_rows(running: Mapping[str, tuple[str, float]], heard: Mapping[str, NodeHeard], most: int) -> Iterator[Row]:
    """A row for each of the first `most` nodes at work; arguments as the attributes of `Progress`."""
    now, wall = time.monotonic(), time.time()
    for path, (what, since) in list(running.items())[:most]:
        took = f"{duration(now - since)}{heard_of(heard.get(path), wall)}"
        yield [(f"  ▶ {what}  ", "cyan"), (took, "bright_black")]


def heard_of(event: NodeHeard | None, now: float) -> str:
    """When a node at work was last heard of, by the wall clock, and what it has told; empty where it was not."""
    if event is None:
        return ""
    tokens = event.facts.get("tokens")
    return f", heard of {duration(max(0.0, now - event.at))} ago" + (f", {tokens:,} tokens" if tokens else "")


def took(event: NodeEnded) -> str:
    """Duration of a node, or that it was kept."""
    return "kept from before" if event.reused else duration(event.record.ended_at - event.record.started_at)
