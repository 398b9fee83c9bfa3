"""Measure everything, or the rows named: `python -m benchmarks [ROW ...] [--quick] [--check]`.

What needs a path is apart: `python -m benchmarks world PATH...` tries all jobs on clones of real projects, `merges
PATH...` replays their merges, `ablation PATH...` measures each rule on functions that it was not made for, `proofs
PATH` tries public sets and writes `docs/proofs.md`.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks import ablation, history, merges, proofs, world
from benchmarks.measure import REPOSITORY, Bench, Measure

ROWS = (
    "shell_fan_out",
    "growth",
    "bytes_written",
    "in_process",
    "list_scheduling",
    "idle_place",
    "start_up",
    "rate_gate",
    "sampling",
    "slots",
    "sandbox",
    "hostile",
    "stubs",
    "codex",
    "codec",
    "behaviour",
    "timing",
    "rules",
    "slow_functions",
    "candidates",
    "merging",
    "decompose",
    "plan",
)

APART = {"ablation": ablation.main, "merges": merges.main, "proofs": proofs.main, "world": world.main}
"""What needs a path, so that it is no row like the others."""


def main() -> int:
    """Measure, print, keep; exit status 1 when a row failed, or with `--check` when a ratio got worse."""
    if sys.argv[1:2] and (apart := APART.get(sys.argv[1])):
        return apart(sys.argv[2:])
    options = _options()
    compileall.compile_dir(REPOSITORY / "src", quiet=1)  # as installing does; else a measurement may include it
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"load of the machine now: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    measures: list[Measure] = []
    broken = 0
    for row in options.rows or ROWS:
        try:
            for measure in _measured(row, options.quick):
                measures.append(measure)
                _print(measure)
        except Exception as failure:
            broken += 1
            print(f"\n{row}: could not be measured: {type(failure).__name__}: {failure}", flush=True)
    missed = sum(not measure.met for measure in measures)
    print(f"\n{len(measures)} measured, {missed} missed their goal; load now {os.getloadavg()[0]:.1f}")
    worse = history.regressions(measures, history.read(), options.quick)
    for text in worse:
        print(f"worse than before: {text}")
    if options.record or not (options.rows or options.quick or broken):
        history.append(history.line(measures, options.quick))
        print(f"added to {history.FILE.relative_to(REPOSITORY)}")
    return 1 if broken or (options.check and worse) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer; kept apart in the history")
    parser.add_argument("--check", action="store_true", help="fail when a ratio is worse than the history allows")
    parser.add_argument("--record", action="store_true", help="add to the history what would not be: part, or quick")
    return parser.parse_args()


def _measured(row: str, quick: bool) -> list[Measure]:
    # On the project's own disk: a temporary file system would make every commit free.
    home = REPOSITORY / "build" / "bench"
    home.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{row}-", dir=home))
    try:
        return list(import_module(f"benchmarks.rows.{row}").measure(Bench(folder, quick)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _print(measure: Measure) -> None:
    verdict = "goal met" if measure.met else "GOAL MISSED"
    print(f"\n{measure.key}: {measure.what}")
    print(f"  {measure.value:.3g} {measure.unit}, goal {measure.goal:.3g} {measure.unit}: {verdict}")
    print(f"  ratio {measure.ratio:.3g} to {measure.yardstick}")
    for note in measure.notes:
        print(f"  {note}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
