"""Ten small functions written by the local model, as in `make demo`: how many, how truly, how fast beside bare calls.

Run as a program it asks the model for as many samples without judging any: `python -m benchmarks.rows.stubs COUNTS`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio

from benchmarks.measure import REPOSITORY, Bench, Measure, spend

FOLDER = REPOSITORY / "examples" / "stubs"


def measure(bench: Bench) -> Iterator[Measure]:
    reports: list[dict[str, Any]] = []
    bare: list[float] = []
    for _ in range(1 if bench.quick else 3):
        reports.append(
            json.loads(spend([sys.executable, FOLDER / "solve.py", "--model", "local", "--json"], bench.folder).output)
        )
        counts = json.dumps({one["name"]: one["samples"] for one in reports[-1]["functions"]})
        bare.append(float(spend([sys.executable, "-m", "benchmarks.rows.stubs", counts], REPOSITORY).output))
    last = reports[-1]
    unsolved = max(len(report["functions"]) - report["solved"] for report in reports)
    untrue = anyio.run(_untrue, last["functions"])
    seconds = min(report["seconds"] for report in reports)
    yield Measure(
        "stubs-unsolved",
        "functions of ten that the local model did not solve, at most 10 samples each, fixed seeds",
        unsolved,
        "functions",
        3,
        1 + unsolved,
        "none, counted as 1",
        tolerance=0.01,
        notes=(f"samples in all: {', '.join(str(report['samples']) for report in reports)}",),
    )
    yield Measure(
        "stubs-untrue",
        "functions called solved that fail hidden tests",
        untrue,
        "functions",
        0,
        1 + untrue,
        "none, counted as 1",
        tolerance=0.01,
    )
    yield Measure(
        "stubs-seconds",
        "from the start of the model to the last verdict",
        seconds,
        "s",
        60,
        seconds / min(bare),
        "as many samples from the model, unjudged",
        0.3,
        (f"minima of {len(bare)} in turns; the bare calls {min(bare):.1f} s",),
    )


async def _untrue(functions: list[dict[str, Any]]) -> int:
    from tests.examples.hidden import hidden_cases

    from bakeoff.engine.mask import Masker
    from bakeoff.judge.python_tests import Case, PythonTests
    from bakeoff.judge.subject import Subject
    from bakeoff.process.spawner import Spawner

    failed = 0
    async with Spawner(token=f"stubs-{os.getpid()}", base_env=os.environ, masker=Masker()) as processes:
        for one in functions:
            if one["solved"]:
                cases = [Case(*case) for case in hidden_cases(one["name"])]
                failed += not await PythonTests(one["name"], cases, processes=processes).check(Subject(one["code"]))
    return failed


async def _bare(counts: dict[str, int]) -> float:
    """Seconds for so many samples of each function, one after the other, all functions at once."""
    sys.path.insert(0, str(FOLDER))
    from solve import completion, read_stubs

    from bakeoff.model.local import LocalModel

    stubs = read_stubs()
    since = time.perf_counter()
    async with LocalModel() as model, anyio.create_task_group() as group:

        async def ask(name: str) -> None:
            request = completion(stubs[name])
            for number in range(counts[name]):
                await model.generate(replace(request, seed=request.seed + number))

        for name in counts:
            group.start_soon(ask, name)
    return time.perf_counter() - since


if __name__ == "__main__":
    print(anyio.run(_bare, json.loads(sys.argv[1])))
