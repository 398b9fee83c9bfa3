"""Events that a CLI prints, turned into one `Reading`: text, usage, cost, session and how it says it ended.

Standard output is JSON Lines, or one JSON document, mixed with stray text, cut off anywhere, or garbage. It is
read as it comes, in bounded memory, and nothing in it can raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

LINE_LIMIT = 16 << 20
"""Bytes of one line (or of a document over several lines) that are read; a longer one is left out."""

STRAY_LIMIT = 64 << 10
"""Characters of text outside events that are kept for error messages: the last ones."""

TEXT_LIMIT = 4 << 20
"""Characters of one text that are kept, of an answer or an error."""

MOST = 10**15
"""No honest count of tokens or turns, and no sum of them, is larger."""

USAGE_KEYS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)
"""`input_tokens` counts all input; the cached tokens are a part of it, the reasoning ones a part of the output."""


@dataclass(slots=True)
class Reading:
    """State of a CLI's events so far.

    Attributes:
        text: the agent's last words; what it said before its last tool call is not among them.
        usage: tokens by `USAGE_KEYS`; None where it told none.
        usd: cost in USD; None where it is unknown.
        session_id: what a later call resumes with.
        turns: model turns, where it counts them.
        unused: whether it told its tokens, and every count was 0.
        succeeded: what its final event says; None before there was one.
        warnings: errors on the way, some of them mended by the CLI itself.
        kind: sort of failure, where an event names it.
        stray: text outside events, the end of it.
        dropped: lines left out because they were too long.
        more: what continues `text`, until `whole` is called.
    """

    text: str = ""
    usage: dict[str, int] | None = None
    usd: float | None = None
    session_id: str | None = None
    turns: int | None = None
    unused: bool = False
    succeeded: bool | None = None
    error: str | None = None
    warnings: list[str] = field(default_factory=list)
    kind: str | None = None
    heard: int = 0
    stray: str = ""
    dropped: int = 0
    more: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """These are its last words now."""
        self.text = text
        self.more.clear()

    def add(self, text: str) -> None:
        """They go on. They are put together by `whole`: for each piece by itself that would take ever longer."""
        self.more.append(text)

    def whole(self) -> None:
        """Put together what was said, and cut what is too long."""
        self.text = _cut("".join((self.text, *self.more)))
        self.more.clear()
        self.error = None if self.error is None else _cut(self.error)
        self.warnings = [_cut(text, STRAY_LIMIT) for text in self.warnings]

    def so_far(self) -> dict[str, int]:
        """Number of events, and the tokens in and out where they were told."""
        usage = self.usage or {}
        known = [usage[kind] for kind in ("input_tokens", "output_tokens") if kind in usage]
        return {"events": self.heard, **({"tokens": sum(known)} if known else {})}

    def end(self, succeeded: bool, error: str | None = None, kind: str | None = None) -> None:
        """Note the final event; a later one overrides an earlier one."""
        self.succeeded = succeeded
        self.error = None if succeeded else error
        self.kind = None if succeeded else kind

    @property
    def uncalled(self) -> bool:
        """Whether the CLI tells that it called no model: no turn, or nothing but zeros where it counts tokens alone."""
        return self.usage is None and (self.turns == 0 or (self.turns is None and self.unused))

    def warn(self, text: str) -> None:
        """Note an error that may not be the end; only the last few are kept."""
        self.warnings = [*self.warnings[-9:], text]

    def spend(self, **tokens: int | None) -> None:
        """Set token counts; None is unknown and left out, and so is a report in which all are 0: no work is free."""
        known = {name: min(count, MOST) for name, count in tokens.items() if count is not None}
        self.unused = bool(known) and not any(known.values()) and self.usage is None
        if any(known.values()):
            self.usage = {**(self.usage or {}), **known}

    def price(self, usd: float | None) -> None:
        """Set the cost. CLIs say 0 for a price that they do not know, so 0 is unknown too."""
        self.usd = usd or None


Reader: TypeAlias = Callable[[Mapping[str, Any], Reading], None]
"""Takes one event into the reading."""


@dataclass(frozen=True, slots=True)
class EventFormat:
    """Event format of a CLI's output: how it is read.

    Attributes:
        has_final: whether the CLI ends with an event that says how it went. Without one the exit status decides.
        from_artifact: events come from the result file, not from standard output.
        read_text: takes the end of the printed text, for CLIs that print no events.
    """

    read: Reader
    has_final: bool = True
    from_artifact: bool = False
    read_text: Callable[[str, Reading], None] | None = None


def no_events(event: Mapping[str, Any], reading: Reading) -> None:
    """Take nothing: JSON that was printed is part of the answer."""


PLAIN_TEXT = EventFormat(no_events, has_final=False)
"""Plain text: what was printed is the answer, and the exit status decides."""


class EventStream:
    """Feeds a CLI's standard output, piece by piece, to a reader."""

    def __init__(self, reader: Reader) -> None:
        self.reading = Reading()
        self._reader = reader
        self._rest = bytearray()
        self._skipping = False
        self._document: bytearray | None = bytearray()
        self._strays: list[str] = []
        self._stray_size = 0

    def feed(self, piece: bytes) -> None:
        """Take the next bytes, wherever they were cut."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._extend(piece[start:end])
            self._line()
            start = end + 1
        self._extend(piece[start:])

    def close(self) -> Reading:
        """Take the last line, whole or not, and return the reading."""
        self._line()
        if not self.reading.heard and self._document:
            self._take_text(self._document.decode("utf-8", "replace"), whole=True)
        self.reading.stray = "".join(self._strays)[-STRAY_LIMIT:]
        self.reading.whole()
        return self.reading

    def _extend(self, part: bytes) -> None:
        if len(self._rest) + len(part) > LINE_LIMIT:
            self._skipping = True
            self._rest.clear()
        if not self._skipping:
            self._rest += part

    def _line(self) -> None:
        line, self._rest = self._rest, bytearray()
        if self._skipping:
            self._skipping = False
            self._document = None
            self.reading.dropped += 1
            return
        if self._document is not None:
            if self.reading.heard or len(self._document) + len(line) > LINE_LIMIT:
                self._document = None
            else:
                self._document += line + b"\n"
        if line:
            self._take_text(line.decode("utf-8", "replace"))

    def _take_text(self, text: str, whole: bool = False) -> None:
        """Find the events in `text`: a line, or the `whole` output when no line held one.

        What does not parse ends the search: the objects inside a cut event are no events.
        """
        if _ARRAY.match(text):
            try:
                values, _ = _DECODER.raw_decode(text, text.index("["))
            except (ValueError, RecursionError):
                pass  # cut off: the objects before the cut still count
            else:
                for value in values:
                    self._event(value, whole)
                return
        found = 0
        while start := _OBJECT.search(text, found):
            try:
                value, end = _DECODER.raw_decode(text, start.start())
            except (ValueError, RecursionError):
                break
            self._stray("" if whole else text[found : start.start()])
            found = end
            self._event(value, whole)
        self._stray("" if whole else text[found:])

    def _event(self, event: Any, whole: bool) -> None:
        # Within a line only what names its type is an event; a document need not.
        if isinstance(event, dict) and (whole or "type" in event):
            self.reading.heard += 1
            self._reader(event, self.reading)

    def _stray(self, text: str) -> None:
        if not text.strip():
            return
        self._strays.append(f"{text[-STRAY_LIMIT:]}\n")
        self._stray_size += len(self._strays[-1])
        if self._stray_size > 4 * STRAY_LIMIT:  # now and then only: each time would take long
            self._strays = ["".join(self._strays)[-STRAY_LIMIT:]]
            self._stray_size = STRAY_LIMIT


_DECODER = json.JSONDecoder()
_OBJECT = re.compile(r'\{\s{0,1000}"')
_SESSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")
_ARRAY = re.compile(r"\s{0,1000}\[\s{0,1000}\{")


def _cut(text: str, limit: int | None = None) -> str:
    """A text of bounded length: its beginning and its end."""
    most = TEXT_LIMIT if limit is None else limit
    left = len(text) - most
    return text if left <= 0 else f"{text[: most // 2]}\n[... {left} characters left out ...]\n{text[-most // 2 :]}"


def part(event: Any, *path: str) -> dict[str, Any]:
    """The object at `path`, or an empty one."""
    for name in path:
        event = event.get(name) if isinstance(event, dict) else None
    return event if isinstance(event, dict) else {}


def parts(event: Any, name: str) -> list[dict[str, Any]]:
    """The objects in the list at `name`."""
    found = event.get(name) if isinstance(event, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def words(value: Any) -> str | None:
    """A text that says something, or None."""
    return value if isinstance(value, str) and value.strip() else None


def session(value: Any) -> str | None:
    """A session id that can be handed back to a CLI as an argument, or None.

    What is none is no option either: it begins with a letter, a digit or `_`, and has at most 128 characters.
    """
    return value if isinstance(value, str) and _SESSION.fullmatch(value) else None


def count(value: Any) -> int | None:
    """A number of tokens or turns, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def money(value: Any) -> float | None:
    """An amount in USD, or None."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if good else None
