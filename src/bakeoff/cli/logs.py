"""`bakeoff logs`."""

from __future__ import annotations

import codecs
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from bakeoff.cli.completing import RUN, STEP
from bakeoff.cli.log_files import Growing, Piece, pieces_of
from bakeoff.cli.output import covered
from bakeoff.report.escape import one_line, visible
from bakeoff.report.outline import is_inside

if TYPE_CHECKING:
    from bakeoff.cli.follow import Follower
    from bakeoff.engine.store import RunFolder

EVERY = 0.1
"""Seconds between two looks at what grows."""


@click.command("logs")
@click.argument("run", required=False, type=RUN)
@click.argument("step", required=False, type=STEP)
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ends.")
@click.option("--raw", is_flag=True, help="Print the bytes as they were printed, without heads and escapes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines.")
def command(run: str | None, step: str | None, follow: bool, raw: bool, as_json: bool) -> None:
    """Print what the steps of RUN printed, or STEP and what is inside it; errors and retries are named.

    STEP is a path as `tests:one:7`, or its end as `show` prints it, `one:7`. Without RUN it is the latest run.
    """
    from bakeoff.cli.run_lookup import misused, open_run

    if raw and as_json:
        misused("--raw and --json exclude each other")
    folder = open_run(run)
    show = _Raw() if raw else _JsonLines() if as_json else _Readable()
    wanted = _wanted(step)
    if follow:
        import anyio

        anyio.run(_follow, folder, wanted, show)
    else:
        _print_all(folder, step, wanted, show)
    show.end()


def _wanted(step: str | None) -> Callable[[str], bool]:
    """Whether a node is the step asked for, or inside it."""
    if step is None:
        return lambda path: True
    return lambda path: is_inside(path, step)


def _print_all(folder: RunFolder, step: str | None, wanted: Callable[[str], bool], show: _Show) -> None:
    """Everything there is now, in the order the nodes ended; what is under way comes last.

    Raises:
        BakeoffError: no node is or was called so.
    """
    from bakeoff.errors import BakeoffError
    from bakeoff.report.words import no_step

    history = folder.history()
    if step is not None and not any(map(wanted, (*history.records, *history.starts))):
        raise BakeoffError(no_step(folder.id, step))
    for path, record in history.records.items():
        if path not in history.open and wanted(path):
            for piece in pieces_of(folder, record, history.retries.get(path, [])):
                show(piece)
    for path, start in history.open.items():
        if wanted(path):
            for piece in Growing(folder, path, start.attempt).pieces():
                show(piece)


async def _follow(folder: RunFolder, wanted: Callable[[str], bool], show: _Show) -> None:
    """Follow the logs: what was printed and what is being printed, until nobody runs the run any more.

    Passes on JournalError: the journal cannot be followed.
    """
    import anyio

    from bakeoff.cli.follow import Follower

    follower = Follower(folder)
    growing: dict[str, Growing] = {}
    while True:
        live = folder.alive()
        for piece in _news(follower, folder, growing, wanted):
            show(piece)
        for file in growing.values():
            for piece in file.pieces():
                show(piece)
        show.flush()
        if not live:
            return
        await anyio.sleep(EVERY)


def _news(
    follower: Follower, folder: RunFolder, growing: dict[str, Growing], wanted: Callable[[str], bool]
) -> Iterator[Piece]:
    """News of the journal since it was last asked, as pieces; keeps the list of files that grow."""
    from bakeoff.engine.events import NodeEnded, NodeRetried, NodeStarted, RunChanged

    for event in follower.events():
        match event:
            case NodeStarted(path=path, attempt=attempt) if wanted(path):
                growing[path] = Growing(folder, path, attempt)
            case NodeRetried(path=path, attempt=attempt, error=error) if wanted(path):
                if path in growing:
                    yield from growing.pop(path).pieces()
                yield Piece(path, attempt, "retry", error.encode("utf-8", "replace"))
            case NodeEnded(record=record) if wanted(record.path):
                file = growing.pop(record.path, None)
                yield from file.rest(record) if file else pieces_of(folder, record, [])
            case RunChanged():
                growing.clear()


class _Show(ABC):
    """Prints pieces."""

    @abstractmethod
    def __call__(self, piece: Piece) -> None:
        """Print one."""

    def flush(self) -> None:
        """Let the reader see what was printed."""
        sys.stdout.flush()

    def end(self) -> None:
        """Nothing follows."""
        self.flush()


class _Raw(_Show):
    """Bytes as they were printed; words about them go to standard error."""

    def __call__(self, piece: Piece) -> None:
        if piece.stream in ("stdout", "stderr"):
            sys.stdout.buffer.write(piece.data)
        else:
            click.echo(covered(f"{one_line(piece.path)}: {_words(piece)}"), err=True)


class _Decoded(_Show):
    """Text by stream; a character that is cut in two waits for its other half."""

    def __init__(self) -> None:
        self._decoders: dict[tuple[str, int, str], codecs.IncrementalDecoder] = {}

    def text(self, piece: Piece) -> str:
        """The text of a piece."""
        key = (piece.path, piece.attempt, piece.stream)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = codecs.getincrementaldecoder("utf-8")("replace")
        if piece.last:
            del self._decoders[key]
        return decoder.decode(piece.data, piece.last)


class _JsonLines(_Decoded):
    """One object a piece."""

    def __call__(self, piece: Piece) -> None:
        from bakeoff.cli.output import print_json

        if text := self.text(piece):
            print_json({"path": piece.path, "attempt": piece.attempt, "stream": piece.stream, "text": text})


class _Readable(_Decoded):
    """Whole lines under a head that says whose they are."""

    def __init__(self) -> None:
        super().__init__()
        self._head: tuple[str, int] | None = None
        self._begun: dict[tuple[str, int, str], list[str]] = {}

    def __call__(self, piece: Piece) -> None:
        key = (piece.path, piece.attempt, piece.stream)
        if piece.stream not in ("stdout", "stderr"):
            self._print(key, f"! {_words(piece)}\n")
            return
        new = self.text(piece)
        if "\n" not in new and not piece.last:  # a line of many pieces is put together once
            if new:
                self._begun.setdefault(key, []).append(new)
            return
        text = "".join([*self._begun.pop(key, ()), new])
        whole, newline, rest = text.rpartition("\n")
        if piece.last and rest:
            whole, newline, rest = text, "\n", ""
        if rest:
            self._begun[key] = [rest]
        if newline:
            self._print(key, visible(f"{whole}\n"))

    def end(self) -> None:
        """Print the lines that were begun and not ended."""
        for key, parts in self._begun.items():
            self._print(key, f"{visible(''.join(parts))}\n")
        self.flush()

    def _print(self, key: tuple[str, int, str], text: str) -> None:
        if self._head != key[:2]:
            tries = f" (try {key[1]})" if key[1] > 1 else ""
            blank = "\n" if self._head else ""
            self._head = key[:2]
            text = f"{blank}==> {one_line(key[0])}{tries} <==\n{text}"
        sys.stdout.write(covered(text))


def _words(piece: Piece) -> str:
    what = f"try {piece.attempt} failed" if piece.stream == "retry" else "failed"
    return f"{what}: {one_line(piece.data.decode('utf-8', 'replace'), 2000)}"
