"""Starts the processes that serve this one (supervisor, workers), each over private sockets."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[2])


def start_attached(
    start: str, *, links: int, flags: Iterable[str] = (), env: Mapping[str, str], **options: Any
) -> tuple[list[socket.socket], subprocess.Popen[bytes]]:
    """Start Python code of ours in a new session; this process's ends of its sockets, non-blocking, and the process.

    Its arguments are the numbers of its sockets and, where there is such a thing, of this process's pidfd; then the
    directory that bakeoff is in. Its standard streams are this process's, or null where one is closed.

    Args:
        start: the code.
        links: how many sockets it gets.
        flags: for the interpreter.
        env: its environment.
        options: more for `subprocess.Popen`.

    Passes on OSError: it could not be started.
    """
    ours: list[socket.socket] = []
    inherited: list[int] = []
    try:
        for _ in range(links):
            mine, theirs = socket.socketpair()
            ours.append(mine)
            with theirs:
                mine.setblocking(False)
                inherited.append(_high(theirs.fileno()))
        if hasattr(os, "pidfd_open"):
            pidfd = os.pidfd_open(os.getpid())
            try:
                inherited.append(_high(pidfd))
            finally:
                os.close(pidfd)
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", start, *map(str, inherited), ROOT],
            env=env,
            start_new_session=True,
            pass_fds=inherited,
            **{**_streams(), **options},
        )
    except BaseException:
        for mine in ours:
            mine.close()
        raise
    finally:
        for fd in inherited:
            os.close(fd)
    return ours, process


def _high(fd: int) -> int:
    """A copy above the standard streams, which may be closed and their numbers taken by what is opened here."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _streams() -> dict[str, int]:
    names = ("stdin", "stdout", "stderr")
    return {name: subprocess.DEVNULL for fd, name in enumerate(names) if not _is_passed_on(fd)}


def _is_passed_on(fd: int) -> bool:
    """Whether it is a standard stream, and neither closed nor a number that something of this process has taken."""
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False
