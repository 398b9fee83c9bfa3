"""Whether a process has ended, also where nobody has waited for it yet."""

from __future__ import annotations

import time
from pathlib import Path


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_until_ended(pid: int, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not ended(pid):
        assert time.monotonic() < end, f"process {pid} is alive after {seconds} s"
        time.sleep(0.005)
