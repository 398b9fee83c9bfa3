"""Candidates judged as the usual tools do it: one at a time, written over the file, by fresh runs of pytest.

    python one_by_one.py FOLDER FILE CANDIDATE...

For the original and each candidate a run of its tests; for each that passes another that repeats them for ten seconds
or 250 times, whichever comes first. Prints seconds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

LOOP = """
import time

def pytest_runtestloop(session):
    end = time.monotonic() + 10
    for _ in range(250):
        for place, item in enumerate(session.items):
            after = session.items[place + 1] if place + 1 < len(session.items) else None
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if time.monotonic() > end:
            break
    return True
"""


def main(folder: Path, file: str, candidates: list[Path]) -> float:
    """Seconds for all of them."""
    (folder / "repeating.py").write_text(LOOP)
    original = (folder / file).read_text()
    since = time.perf_counter()
    for text in (original, *(path.read_text() for path in candidates)):
        (folder / file).write_text(text)
        if passes(folder):
            passes(folder, "-p", "repeating")
    (folder / file).write_text(original)
    return time.perf_counter() - since


def passes(folder: Path, *options: str) -> bool:
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(argv, cwd=folder, capture_output=True).returncode == 0


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2], [Path(name) for name in sys.argv[3:]]))
