"""ENAMEL's own evaluator for one problem, in a process of its own: `enamel_child.py CLONE INDEX`, codes on stdin.

Prints JSON: `inputs` of the two lower levels as Python literals, and for each code its `eff` over all levels and
whether it `passed`. It runs what stands in the clone, and nothing of bakeoff.
"""

from __future__ import annotations

import json
import sys
import types
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

TESTS = [8, 4, 4, 4]
REPEATS = 6
HARDNESS = [0.0, 3.0, 3.0, 4.0]
"""These as the paper has them."""
SEED = 998244353
LOWER = 2
LONGEST = 200_000
"""Characters of an input that is still written into a test."""


class _Bar(list[Any]):
    """In the place of a progress bar, which may not be installed."""

    def set_description(self, *_: object) -> None: ...


def main(clone: Path, index: int) -> dict[str, Any]:
    """What is printed."""
    bars: Any = types.ModuleType("tqdm")
    bars.tqdm = lambda items, **_: _Bar(items)
    bars.trange = lambda count, **_: _Bar(range(count))
    sys.modules["tqdm"] = bars
    sys.path.insert(0, str(clone))
    from enam.evaluate import Evaluator

    codes = json.load(sys.stdin)
    evaluator = Evaluator(
        problems=clone / "dataset" / "enamel.csv",
        subset=[index],
        n_tests=TESTS,
        n_reps=REPEATS,
        hardness=HARDNESS,
        memory_giga=4.0,
        timeout_factor=2.0,
        tolerence_sec=0.01,
        seed=SEED,
    )
    evaluator.make_tests()
    tests = evaluator.tests[index][:LOWER]
    texts = [repr(test.input) for _, level in tests for test in level]
    scores = []
    for code in codes:
        passed, effs, _ = evaluator.evaluate1(index, code, evaluator.compute_refs(index), False)
        weighted = sum(weight * eff for weight, eff in zip(HARDNESS, effs, strict=True)) / sum(HARDNESS)
        scores.append({"passed": bool(passed), "eff": float(weighted)})
    return {"inputs": [text for text in texts if len(text) < LONGEST], "scores": scores}


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        told = main(Path(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps(told))
