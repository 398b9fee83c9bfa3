"""The rules alone on functions that real pull requests made faster, as they were before them.

What the rules propose for a function is judged by `optimize` with the tests as they were. Functions for which nothing
is proposed are not run: no types of arguments are known to the proposals that are counted then.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bakeoff.optimize.context.surroundings import surroundings
from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.sources.rules import RulesSource
from bakeoff.optimize.sources.source import Context
from bakeoff.optimize.target import Target
from benchmarks.measure import BAKEOFF
from benchmarks.proofs.interval import share
from benchmarks.proofs.page import Section
from benchmarks.proofs.pulls import RACE_SECONDS, Pull, checked_out, clone_in, environment, listed

MOST_SECONDS = 420
SILENT = "nothing proposed"


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of one: rules that proposed, the verdict in a word, rules of the winner or what was said, speed-up."""

    key: str
    proposed: list[str]
    verdict: str
    detail: str
    speedup: list[float]
    seconds: float
    load: float


def prove(place: Path, work: Path, options: argparse.Namespace) -> Iterator[Section]:
    """A section with every pull request whose project is there."""
    found = list(tries(place, work, options.kept))
    if found:
        yield _section(found)


def tries(place: Path, work: Path, kept_only: bool = False) -> Iterator[tuple[Pull, Tried]]:
    """Each pull request whose project is below `place`, with its result, made now or kept from before in `work`."""
    pulls, needs = listed()
    kept = work / "rules.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {tried.key: tried for tried in (Tried(**json.loads(line)) for line in lines)}
    for pull in pulls:
        if pull.key not in known:
            if kept_only or (source := clone_in(place, pull.repository)) is None:
                continue
            tried = known[pull.key] = _tried(pull, source, work / "clones", needs.get(pull.repository, []))
            with kept.open("a") as file:
                file.write(f"{json.dumps(dataclasses.asdict(tried))}\n")
            print(f"{pull.key}: {tried.verdict} {tried.detail} {tried.speedup[:1]}", flush=True)
        yield pull, known[pull.key]


def proposed(pull: Pull, source: Path) -> list[str]:
    """The rules that propose something for a function as it was. Passes on CalledProcessError."""
    shown = subprocess.run(
        ["git", "show", f"{pull.commit}^:{pull.file}"], cwd=source, check=True, capture_output=True
    ).stdout
    target = Target(PurePosixPath(pull.file), pull.function)
    try:
        helpers = surroundings(target, shown, [], lambda _: None).helpers
        versions = RulesSource().versions(Context(target, shown, helpers=helpers, argument_types={}))
        return sorted({name for version in versions for name in version.applied})
    except TargetError:
        return []


def _tried(pull: Pull, source: Path, clones: Path, needs: list[str]) -> Tried:
    since, load, names = time.monotonic(), os.getloadavg()[0], proposed(pull, source)
    verdict, detail, speedup = SILENT, "", list[float]()
    try:
        if names:
            top = checked_out(pull, source, clones, needs)
            tests = [word for path in pull.tests for word in ("--tests", path)]
            words = [BAKEOFF, "optimize", f"{pull.file}:{pull.function}", *tests, "--seconds", str(RACE_SECONDS)]
            words += ["--json", "--quiet", "--trust"]
            done = subprocess.run(
                words, cwd=top, env=environment(top), capture_output=True, text=True, timeout=MOST_SECONDS, check=False
            )
            verdict, detail, speedup = _outcome(done)
    except subprocess.TimeoutExpired:
        verdict, detail = "not tried", f"not over after {MOST_SECONDS} s"
    except subprocess.CalledProcessError as failure:
        verdict, detail = "not tried", " ".join(map(str, failure.cmd[:4]))
    return Tried(pull.key, names, verdict, detail, speedup, round(time.monotonic() - since, 1), round(load, 1))


def _outcome(done: subprocess.CompletedProcess[str]) -> tuple[str, str, list[float]]:
    """The winner, or the reasons of the candidates."""
    if done.returncode not in (0, 3):
        return "not tried", " ".join((done.stderr or done.stdout).split())[-300:], []
    told = json.loads(done.stdout)
    winners = [each for each in told["candidates"] if each["file"] == told["winner"]]
    if not winners:
        reasons = [each["reason"] for each in told["candidates"]]
        return "none wins", ", ".join(f"{each} {reasons.count(each)}" for each in sorted(set(reasons))), []
    speed = winners[0].get("speedup") or {}
    figures = [speed[name] for name in ("estimate", "low", "high") if speed.get(name) is not None]
    return "won", winners[0]["origin"].partition("/")[2], figures


def _section(found: list[tuple[Pull, Tried]]) -> Section:
    with_any = [tried for _, tried in found if tried.proposed]
    won = [tried for tried in with_any if tried.verdict == "won"]
    rows = [
        (
            f"{pull.repository} `{pull.commit[:7]}` `{pull.function}`",
            tried.verdict,
            "{:.2f}x [{:.2f}, {:.2f}]".format(*tried.speedup) if len(tried.speedup) == 3 else "-",
            tried.detail or ", ".join(tried.proposed),
        )
        for pull, tried in sorted(found, key=lambda one: one[0].repository)
        if tried.proposed
    ]
    busy = sorted(tried.load for _, tried in found)[len(found) // 2]
    notes = [
        f"Rules propose something for {share(len(with_any), len(found))}, and win on {share(len(won), len(found))}.",
        f"Measured at a median load of {busy:.0f} on {os.cpu_count()} cores, {RACE_SECONDS} s each.",
    ]
    what = (
        "The functions of the same pull requests as they were before, given to the rules alone: no model, no candidate "
        "of anybody's. Those for which no rule proposes anything are left out of the table."
    )
    return Section("Rules on real functions", what, ("pull request", "verdict", "speed-up", "rules"), rows, notes)
