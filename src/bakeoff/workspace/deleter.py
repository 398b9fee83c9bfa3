"""Run as a program of its own: deletes the folders named on standard input, one a line, when nobody needs the disk.

It detaches at once, so that nothing waits for it; it ends when its input has. It imports the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import platform
import stat
import sys

IDLE = 3 << 13
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}


def be_idle() -> None:
    """Lowest priority for processor and disk."""
    os.nice(19)
    number = IOPRIO_SET.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, 1, 0, IDLE)


def delete(path: bytes) -> None:
    """Delete a folder and all in it, also what its owner made unreadable; links are not followed."""
    try:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(path)
            return
        if found.st_mode & 0o700 != 0o700:
            os.chmod(path, 0o700)
        with os.scandir(path) as entries:
            inner = [entry.path for entry in entries]
        for name in inner:
            delete(name)
        os.rmdir(path)
    except OSError:
        pass  # the next one who cleans up tries again


def main() -> None:
    """Delete what is named until input ends."""
    if os.fork():
        os._exit(0)
    os.setsid()
    be_idle()
    sys.setrecursionlimit(100_000)
    for line in sys.stdin.buffer:
        delete(bytes.fromhex(line.decode().strip()))


if __name__ == "__main__":
    main()
