"""Candidates judged as codeflash judges them: one at a time, written over the file, by fresh runs of pytest.

    python one_by_one.py FOLDER FILE CANDIDATE...

For the original and each candidate a run of its tests by codeflash's plugin; for each that passes another that repeats
them, with the options that codeflash gives. What it does besides (instrumented tests, coverage, a model) is left out.
Prints seconds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

PYTEST = (
    "-m", "pytest", "--capture=tee-sys", "-q", "-p", "codeflash.verification.pytest_plugin", "--timeout=15",
    "--codeflash_loops_scope=session", "--junitxml=report.xml",
    *(f"-pno:{name}" for name in ("codspeed", "cov", "benchmark", "profiling", "xdist", "sugar")),
)  # fmt: skip
ONCE = ("--codeflash_min_loops=1", "--codeflash_max_loops=1", "--codeflash_seconds=10")
REPEATED = (
    "--codeflash_min_loops=5", "--codeflash_max_loops=250", "--codeflash_seconds=10",
    "--codeflash_stability_check=true",
)  # fmt: skip


def main(folder: Path, file: str, candidates: list[Path]) -> float:
    """Seconds for all of them."""
    original = (folder / file).read_text()
    since = time.perf_counter()
    for text in (original, *(path.read_text() for path in candidates)):
        (folder / file).write_text(text)
        if passes(folder, ONCE) and not passes(folder, REPEATED):
            raise SystemExit("the tests pass once, and do not when they are repeated")
    (folder / file).write_text(original)
    return time.perf_counter() - since


def passes(folder: Path, options: tuple[str, ...]) -> bool:
    return subprocess.run([sys.executable, "-B", *PYTEST, *options], cwd=folder, capture_output=True).returncode == 0


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2], [Path(name) for name in sys.argv[3:]]))
