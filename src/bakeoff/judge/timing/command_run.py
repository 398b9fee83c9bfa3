"""One run of a command, as it is seen from outside: how long it took, how it ended, what it printed."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bakeoff.judge.timing.parent import Place, TimingError

WATCH = 'group=0; while read -r told; do group=$told; done; test "$group" = 0 || kill -9 "-$group"'
"""A shell that waits until this process closes its end of a pipe, or dies; then it ends the group named last."""
HEAD = 64 << 10
"""Bytes of the output that are kept, to show where it differs."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a command.

    Attributes:
        wall: seconds, until it and all that it waited for ended.
        cpu: seconds of processor time of all of them.
        maxrss: kilobytes, of the largest.
        status: exit status, -N after signal N; None when it took too long.
        output: a digest of its standard output.
        head: the beginning of that.
        left: how many processes it left running; they are ended.
    """

    wall: float
    cpu: float
    maxrss: int
    status: int | None
    output: str = ""
    head: bytes = b""
    left: int = 0


class Runner:
    """Runs commands, one at a time; `kill`, from another thread, ends the one that runs and all later ones.

    What runs is ended, too, when this process is killed. Close it when it is not needed any more.

    Attributes:
        seconds: that a run may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._watch = subprocess.Popen(
            ["/bin/sh", "-c", WATCH],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._lock = threading.Lock()
        self._running: int | None = None
        self._killed = False

    def run(self, where: Place, tidy: Callable[[], int] | None = None) -> Ran:
        """Run it to its end, without input. `tidy` clears away what it left, and says how many processes that were.

        Raises:
            TimingError: it cannot be started.
        """
        with tempfile.TemporaryFile() as printed:
            since = time.perf_counter()
            with self._lock:
                if self._killed:
                    raise TimingError("cancelled")
                try:
                    process = subprocess.Popen(
                        list(where.argv), cwd=where.cwd, env=dict(where.env), stdin=subprocess.DEVNULL,
                        stdout=printed, stderr=subprocess.DEVNULL, start_new_session=True,
                    )  # fmt: skip
                except OSError as failure:
                    raise TimingError(f"cannot start {where.argv[0]!r}: {failure.strerror}") from failure
                self._running = process.pid
                self._tell(process.pid)
            late = threading.Event()
            timer = threading.Timer(self.seconds, self._end, [late])
            timer.start()
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - since
            timer.cancel()
            timer.join()
            with self._lock:
                _kill_group(process.pid)  # what it left in its session
                self._running = None
                self._tell(0)
            process.returncode = os.waitstatus_to_exitcode(status)
            left = tidy() if tidy is not None else 0
            cpu = used.ru_utime + used.ru_stime
            printed.seek(0)
            head = printed.read(HEAD)
            printed.seek(0)
            output = hashlib.file_digest(printed, "sha256").hexdigest()
        return Ran(wall, cpu, used.ru_maxrss, None if late.is_set() else process.returncode, output, head, left)

    def close(self) -> None:
        """End the watch over what runs; nothing is run any more. Blocks for a moment."""
        assert self._watch.stdin is not None
        self._watch.stdin.close()
        self._watch.wait()

    def _tell(self, group: int) -> None:
        """Have a group ended should this process die."""
        assert self._watch.stdin is not None
        with suppress(BrokenPipeError):
            self._watch.stdin.write(b"%d\n" % group)

    def kill(self) -> None:
        """End what runs; nothing is started any more."""
        self._killed = True
        self._end()

    def _end(self, late: threading.Event | None = None) -> None:
        if late is not None:
            late.set()
        with self._lock:
            if self._running is not None:
                _kill_group(self._running)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def difference(expected: Ran, seen: Ran) -> str:
    """First difference in what two runs printed, in words."""
    before, after = expected.head.splitlines(), seen.head.splitlines()
    for number, (one, other) in enumerate(zip(before, after, strict=False), 1):
        if one != other:
            return f"line {number} of its output is {_shown(other)} instead of {_shown(one)}"
    if len(before) != len(after):
        return f"it prints {len(after)} lines instead of {len(before)}"
    return "its output differs"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 80 else f"{text[:80]}...")
