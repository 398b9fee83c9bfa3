"""Runs commands of bakeoff in this process, and tells how long its event loop stood still and what memory they took.

`python -m benchmarks.stalls` reads a JSON list of pairs (a folder, and words), and prints a JSON list of objects:
`stall` and `cpu` (of the callback that was longest, in seconds of the clock and of the processor), `memory` (the peak,
in bytes), `status`, and `said` (what was printed).
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any


class Longest:
    """The longest callback of any event loop in this process, while inside."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self._run = asyncio.events.Handle._run

    def __enter__(self) -> Longest:
        def timed(handle: asyncio.events.Handle) -> None:
            wall, cpu = time.perf_counter(), time.thread_time()
            self._run(handle)
            self.wall = max(self.wall, time.perf_counter() - wall)
            self.cpu = max(self.cpu, time.thread_time() - cpu)

        asyncio.events.Handle._run = timed  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.events.Handle._run = self._run  # type: ignore[method-assign]


def carried_out(folder: str, words: list[str]) -> dict[str, Any]:
    """What came of one command."""
    from bakeoff.cli import main

    os.chdir(folder)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    sys.argv = ["bakeoff", *words]
    status: object = 0
    said = TextIOWrapper(BytesIO(), write_through=True)
    with Longest() as longest, redirect_stdout(said):
        try:
            main()
        except SystemExit as ending:
            status = ending.code
    printed = said.buffer.getvalue().decode()  # type: ignore[attr-defined]
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
    return {"status": status, "stall": longest.wall, "cpu": longest.cpu, "memory": peak, "said": printed}


if __name__ == "__main__":
    print(json.dumps([carried_out(*command) for command in json.load(sys.stdin)]))
