"""A process on a pseudo-terminal, read until what is waited for has been shown."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """Starts `argv` with all three standard streams on one terminal, in its own session, as its foreground."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (30, 120)
    ) -> None:
        self.fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=child, stdout=child, stderr=child, start_new_session=True,
            preexec_fn=take_terminal,
        )  # fmt: skip
        os.close(child)
        self.raw = ""
        self.ended = False

    @property
    def text(self) -> str:
        """Everything shown so far, without colours and cursor movements."""
        return _CONTROL.sub("", self.raw)

    def wait_for(self, text: str, count: int = 1, timeout: float = 60.0) -> None:
        """Read until `text` has been shown `count` times."""
        end = time.monotonic() + timeout
        while self.text.count(text) < count:
            assert not self.ended, f"ended without {text!r}:\n{self.text}"
            assert time.monotonic() < end, f"no {text!r} in time:\n{self.text}"
            self._read(0.2)

    def type(self, text: str) -> None:
        """Type on the keyboard."""
        os.write(self.fd, text.encode())

    def wait(self, timeout: float = 20.0) -> int:
        """Read to the end; the exit status."""
        end = time.monotonic() + timeout
        while not self.ended:
            assert time.monotonic() < end, f"still going:\n{self.text}"
            self._read(0.2)
        return self.process.wait(timeout)

    def close(self) -> None:
        """End the process if it is still there."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)

    def _read(self, timeout: float) -> None:
        if not select.select([self.fd], [], [], timeout)[0]:
            return
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.ended = not data
        self.raw += data.decode("utf-8", "replace")
