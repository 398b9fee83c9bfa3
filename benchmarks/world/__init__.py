"""All four jobs on clones of real projects, beside doing it by hand: `python -m benchmarks world PATH...`."""

from __future__ import annotations

import argparse
import shutil
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import REPOSITORY
from benchmarks.world import attempts, fan_out, merges, optimise, plans
from benchmarks.world.language import Unusable
from benchmarks.world.project import Project, make
from benchmarks.world.row import Row

JOBS: dict[str, Callable[[Project], Iterator[Row]]] = {
    "run": fan_out.rows,
    "attempt": attempts.rows,
    "optimize": optimise.rows,
    "plan": plans.rows,
    "merge": merges.rows,
}


def main(words: list[str]) -> int:
    """Try the jobs on each clone and print the table; exit status 1 when a row is not right."""
    options = _options(words)
    work = REPOSITORY / "build" / "world"
    work.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for source in options.paths:
        print(f"\n{_name(source)}", flush=True)
        for row in _project_rows(source, work, options.only or list(JOBS), tuple(options.tests)):
            wrong += row.right is False
            print(row.text(), flush=True)
    print(f"\n{wrong} rows are not right")
    return 1 if wrong else 0


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks world", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a clone with its history, bare or not")
    parser.add_argument("--only", action="append", choices=list(JOBS), help="these jobs alone; may be repeated")
    parser.add_argument(
        "--tests",
        action="append",
        default=[],
        metavar="PATH",
        help="what `run` and `optimize` take for the suite, where the whole of it is too long; may be repeated",
    )
    return parser.parse_args(words)


def _name(source: Path) -> str:
    """The project's name: of the folder, or of the one above a folder that is named for every clone."""
    path = source.resolve()
    name = path.parent.name if path.name in ("repo", ".git") else path.name.removesuffix(".git")
    return name.rpartition("+")[2]  # an owner in front of it


def _project_rows(source: Path, work: Path, jobs: list[str], tests: tuple[str, ...]) -> Iterator[Row]:
    since = time.monotonic()
    try:
        project = make(source, work / _name(source), tests)
    except Unusable as why:
        yield Row("environment", None, time.monotonic() - since, note=str(why))
        return
    yield Row("environment", True, time.monotonic() - since, note=project.note)
    for job in jobs:
        since = time.monotonic()
        try:
            yield from JOBS[job](project)
        except Unusable as why:
            yield Row(job, None, time.monotonic() - since, note=str(why))
        except Exception as fault:
            place = traceback.extract_tb(fault.__traceback__)[-1]
            note = f"{type(fault).__name__}: {fault} ({Path(place.filename).name}:{place.lineno})"
            yield Row(job, False, time.monotonic() - since, note=note)
        finally:
            project.reset()
    shutil.rmtree(project.scratch, ignore_errors=True)
