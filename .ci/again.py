"""Second try of tests that failed beside others: each alone, at most `MOST` of them.

Thousands of tests that start processes on two busy cores leave now and then one that the load broke. A test that
fails beside others and passes alone is named here, so that it gets mended; one that fails twice fails the run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
"""Tests that get a second try; if more fail, none does."""
FAILED = Path(".pytest_cache/v/cache/lastfailed")
"""Where pytest notes what failed."""


def main(status: int) -> int:
    """Try again what failed.

    Args:
        status: what pytest ended with; but for 1 (tests failed) it did not get through, and that stands.
    """
    if status != 1:
        return status
    try:
        failed = list(json.loads(FAILED.read_text()))
    except (OSError, ValueError):
        failed = []
    if not 0 < len(failed) <= MOST:
        return 1
    print(f"\nsecond try, alone: {len(failed)} failed", *failed, sep="\n  ", flush=True)
    again = subprocess.run([sys.executable, "-m", "pytest", *failed], check=False).returncode
    if again == 0:
        print("passed alone, to be mended:", *failed, sep="\n  ")
    return again


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
