"""Samples of a local code model for HumanEval's problems, each judged by the docstring's examples in a sandbox.

What was sampled is kept in a file, a line a problem: a call that is cut loses the problems it is at, and no other.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bakeoff
from bakeoff.engine.mask import Masker
from bakeoff.judge.python_tests import PROGRAM, Case, PythonTests
from bakeoff.model.local import LocalModel
from bakeoff.model.protocol import Request
from bakeoff.process.spawner import Spawner
from bakeoff.settings import load_settings
from bakeoff.workspace.sandbox.folder import Folder
from bakeoff.workspace.sandbox.policy import SandboxPolicy
from bakeoff.workspace.sandbox.sandbox import sandbox
from benchmarks.code_model import CodeModel
from benchmarks.proofs.humaneval_problems import Problem

SAMPLES = 5
TEMPERATURE = 0.8
"""Of all samples but the first, which is the model's likeliest: that one is pass@1 as it is published."""
STOP = ("```", "\ndef ", "\nclass ", "\nif __name__", "\nprint(", "\nassert ", "\n#")
MOST_TOKENS = 400
CALL = "_called"
HIDDEN = "_hidden"
CALLING = f"""

def {CALL}(expression):
    try:
        return repr(eval(expression))
    except Exception as failure:
        return "raised " + type(failure).__name__
"""
"""Stands behind a sample: results go out as text, because JSON knows no tuples."""


@dataclass(frozen=True, slots=True)
class Box:
    """Where samples are run: in a sandbox, in a fresh process each, compared outside."""

    spawner: Spawner
    place: Any

    def examples(self, problem: Problem) -> PythonTests:
        """The docstring's examples as a requirement; without any that it can be loaded and defines the function."""
        cases = [Case([one.expression], _Returns(one.expected)) for one in problem.examples]
        return self._tests(problem, CALL, CALLING, cases or [Case([problem.function], _is_function)])

    def hidden(self, problem: Problem) -> PythonTests:
        """The hidden tests as a requirement."""
        test = f"\n{problem.test}\n\ndef {HIDDEN}():\n    check({problem.function})\n    return True\n"
        return self._tests(problem, HIDDEN, test, [Case([], True)])

    def calls(self, problem: Problem, expressions: Iterable[str], into: dict[str, str]) -> PythonTests:
        """A requirement that is always met, and keeps what each call gives, as text."""
        cases = [Case([text], _Kept(text, into)) for text in expressions]
        return self._tests(problem, CALL, CALLING, cases)

    def _tests(self, problem: Problem, function: str, behind: str, cases: list[Case]) -> PythonTests:
        return PythonTests(
            function,
            cases,
            processes=self.spawner,
            source=lambda text: f"{problem.program(text)}{behind}",
            place=self.place,
            timeout=30.0,
            cpu=5,
        )


@contextlib.asynccontextmanager
async def open_box() -> AsyncIterator[Box]:
    """A box, closed with all that runs in it."""
    with tempfile.TemporaryDirectory(prefix="proofs-") as folder:
        policy = SandboxPolicy(load_settings(Path(folder)).sandbox, reads=[PROGRAM])
        place = await sandbox(Folder(os.path.realpath(folder)), policy)
        async with Spawner(token=f"proofs-{os.getpid()}", base_env=os.environ, masker=Masker()) as spawner:
            yield Box(spawner, place.command)


async def write(model: CodeModel, problems: list[Problem], kept: Path) -> None:
    """Sample each problem that is not in the file `kept`, and add a line of JSON for it.

    A line is the problem's `name`, its `samples` (text, whether it passes the examples, tokens), and the id of the
    `chosen` one, null where none passes.
    """
    known = {problem.name: problem for problem in problems}
    left = [name for name in known if name not in read(kept)]
    async with open_box() as box, LocalModel(weights=model.path, parallel=1, context=2048) as local:

        async def solve(name: str) -> None:
            problem = known[name]
            request = Request(prompt=problem.request(), max_tokens=MOST_TOKENS, stop=STOP)

            async def ask(attempt: Any) -> bakeoff.Generation:
                heat = 0.0 if attempt.id == 1 else TEMPERATURE
                reply = await local.generate(replace(request, temperature=heat, seed=attempt.id))
                return bakeoff.Generation(reply.text, usage=reply.usage)

            strategy = bakeoff.BestOfNStrategy(loop_budget=SAMPLES)
            result = await bakeoff.sample(ask, [box.examples(problem)], strategy=strategy)
            samples = [
                {"text": one.output or "", "passed": one.status == "passed", "tokens": one.usage.output_tokens}
                for one in result.attempts
            ]
            chosen = result.winner.id if result.success and result.winner else None
            with kept.open("a") as file:
                file.write(f"{json.dumps({'name': name, 'samples': samples, 'chosen': chosen})}\n")
            print(f"{name}: {sum(one['passed'] for one in samples)} of {len(samples)} pass its examples", flush=True)

        # One by one: what the model has read of a problem is kept for its next sample, unless another comes between.
        await bakeoff.fan_out(solve, left, max_concurrency=1)


def read(kept: Path) -> dict[str, dict[str, Any]]:
    """What is in the file, by the problem's name."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {told["name"]: told for told in map(json.loads, lines)}


def same(left: Any, right: Any) -> bool:
    """Whether two literals are the same: as `==` has it, floats within a millionth."""
    if isinstance(left, float) or isinstance(right, float):
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        return numbers and (left == right or math.isclose(left, right, rel_tol=1e-6, abs_tol=1e-9))
    if type(left) is type(right) and isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def same_text(left: str, right: str) -> bool:
    """Whether two results that went out as text are the same."""
    if left == right:
        return True
    try:
        return same(ast.literal_eval(left), ast.literal_eval(right))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


@dataclass(frozen=True, slots=True)
class _Returns:
    expected: Any

    def __call__(self, told: Any) -> bool:
        return isinstance(told, str) and same_text(told, repr(self.expected))


@dataclass(frozen=True, slots=True)
class _Kept:
    expression: str
    into: dict[str, str]

    def __call__(self, told: Any) -> bool:
        self.into[self.expression] = str(told)
        return True


def _is_function(told: Any) -> bool:
    return isinstance(told, str) and told.startswith("<function")
