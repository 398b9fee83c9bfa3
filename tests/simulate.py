"""Searches seeds of the simulation: `python tests/simulate.py --first 0 --count 100000`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

from simulation.search import simulate  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--trace", action="store_true", help="print what happened")
    asked = parser.parse_args()
    since = time.monotonic()
    for seed in range(asked.first, asked.first + asked.count):
        trace = simulate(seed)
        if asked.trace:
            print(*trace, sep="\n")
    print(f"{asked.count} seeds from {asked.first} passed in {time.monotonic() - since:.1f} s")


if __name__ == "__main__":
    main()
