"""ENAMEL (github.com/q-rz/enamel) as a corpus: the plain solutions of its problems, with its generators of inputs."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.ablation_run import Job, run

SLOWEST = 0.3
"""Seconds that a solution may take on the inputs that are chosen."""
HEADER = "import random, math, string, re, json, itertools\nfrom copy import deepcopy\n"


def jobs(clone: Path) -> Iterator[Job]:
    """One job for each problem whose plain solution runs on inputs of its generator."""
    common = HEADER + (clone / "enam" / "datautils.py").read_text()
    plain = json.loads((clone / "samples" / "humaneval-canonical.json").read_text())
    for number, row in problems(clone).items():
        if not plain[number] or not row["input_generator"].strip():
            continue
        # Several problems ask for a function of one name, such as `solve`: the number tells them apart.
        job = Job(f"enamel:{number}:{row['entry_point']}", plain[number][0].encode(), row["entry_point"])
        if (fitting := _with_inputs(job, row, common)) is not None:
            yield fitting


def problems(clone: Path) -> dict[int, dict[str, str]]:
    """Rows of the set by their numbers in HumanEval, without those that ENAMEL leaves out of it."""
    csv.field_size_limit(sys.maxsize)
    left_out = numbers_left_out("\n".join(file.read_text() for file in (clone / "enam").glob("*.py")))
    with (clone / "dataset" / "enamel.csv").open(newline="") as file:
        return {number: row for number, row in enumerate(csv.DictReader(file)) if number not in left_out}


def numbers_left_out(source: str) -> list[int]:
    """Numbers of the problems that ENAMEL leaves out of HumanEval, as its source says."""
    told = re.search(r"^PROBLEMSET = .*\{([\d, ]+)\}", source, re.MULTILINE)
    return [int(number) for number in told[1].split(",")] if told else []


def _with_inputs(job: Job, row: dict[str, str], common: str) -> Job | None:
    """The job with the largest inputs that do not take too long."""
    for level in reversed(list(enumerate(map(int, row["input_levels"].split())))):
        lines = [common, row["input_generator"], "CALLS = []", "for _case in range(4):"]
        lines += ["    random.seed(_case)"]
        lines += [
            f"    _given = generate_input(size=[{_least(row)}, {level[1]}][_case % 2], lid={level[0]}, cid=_case)"
        ]
        lines += ["    CALLS.append(lambda _given=_given: _given)"]
        outcome = run(found := replace(job, setup="\n".join(lines)), job.source)
        if not outcome.failure and outcome.seconds < SLOWEST:
            return found
    return None


def _least(row: dict[str, str]) -> int:
    return int(row["input_levels"].split()[0])
