"""Deletion in the background, the slow part on many disks: a process of idle priority does it and outlives us."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

ROOT = str(Path(__file__).parents[3])
START = """import os
os.fork() and os._exit(0)
os.setsid()
import sys
sys.path.append(sys.argv[1])
from bakeoff.workspace.slots.deleter import main
main()
"""


class Deleter:
    """The one process that deletes for this one; it is started when first needed, and again when it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: int | None = None

    def delete(self, paths: Iterable[Path]) -> None:
        """Have folders deleted."""
        with self._lock:
            for path in paths:
                # Not longer than PIPE_BUF, so that it is written whole or not at all.
                name = os.fsencode(path.absolute()) + b"\0"
                if not self._told(name):
                    self._start()
                    self._told(name)

    def close(self) -> None:
        """Let the process end once it has deleted what it was told."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def _told(self, name: bytes) -> bool:
        """Whether it will hear of it: not where it was killed, nor when much that waits for it fills the pipe."""
        try:
            return self._pipe is not None and os.write(self._pipe, name) == len(name)
        except (BlockingIOError, BrokenPipeError):
            return False

    def _start(self) -> None:
        self.close()
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            # What we wait for ends at once: it leaves the work to a child that nobody waits for.
            subprocess.run(
                [sys.executable, "-I", "-S", "-c", START, ROOT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        finally:
            os.close(reading)


_OURS = Deleter()


def delete_later(paths: Iterable[Path]) -> None:
    """Have folders deleted by a process that this one neither waits for nor keeps alive. To be called in a thread."""
    _OURS.delete(paths)
