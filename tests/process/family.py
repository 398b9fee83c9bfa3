"""A command with descendants of every kind that hold a FIFO open, so that its end tells that all are gone."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

import bakeoff

SOURCE = str(Path(bakeoff.__file__).parents[1])
SCRIPT = """
exec 9>"$FIFO"
trap '' TERM
sleep 600 &
setsid sleep 601 &
(setsid sh -c 'sleep 602 & echo deep >&9; exec sleep 603' &)
(env -i setsid sh -c 'echo bare >&9; exec sleep 604' &)
echo ready >&9
sleep 605
echo not reached >&9
"""


class Fifo:
    """The reading end that a test watches."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "fifo")
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.text = ""

    def wait_for(self, lines: int, seconds: float = 60.0) -> None:
        """Wait until the family has announced so many members."""
        end = time.monotonic() + seconds
        while self.text.count("\n") < lines:
            assert self._read(end), f"only {self.text!r} came"

    def wait_until_gone(self, seconds: float = 60.0) -> None:
        """Wait until no process holds the FIFO."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass

    def _read(self, end: float) -> bool:
        while True:
            ready, _, _ = select.select([self.fd], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"still alive, having said {self.text!r}"
            try:
                data = os.read(self.fd, 4096)
            except BlockingIOError:
                continue
            if not data and not self.text:
                assert time.monotonic() < end, "nobody ever opened it"
                time.sleep(0.002)
                continue
            self.text += data.decode()
            return bool(data)
