"""Published samples of another model for HumanEval: CodeGen-16B's, in microsoft/CodeT, a hundred for each problem.

They need no model here, so that every problem is counted several times; and a model that is mostly wrong is the harder
test of what tells right from wrong.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from bakeoff.judge.subject import Subject
from benchmarks.proofs.humaneval_problems import Problem
from benchmarks.proofs.humaneval_writing import SAMPLES, open_box, read
from benchmarks.proofs.pulls import clone_in

REPOSITORY = "microsoft/CodeT"
FILE = "CodeT/data/generated_data/HumanEval_codegen16B_temp0.8_topp0.95_num100_max300_code_solution.jsonl"
TRIALS = 2
"""Times five of the hundred samples that each problem is tried with."""


def samples(place: Path, problems: list[Problem]) -> dict[str, list[str]] | None:
    """The samples of each problem, by its name; None where there is no clone of CodeT below `place`."""
    if (clone := clone_in(place, REPOSITORY)) is None:
        return None
    shown = subprocess.run(["git", "show", f"HEAD:{FILE}"], cwd=clone, capture_output=True, check=True).stdout
    told = [json.loads(line) for line in shown.splitlines()]
    by_function = {re.findall(r"^def (\w+)", one["prompt"], re.MULTILINE)[-1]: one["samples"] for one in told}
    return {one.name: [_body(text) for text in by_function[one.function]] for one in problems}


async def judge(problems: list[Problem], texts: dict[str, list[str]], kept: Path) -> AsyncIterator[str]:
    """Judge what is not in the file `kept` by the docstring's examples, and add a line for each trial; its name."""
    known = read(kept)
    async with open_box() as box:
        for problem in problems:
            mine = texts[problem.name][: TRIALS * SAMPLES]
            left = [trial for trial in range(TRIALS) if f"{problem.name}#{trial}" not in known]
            if not left:
                continue
            tests = box.examples(problem)
            passed = {text: (await tests.check(Subject(text))).result for text in set(mine)}
            for trial in left:
                these = mine[trial * SAMPLES : (trial + 1) * SAMPLES]
                found = [{"text": text, "passed": passed[text], "tokens": None} for text in these]
                chosen = next((at for at, one in enumerate(found, 1) if one["passed"]), None)
                line = {"name": f"{problem.name}#{trial}", "samples": found, "chosen": chosen}
                with kept.open("a") as file:
                    file.write(f"{json.dumps(line)}\n")
                yield line["name"]


def _body(text: str) -> str:
    """What belongs to the function: the lines before one that is not indented."""
    return "\n".join(_indented(text.split("\n")))


def _indented(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.strip() and not line.startswith((" ", "\t")):
            return
        yield line


def problem_of(trial: str) -> str:
    """The problem's name in a trial's."""
    return trial.partition("#")[0]
