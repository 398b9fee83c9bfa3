"""Deleting is the slow part on many disks: what is buried is handed to a process of idle priority that outlives us."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PROGRAM = Path(__file__).with_name("deleter.py")


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
        subprocess.run(
            [sys.executable, "-I", "-S", str(PROGRAM)],
            stdin=names,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
