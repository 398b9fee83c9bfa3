"""Where a run's nodes printed what they printed, and the pieces of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bakeoff.engine.record import Record, Stored
from bakeoff.engine.store import RunFolder

CHUNK = 1 << 18
"""Bytes read at once."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something a node printed, or a word about it.

    Attributes:
        stream: `stdout`, `stderr`, `error` (why it failed) or `retry` (why a try failed).
        data: what was printed, raw.
        last: nothing follows on this stream.
    """

    path: str
    attempt: int
    stream: str
    data: bytes
    last: bool = True


def log_file(folder: RunFolder, path: str, attempt: int, stream: str) -> Path:
    """The file that a node's try prints to, when it needs one."""
    name = quote(path, safe=":")
    if len(name) > 180:
        from bakeoff.workflow.scope import digest

        name = f"{name[:150]}-{digest(path)}"
    number = f".{attempt}" if attempt > 1 else ""
    return folder.logs / f"{name}{number}.{'out' if stream == 'stdout' else 'err'}"


def pieces_of(folder: RunFolder, record: Record, retries: list[str]) -> Iterator[Piece]:
    """Everything there is of a node that has ended, its earlier tries first."""
    first = record.attempts - len(retries)
    for number, error in enumerate(retries, first):
        yield from _files(folder, record.path, number)
        yield Piece(record.path, number, "retry", error.encode("utf-8", "replace"))
    for stream in ("stdout", "stderr"):
        value = record.output.get(stream)
        if isinstance(value, Stored):
            yield from _file(Path(value.path), record.path, record.attempts, stream)
        elif isinstance(value, str) and value:
            raw = log_file(folder, record.path, record.attempts, stream)
            # Text that was no UTF-8 stands in the record with replacements, and as it was in a file.
            if "\ufffd" in value and raw.is_file():
                yield from _file(raw, record.path, record.attempts, stream)
            else:
                yield Piece(record.path, record.attempts, stream, value.encode("utf-8", "replace"))
    yield from _of_attempt(folder, record)
    if record.error:
        attempt = 1 if record.type == "gate" else record.attempts  # being asked again is no other try
        yield Piece(record.path, attempt, "error", record.error.encode("utf-8", "replace"))


def _of_attempt(folder: RunFolder, record: Record) -> Iterator[Piece]:
    """Output of an agent or a check of an attempt: the file that its record names, else the words on record."""
    facts = record.facts or {}
    verdict = record.output.get("verdict") if record.type == "check" else None
    if record.type == "generate":
        name, words = facts.get("transcript"), facts.get("text")
    elif record.type == "lockfile":
        name, words = record.output.get("log"), None
    elif isinstance(verdict, Mapping):
        name, words = (verdict.get("receipt") or {}).get("log"), None
    else:
        return
    if name:
        file = folder.logs / str(name)
        yield from _file(file, record.path, record.attempts, "stdout")
        yield from _file(file.with_suffix(".err"), record.path, record.attempts, "stderr")
    elif isinstance(words, str) and words:
        yield Piece(record.path, record.attempts, "stdout", words.encode("utf-8", "replace"))
    if isinstance(verdict, Mapping) and not verdict.get("result"):
        said = str(verdict.get("reason") or verdict.get("error") or "not met")
        yield Piece(record.path, record.attempts, "error", said.encode("utf-8", "replace"))


def _files(folder: RunFolder, path: str, attempt: int) -> Iterator[Piece]:
    for stream in ("stdout", "stderr"):
        yield from _file(log_file(folder, path, attempt, stream), path, attempt, stream)


def _file(file: Path, path: str, attempt: int, stream: str) -> Iterator[Piece]:
    try:
        with file.open("rb") as data:
            while chunk := data.read(CHUNK):
                yield Piece(path, attempt, stream, chunk, last=False)
    except OSError:  # a try that printed little has no file
        return
    yield Piece(path, attempt, stream, b"")


class Growing:
    """The files of a node that is under way, read as they grow."""

    def __init__(self, folder: RunFolder, path: str, attempt: int) -> None:
        self.path, self.attempt = path, attempt
        self._files = {stream: log_file(folder, path, attempt, stream) for stream in ("stdout", "stderr")}
        self._read = dict.fromkeys(self._files, 0)

    def pieces(self) -> Iterator[Piece]:
        """Pieces that were added since the last call."""
        for stream, file in self._files.items():
            try:
                with file.open("rb") as data:
                    data.seek(self._read[stream])
                    while chunk := data.read(CHUNK):
                        self._read[stream] += len(chunk)
                        yield Piece(self.path, self.attempt, stream, chunk, last=False)
            except OSError:
                continue

    def rest(self, record: Record) -> Iterator[Piece]:
        """Rest of a node that has ended: what was not read yet."""
        yield from self.pieces()
        for stream in self._files:
            value = record.output.get(stream)
            if not self._read[stream] and isinstance(value, str) and value:
                yield Piece(self.path, self.attempt, stream, value.encode("utf-8", "replace"))
            else:
                yield Piece(self.path, self.attempt, stream, b"")
        if record.error:
            yield Piece(self.path, self.attempt, "error", record.error.encode("utf-8", "replace"))
