"""Merges of real history, replayed: `python -m benchmarks merges PATH... [--half development|held-out]`.

Every file in conflict of every merge that git cannot make by itself is given to the rules of `bakeoff merge`.
Git resolves none of them. The clones are split in halves by the ids of the merges: rules are written by one half alone.
"""

from __future__ import annotations

import argparse
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.merge.rules.resolution import Resolution
from bakeoff.reader.reading import end_idle
from benchmarks.merges.cases import Case, cases
from benchmarks.merges.trials import try_merges
from benchmarks.merges.verdict import Verdict, judge

GOAL_RESOLVED, GOAL_WRONG, GOAL_SECONDS = 0.40, 0.005, 1.0
"""Of the files in conflict; of those resolved; of processor time for the slowest file."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One file in conflict, given to the rules; `seconds` is processor time, the start of the reader included."""

    case: Case
    seconds: float
    found: Resolution | None
    verdict: Verdict | None


def main(words: list[str]) -> int:
    """Replay the merges of each clone and print the table; exit status 1 when a goal is missed."""
    options = _options(words)
    if options.tests:
        return _try(options.paths, options.tests, options.most)
    done: list[Tried] = []
    for path in options.paths:
        here = list(_replayed(path, options.half))
        print(f"\n{path}", flush=True)
        _print(here)
        done += here
        if options.keep:
            _keep(here, options.keep)
    print("\nall")
    return 0 if _print(done) else 1


def _options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks merges", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a clone with its history, bare or not")
    parser.add_argument("--half", choices=["development", "held-out"], help="merges whose ids begin with 0-7, or 8-f")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what was resolved there, to be read by eye")
    parser.add_argument(
        "--tests", metavar="PYTHON", help="run the touched tests of merges with it, which has what they need"
    )
    parser.add_argument("--most", type=int, default=10, metavar="N", help="merges of each clone with --tests (10)")
    return parser.parse_args(words)


def _try(paths: Sequence[Path], python: str, most: int) -> int:
    """Print the tests that a merge of the rules breaks; exit status 1 when there is one."""
    merges = tests = broken = unable = 0
    for path in paths:
        print(f"\n{path}", flush=True)
        for trial in islice(try_merges(path, python), most):
            named = f"  {trial.merge[:10]} {', '.join(trial.files)}"
            if not trial.passed:
                print(f"{named}: none of its tests passes here", flush=True)
                unable += 1
                continue
            print(f"{named}: {trial.passed} pass, {', '.join(trial.broken) or 'none broken'}", flush=True)
            merges, tests, broken = merges + 1, tests + trial.passed, broken + bool(trial.broken)
    print(f"\n{merges} merges, {tests} tests that pass on what people made; merges with broken ones: {broken}")
    print(f"{unable} more merges say nothing: their tests do not pass here as people made them")
    return 1 if broken else 0


def _replayed(path: Path, half: str | None) -> Iterator[Tried]:
    rules = Rules()
    for case in cases(path):
        if case.texts is None or (half is not None and case.held_out != (half == "held-out")):
            continue
        since = _processor_time()
        found = rules.resolve(case.path, case.texts)
        seconds = _processor_time() - since
        verdict = None if found is None else judge(case.texts, found.content, case.people, case.kind)
        yield Tried(case, seconds, found, verdict)


def _processor_time() -> float:
    """Seconds that reader processes have taken; idle ones are ended, for only then the kernel tells."""
    end_idle()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _print(done: Sequence[Tried]) -> bool:
    """The table; whether all goals are met."""
    print(f"  {'kind':<8}{'files':>6}{'resolved':>10}{'proven':>8}{'bytes':>7}{'tree':>6}{'words':>7}{'wrong':>7}")
    for kind in [*sorted({one.case.kind for one in done}), "all"]:
        here = [one for one in done if kind in (one.case.kind, "all")]
        counts: Counter[str] = Counter()
        for one in here:
            if one.found is not None and one.verdict is not None:
                counts.update(["resolved", one.found.why, one.verdict.equal, "wrong" if one.verdict.wrong else ""])
        cells = [counts[name] for name in ("resolved", "proven", "bytes", "tree", "words", "wrong")]
        print(
            f"  {kind:<8}{len(here):>6}" + "".join(f"{n:>{w}}" for n, w in zip(cells, (10, 8, 7, 6, 7, 7), strict=True))
        )
    for one in done:
        if one.verdict is not None and one.verdict.wrong:
            print(f"  {one.case.merge[:10]} {one.case.path}: {'; '.join(one.verdict.wrong)[:300]}")
    resolved = [one for one in done if one.verdict is not None]
    wrong = sum(bool(one.verdict and one.verdict.wrong) for one in resolved)
    slowest = max(done, key=lambda one: one.seconds, default=None)
    share = len(resolved) / max(1, len(done))
    print(
        f"  resolved {share:.1%} (goal {GOAL_RESOLVED:.0%}), wrong {wrong} of {len(resolved)} (goal {GOAL_WRONG:.1%})"
    )
    if slowest is not None:
        spent = f"{slowest.seconds:.2f} s of processor time (goal {GOAL_SECONDS:g} s)"
        print(f"  slowest {spent}: {slowest.case.path}")
    fast = slowest is None or slowest.seconds <= GOAL_SECONDS
    return share >= GOAL_RESOLVED and wrong <= GOAL_WRONG * len(resolved) and fast


def _keep(done: Sequence[Tried], folder: Path) -> None:
    """Write the versions and the merged file of each that is not what people made to the byte."""
    for one in done:
        if one.found is None or one.verdict is None or one.verdict.equal == "bytes" or one.case.texts is None:
            continue
        place = folder / f"{one.case.merge[:10]}-{one.case.path.replace('/', '+')[-100:]}"
        place.mkdir(parents=True, exist_ok=True)
        texts = one.case.texts
        versions = {"base": texts.base, "ours": texts.ours, "theirs": texts.theirs, "people": one.case.people or b""}
        for name, content in {**versions, "merged": one.found.content}.items():
            (place / name).write_bytes(content)
