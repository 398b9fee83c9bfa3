"""ENAMEL: how efficient code is by experts' standards, before and after bakeoff's rules rewrote it.

Of each problem the canonical solution of HumanEval+ is optimised with calls that the problem's own generator makes, of
the two lower levels; ENAMEL's evaluator then scores both on all levels. eff@1 is the mean over problems: 1 is as fast
as the expert's solution at every level, 0 is wrong or twice as slow.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.enamel import problems
from benchmarks.measure import BAKEOFF
from benchmarks.proofs.page import Section
from benchmarks.proofs.pulls import clone_in
from benchmarks.proofs.splitting import by_hash, is_hidden

CHILD = Path(__file__).with_name("enamel_child.py")
PUBLISHED = (("HumanEval+ canonical solutions", 0.517), ("GPT-4 Turbo", 0.470))
SECONDS = 5
MOST_SECONDS = 300
CONTRACT = re.compile(r"^\s*pass#.*\$_CONTRACT_\$.*\n", re.MULTILINE)
"""Lines that the set has in place of assertions."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A problem: eff of the canonical code, and of it after the rules; `won` where they found something faster."""

    name: str
    before: float
    after: float
    won: bool
    note: str = ""


def prove(place: Path, work: Path, options: argparse.Namespace) -> Iterator[Section]:
    """A section, where there is a clone of q-rz/enamel."""
    if (source := clone_in(place, "q-rz/enamel")) is None:
        return
    clone = work / "enamel"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", source, clone], check=True)
    rows = {row["task_id"]: (index, row) for index, row in problems(clone).items()}
    codes = json.loads((clone / "samples" / "humanevalplus-canonical.json").read_text())
    kept = work / "enamel.jsonl"
    found = {one.name: one for one in map(_read, kept.read_text().splitlines())} if kept.exists() else {}
    for name in by_hash(list(rows))[: options.problems]:
        if name not in found and not options.kept:
            index, row = rows[name]
            found[name] = _scored(name, clone, index, row["entry_point"], codes[index][0], work / "enamel-try")
            with kept.open("a") as file:
                file.write(f"{json.dumps(asdict(found[name]))}\n")
            print(found[name], flush=True)
    if found := {name: one for name, one in found.items() if name in rows}:
        yield _section(list(found.values()), len(rows))


def _read(line: str) -> Scored:
    return Scored(**json.loads(line))


def _scored(name: str, clone: Path, index: int, function: str, code: str, folder: Path) -> Scored:
    code = CONTRACT.sub("", code)
    first = _child(clone, index, [code])
    if first is None:
        return Scored(name, 0.0, 0.0, False, "could not be scored")
    before = first["scores"][0]["eff"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "solution.py").write_text(code)
    (folder / "test_solution.py").write_text(_test(function, first["inputs"]))
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    words = [BAKEOFF, "optimize", f"solution.py:{function}", "--seconds", str(SECONDS), "--apply", "--quiet"]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Scored(name, before, before, False, f"not over after {MOST_SECONDS} s")
    if done.returncode == 3:
        return Scored(name, before, before, False)
    if done.returncode:
        return Scored(name, before, before, False, " ".join(done.stderr.split())[-200:])
    second = _child(clone, index, [(folder / "solution.py").read_text()])
    if second is None:
        return Scored(name, before, 0.0, True, "the winner could not be scored")
    return Scored(name, before, second["scores"][0]["eff"], True)


def _child(clone: Path, index: int, codes: list[str]) -> dict[str, list[dict[str, float]]] | None:
    """What the evaluator says; None where it fails or takes too long."""
    argv = [sys.executable, CHILD, clone, str(index)]
    try:
        done = subprocess.run(
            argv, input=json.dumps(codes), capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
        told: dict[str, list[dict[str, float]]] | None = json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return told


def _test(function: str, inputs: list[str]) -> str:
    cases = ",\n    ".join(inputs)
    return (
        f"import pytest\nfrom solution import {function}\n\nINPUTS = [\n    {cases}\n]\n\n\n"
        f'@pytest.mark.parametrize("arguments", INPUTS)\ndef test_it(arguments):\n    {function}(*arguments)\n'
    )


def _section(found: list[Scored], total: int) -> Section:
    halves = [[one for one in found if is_hidden(one.name) is hidden] for hidden in (False, True)]
    groups = (*halves, found)
    rows = [
        ["canonical solutions, here", *(_mean([one.before for one in group]) for group in groups)],
        ["**after the rules**", *(_mean([one.after for one in group]) for group in groups)],
        ["problems with a winner", *(f"{sum(one.won for one in group)} of {len(group)}" for group in groups)],
        [
            "winners that fail ENAMEL's tests",
            *(str(sum(one.won and not one.after for one in group)) for group in groups),
        ],
        *([f"published: {who}", "", "", f"{eff:.3f}"] for who, eff in PUBLISHED),
    ]
    notes = [
        f"{len(found)} of {total} problems were tried, in the order of their hashes.",
        *(f"{one.name}: {one.note}" for one in found if one.note),
    ]
    what = (
        "The canonical solutions of HumanEval+, optimised by rules alone with calls of ENAMEL's two lower levels, "
        "scored by ENAMEL's own evaluator on all levels (eff@1, higher is better)."
    )
    return Section("ENAMEL, by rules alone", what, ("eff@1", "first half", "second half", "both"), rows, notes)


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "-"
