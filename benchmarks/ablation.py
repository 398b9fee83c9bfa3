"""Ablation of the rules: what each of them, alone, proposes and wins on functions it was not made for.

    python -m benchmarks ablation [PATH ...] [--only RULE] [--json FILE]

A path is a folder of Python files, each with a function `work` and `CALLS` (a list of functions that give arguments,
the last of them much data); or a folder with `targets.txt` and tests (`slow_functions`); or a clone of ENAMEL. Without
paths: the benchmark's own sets. Nothing is judged as `bakeoff optimize` does: results on the corpus's own inputs are
compared, and the least of alternating runs is taken, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bakeoff.optimize.context.surroundings import surroundings
from bakeoff.optimize.sources.rules import RulesSource, catalogue
from bakeoff.optimize.sources.rules.catalogue import RULES
from bakeoff.optimize.sources.rules.source import Version
from bakeoff.optimize.sources.source import Context
from bakeoff.optimize.target import Target
from benchmarks.ablation_run import Job, Outcome, run
from benchmarks.enamel import jobs as enamel_jobs
from benchmarks.measure import REPOSITORY

FOLDER = REPOSITORY / "benchmarks"
OWN = (FOLDER / "everyday", FOLDER / "slow_functions", FOLDER / "slow_functions" / "second")
WIN = 1.10
"""How many times as fast a proposal is that wins."""
ROUNDS = 5
ALL = "all rules"
"""What the best of everything that the source proposes is called."""


@dataclass
class Tally:
    """What came of one rule; `careless`: where hostile inputs give something else.

    `together`: the rules in the best of what all of them made.
    """

    proposed: int = 0
    wins: dict[str, float] = field(default_factory=dict)
    lost: dict[str, float] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)
    together: dict[str, str] = field(default_factory=dict)
    careless: list[str] = field(default_factory=list)


def main(words: list[str]) -> int:
    """Try the rules on each corpus and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ablation", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=OWN, metavar="PATH", help="folders or clones")
    parser.add_argument("--only", action="append", metavar="RULE", help="these rules alone; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the table is written, too")
    options = parser.parse_args(words)
    tallies = {name: Tally() for name in (*(options.only or [rule.name for rule in RULES]), ALL)}
    for path in options.paths:
        every = list(jobs(path))
        for number, job in enumerate(every):
            said = try_on(job, tallies)
            shown = f"{number + 1} of {len(every)}" if path.name == "second" else f"{job.name}: {said}"
            print(f"{path.name} {shown}", flush=True)
        won = sum(job.name in tallies[ALL].wins for job in every)
        print(f"{path.name}: the rules win on {won} of {len(every)} functions\n", flush=True)
    for name, tally in sorted(tallies.items(), key=lambda pair: (-len(pair[1].wins), -pair[1].proposed)):
        told = ", ".join(f"{place} {ratio:.2f}x" for place, ratio in tally.wins.items() if name != ALL)
        different = f"; differs on {len(tally.different)}" if tally.different else ""
        different += f"; on hostile inputs of {len(tally.careless)}" if tally.careless else ""
        print(f"{name}: {lines_of(name)} lines, proposed {tally.proposed}, won {len(tally.wins)}{different}: {told}")
    if options.json:
        options.json.write_text(json.dumps({name: vars(tally) for name, tally in tallies.items()}, indent=1))
    return 0


def lines_of(name: str) -> int:
    """Lines of the rule's file; of all of them, with what they share."""
    files = [Path(rule.find.__code__.co_filename) for rule in RULES if rule.name == name]
    if name == ALL:
        files = sorted(Path(catalogue.__file__).parent.rglob("*.py"))
    return sum(len(file.read_text().splitlines()) for file in files)


def jobs(path: Path) -> Iterator[Job]:
    """The functions of a corpus."""
    if (path / "dataset" / "enamel.csv").exists():
        yield from enamel_jobs(path)
    elif (path / "targets.txt").exists():
        for target in (path / "targets.txt").read_text().split():
            file, _, name = target.partition(":")
            yield Job(f"{path.name}:{Path(file).stem}", (path / file).read_bytes(), name, tests=(path / file).parent)
    else:
        for file in sorted(path.glob("*.py")):
            yield Job(f"{path.name}:{file.stem}", file.read_bytes(), "work")


def try_on(job: Job, tallies: Mapping[str, Tally]) -> str:
    """Try every rule on one function; what came of it, in words."""
    start = run(job, job.source)
    if start.failure:
        return f"cannot be run: {start.failure}"
    versions = dict(proposals(job, start, [name for name in tallies if name != ALL]))
    applied = {each.source: "+".join(each.applied) for every in reversed(versions.values()) for each in every}
    found = {name: [each.source for each in every] for name, every in versions.items()}
    sources = list(applied)
    outcomes = {source: run(job, source) for source in sources}
    equal = [source for source in sources if outcomes[source].digest == start.digest]
    least = {source: outcomes[source].seconds for source in equal} | {job.source: start.seconds}
    for _ in range((2 if job.tests else ROUNDS) if equal else 0):
        for source in least:
            least[source] = min(least[source], run(job, source).seconds)
    won = []
    for name, each in found.items():
        tally = tallies[name]
        tally.proposed += bool(each)
        ratios = [least[job.source] / least[source] for source in each if source in equal]
        if any(outcomes[source].careless(start) for source in each if source in equal):
            tally.careless.append(job.name)
        if any(source not in equal for source in each):
            tally.different.append(job.name)
        if ratios and max(ratios) >= WIN:
            tally.wins[job.name] = max(ratios)
            best = min((source for source in each if source in equal), key=lambda source: least[source])
            tally.together[job.name] = applied[best]
            marked = " careless" if outcomes[best].careless(start) else ""
            won.append(f"{name if name != ALL else f'together ({applied[best]})'} {max(ratios):.2f}x{marked}")
        elif ratios:
            tally.lost[job.name] = max(ratios)
    return ", ".join(won) or f"{len(sources)} proposals, none wins"


def proposals(job: Job, start: Outcome, names: Sequence[str]) -> Iterator[tuple[str, list[Version]]]:
    """What each rule alone makes of a function and its helpers, and what all of them make together."""
    target = Target(PurePosixPath("target.py"), job.qualname)
    helpers = surroundings(target, job.source, [], lambda _: None).helpers
    context = Context(target, job.source, helpers=helpers, argument_types=start.types)
    for name in names:
        rules = [rule for rule in RULES if rule.name == name]
        yield name, list(RulesSource(rules).versions(context))[:1]
    yield ALL, list(RulesSource(RULES).versions(context))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
