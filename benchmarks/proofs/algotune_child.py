"""Parts of AlgoTune's tasks in processes of their own, in a sandbox: `algotune_child.py VERB TASK ...`.

`prepare TASK N COUNT` makes problems, `solve TASK` has the solver at hand answer them, `check TASK` asks the task
whether the answers are right, in a process that has never imported the solver. Each prints JSON. It runs what stands in
the folder that it is started in, and nothing of bakeoff.
"""

from __future__ import annotations

import copy
import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

PROBLEMS, ANSWERS = Path("problems.pickle"), Path("answers.pickle")
FIRST_SEED = 4_711


def _task(name: str) -> Any:
    import importlib

    from AlgoTuneTasks.base import TASKS  # type: ignore[import-not-found]

    importlib.import_module(f"AlgoTuneTasks.{name}.{name}")
    return TASKS[name]()


def prepare(name: str, size: str, count: str) -> dict[str, Any]:
    """Make problems, and tell how long the reference takes: `seconds`, of the second call."""
    task = _task(name)
    problems = [task.generate_problem(int(size), random_seed=FIRST_SEED + one) for one in range(int(count))]
    PROBLEMS.write_bytes(pickle.dumps(problems))
    task.solve(copy.deepcopy(problems[0]))
    since = time.perf_counter()
    task.solve(copy.deepcopy(problems[1]))
    return {"seconds": time.perf_counter() - since}


def solve(name: str) -> dict[str, Any]:
    """Answer every problem: `changed` tells whether the solver changes what it is given."""
    from solver import Solver  # type: ignore[import-not-found]

    problems = pickle.loads(PROBLEMS.read_bytes())
    solver = Solver()
    ANSWERS.write_bytes(pickle.dumps([solver.solve(problem) for problem in problems]))
    return {"changed": pickle.dumps(problems) != pickle.dumps(pickle.loads(PROBLEMS.read_bytes()))}


def check(name: str) -> dict[str, Any]:
    """Of each answer, whether it is right."""
    task = _task(name)
    problems, answers = pickle.loads(PROBLEMS.read_bytes()), pickle.loads(ANSWERS.read_bytes())
    return {"right": [bool(task.is_solution(*pair)) for pair in zip(problems, answers, strict=True)]}


if __name__ == "__main__":
    sys.path.insert(0, "")
    print(json.dumps({"prepare": prepare, "solve": solve, "check": check}[sys.argv[1]](*sys.argv[2:])))
