"""Run as a program of its own: deletes the folders named on standard input, a NUL after each, at the lowest priority.

One serves a process for its whole life, and ends when its input has and all is deleted.
"""

from __future__ import annotations

import ctypes
import os
import sys

from bakeoff.system.folders import remove_tree

IDLE = 3 << 13
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}


def be_idle() -> None:
    """Lowest priority for processor and disk."""
    os.nice(19)
    number = IOPRIO_SET.get(os.uname().machine)
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, 1, 0, IDLE)


def main() -> None:
    """Delete what is named until input ends."""
    os.chdir("/")  # or the folder that we were started in could not be unmounted
    be_idle()
    rest = b""
    while data := os.read(0, 1 << 16):
        *paths, rest = (rest + data).split(b"\0")
        for path in paths:
            # What cannot be deleted is tried again by the next one who cleans up.
            remove_tree(path, ignore_errors=True)
