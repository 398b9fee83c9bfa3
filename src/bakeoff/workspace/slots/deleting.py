"""Deletion in the background, the slow part on many disks: a process of idle priority does it and outlives us."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

ROOT = str(Path(__file__).parents[3])
START = "import sys; sys.path.append(sys.argv[1]); from bakeoff.workspace.slots.deleter import main; main()"


def delete_later(paths: Iterable[Path]) -> None:
    """Have folders deleted by a process that this one neither waits for nor keeps alive. To be called in a thread."""
    lines = "".join(os.fsencode(path).hex() + "\n" for path in paths)
    if not lines:
        return
    # Through a file: a pipe of ours would hold us until all is deleted.
    import tempfile

    with tempfile.TemporaryFile() as names:
        names.write(lines.encode())
        names.seek(0)
        started = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", START, ROOT],
            stdin=names,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    # It detaches and exits within milliseconds; whoever comes next takes note of that.
    with _LOCK:
        _STARTED[:] = [process for process in _STARTED if process.poll() is None]
        _STARTED.append(started)


_STARTED: list[subprocess.Popen[bytes]] = []
_LOCK = threading.Lock()


@atexit.register
def _reap() -> None:
    for process in _STARTED:
        process.wait()
