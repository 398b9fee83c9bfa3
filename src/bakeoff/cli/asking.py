"""Puts gates to the person at the terminal."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import anyio

from bakeoff.cli.output import say
from bakeoff.report.escape import visible

SHOWN_LINES = 200
"""Lines of a gate's file that are shown."""

_SHOWN_BYTES = 1 << 20


def somebody_is_there() -> bool:
    """Whether standard input and standard error are one terminal's foreground, so that a question can be answered."""
    try:
        return os.isatty(0) and os.isatty(2) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


@contextmanager
def _nothing() -> Iterator[None]:
    yield


class TerminalAsker:
    """Asks on standard error and reads standard input, one question at a time.

    Args:
        folder: where a gate's `show_file` is looked for.
        mask: keeps secrets out of what is shown.
        away: hides the display while somebody is asked.
    """

    def __init__(
        self,
        folder: Path,
        mask: Callable[[str], str],
        away: Callable[[], AbstractContextManager[None]] = _nothing,
    ) -> None:
        self._folder = folder
        self._mask = mask
        self._away = away
        self._turn = anyio.Lock()

    async def ask(self, path: str, message: str, options: Sequence[str], show: str | None) -> str | None:
        """The option chosen; None at the end of input. Cancelled, it stops asking."""
        async with self._turn:
            with self._away():
                try:
                    return await self._answer(path, message, options, show)
                except anyio.get_cancelled_exc_class():
                    sys.stderr.write("\n")
                    sys.stderr.flush()
                    raise

    async def _answer(self, path: str, message: str, options: Sequence[str], show: str | None) -> str | None:
        _forget_typed_ahead()
        say(f"\n? {path}: {self._mask(message)}")
        if show is not None:
            say(self._mask(excerpt(self._folder / show)))
        for number, option in enumerate(options, 1):
            say(f"  {number}) {option}")
        while True:
            sys.stderr.write("your choice: ")
            sys.stderr.flush()
            line = await _line()
            if line is None:
                say("\nno answer: the run pauses here")
                return None
            choice = chosen(line, options)
            if choice is not None:
                return choice
            say(f"type a number from 1 to {len(options)}, or one of {', '.join(options)}")


def chosen(line: str, options: Sequence[str]) -> str | None:
    """The option that was typed, by its name or its number; names go first."""
    word = line.strip()
    for option in options:
        if option.lower() == word.lower():
            return option
    if word.isascii() and word.isdigit() and 1 <= int(word[:9]) <= len(options):
        return options[int(word[:9]) - 1]
    return None


def excerpt(path: Path) -> str:
    """The beginning of a file, safe to show; or why it cannot be shown."""
    try:
        # Not blocking: a pipe that nobody writes to must not hold the run up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return f"({path} is no regular file)"
            data = file.read(_SHOWN_BYTES)
    except (OSError, ValueError) as failure:
        return f"({path} cannot be shown: {getattr(failure, 'strerror', None) or failure})"
    lines = visible(data.decode("utf-8", "replace")).splitlines()
    more = len(lines) > SHOWN_LINES or len(data) == _SHOWN_BYTES
    rest = f"\n(the rest of {path} is not shown)" if more else ""
    return "\n".join(f"  | {line}" for line in lines[:SHOWN_LINES]) + rest


def _forget_typed_ahead() -> None:
    """Flush typed-ahead input: what was typed before the question was not meant as its answer."""
    import termios

    try:
        termios.tcflush(0, termios.TCIFLUSH)
    except termios.error:
        pass


async def _line() -> str | None:
    """One line of standard input, which must be a terminal; None at its end.

    A terminal hands out whole lines, so that the read does not block once there is something to read. No thread
    reads: one could not be stopped.
    """
    await anyio.wait_readable(0)
    try:
        data = os.read(0, 4096)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if data else None
