"""HumanEval with a small model on this machine: chosen by the docstring's examples, counted by the hidden tests.

The question is less how many the model solves, which is the model's affair, than how many of those that are called
solved are not.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bakeoff.judge.subject import Subject
from benchmarks.code_model import MODELS, CodeModel
from benchmarks.proofs import humaneval_published as published
from benchmarks.proofs.humaneval_problems import Problem, find, solutions
from benchmarks.proofs.humaneval_published import problem_of
from benchmarks.proofs.humaneval_strength import Agreement, agreement
from benchmarks.proofs.humaneval_writing import SAMPLES, Box, open_box, read, write
from benchmarks.proofs.interval import share
from benchmarks.proofs.page import Section
from benchmarks.proofs.splitting import by_hash, is_hidden

AGREE = 2
"""Samples of one behaviour that it takes, of five, to call a problem solved. Set by the first half."""
JUDGED = (
    "Samples are judged in a sandbox, one process each, by the examples of the docstring; the hidden tests count and "
    "choose nothing."
)
PUBLISHED = f"What a model wrote elsewhere, published in microsoft/CodeT, judged here. {JUDGED}"
EMPTY = "    pass\n"
AIM = 2
COLUMNS = ("", "first half", "second half", "both")


@dataclass(frozen=True, slots=True)
class Counted:
    """A problem, or one trial of it, by its hidden tests.

    Attributes:
        right: of each sample, whether it passes them.
        shown: whether the docstring has examples.
        chosen: place of the first sample that passes these.
        groups: samples that pass them, by behaviour; see `Agreement`.
        inputs: for how many mutated inputs they were compared.
    """

    name: str
    right: list[bool]
    shown: bool
    chosen: int | None
    groups: list[list[int]]
    inputs: int

    def agreed(self, least: int) -> int | None:
        """See `Agreement.chosen`."""
        return Agreement(self.groups, self.inputs).chosen(least)


def prove(place: Path, work: Path, options: argparse.Namespace) -> Iterator[Section]:
    """A section for published samples, and one for each model that was brought by `make code-model`."""
    problems = find(place)
    if problems is None:
        return
    known = {problem.name: problem for problem in problems}
    asked = [known[name] for name in by_hash(list(known))][: options.problems]
    checked = anyio.run(_reference, problems, solutions(place), work / "humaneval-reference.json")
    if (texts := published.samples(place, problems)) is not None:
        kept = work / "humaneval-published.jsonl"
        if not options.kept:
            anyio.run(_judge_all, asked, texts, kept)
        if counted := anyio.run(_count_all, known, read(kept), work / "humaneval-published-counted.jsonl", False):
            notes = [checked, *_published_notes()]
            yield _section("published samples of CodeGen-16B", PUBLISHED, counted, len(known), notes)
    for model in MODELS.values():
        kept = work / f"humaneval-{model.name}.jsonl"
        if model.path.exists() and not options.kept:
            anyio.run(write, model, asked, kept)
        if counted := anyio.run(_count_all, known, read(kept), work / f"humaneval-{model.name}-counted.jsonl"):
            what = f"`{model.path.name}` goes on with each function's signature and docstring. {JUDGED}"
            yield _section(f"Qwen2.5-Coder {model.name.upper()}", what, counted, len(known), [checked, *_notes(model)])


async def _reference(problems: list[Problem], solved: dict[str, str], kept: Path) -> str:
    """How many of the set's own solutions pass the hidden tests, and how many empty functions, in words."""
    if not kept.exists():
        passed = {EMPTY: 0, "": 0}
        async with open_box() as box:
            for problem in problems:
                for text in passed:
                    passed[text] += (await box.hidden(problem).check(Subject(text or solved[problem.name]))).result
        kept.write_text(json.dumps({"reference": passed[""], "empty": passed[EMPTY]}))
    told = json.loads(kept.read_text())
    return (
        f"Of {len(problems)} solutions of the set's own {told['reference']} pass the hidden tests here, "
        f"of as many empty functions {told['empty']}."
    )


async def _judge_all(problems: list[Problem], texts: dict[str, list[str]], kept: Path) -> None:
    async for name in published.judge(problems, texts, kept):
        print(name, flush=True)


async def _count_all(
    known: dict[str, Problem], found: dict[str, dict[str, Any]], kept: Path, failed_too: bool = True
) -> list[Counted]:
    """Count what is not in the file `kept`, and all that is; without `failed_too` what fails the examples is wrong."""
    counted = {name: Counted(**one) for name, one in read(kept).items()}
    async with open_box() as box:
        for name, told in found.items():
            if name not in counted:
                counted[name] = await _count(box, known[problem_of(name)], name, told, failed_too)
                with kept.open("a") as file:
                    file.write(f"{json.dumps(asdict(counted[name]))}\n")
    return list(counted.values())


async def _count(box: Box, problem: Problem, name: str, told: dict[str, Any], failed_too: bool) -> Counted:
    shown = bool(problem.examples)
    texts = [one["text"] for one in told["samples"]]
    asked = {one["text"] for one in told["samples"] if one["passed"] or failed_too}
    right = {text: text in asked and (await box.hidden(problem).check(Subject(text))).result for text in set(texts)}
    agreed = await agreement(box, problem, texts, [one["passed"] for one in told["samples"]])
    chosen = told["chosen"] - 1 if shown and told["chosen"] is not None else None
    return Counted(name, [right[text] for text in texts], shown, chosen, agreed.groups, agreed.inputs)


def _section(title: str, what: str, counted: list[Counted], total: int, notes: list[str]) -> Section:
    table = [_row(line, counted) for line in _lines()]
    tried = {problem_of(one.name) for one in counted}
    silent = {problem_of(one.name) for one in counted if not one.shown}
    notes = [
        *notes,
        f"{len(tried)} of {total} problems were tried, in the order of their hashes"
        + (": the others were not reached." if len(tried) < total else "."),
        f"{len(silent)} of them have no example that can be read: nothing is called solved there.",
        f"The rule is that {AGREE} of {SAMPLES} agree, set by the first half; the others show what more would cost.",
        f"The aim is that at most {AIM} % of what is called solved is not.",
    ]
    return Section(f"HumanEval, {title}", what, COLUMNS, table, notes)


def _notes(model: CodeModel) -> list[str]:
    return [
        f"Published for these weights before they were quantised: pass@1 {model.published} %.",
        "The first sample at temperature 0, the others at 0.8; one thread.",
    ]


def _published_notes() -> list[str]:
    return [
        f"The first {published.TRIALS * SAMPLES} samples of each problem, {SAMPLES} at a time, temperature 0.8.",
        "What fails the examples counts as wrong, and is not run by the hidden tests.",
    ]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the table: of the problems that are `among`, those that count."""

    said: str
    counts: Callable[[Counted], bool]
    among: Callable[[Counted], bool] = bool


def _lines() -> Iterator[_Line]:
    yield _Line("pass@1: the likeliest sample passes the hidden tests", lambda one: one.right[0])
    yield _Line(f"one of {SAMPLES} samples passes them", lambda one: any(one.right))
    yield from _called("called solved, by the examples", "**of these not solved**", lambda one: one.chosen)
    for least in range(2, SAMPLES + 1):
        wrong = "**of these not solved**" if least == AGREE else "of these not solved"
        yield from _called(f"called solved, {least} agree on mutated inputs, too", wrong, partial(_agreed, least))


def _agreed(least: int, one: Counted) -> int | None:
    return one.agreed(least)


def _called(said: str, wrong: str, chosen: Callable[[Counted], int | None]) -> Iterator[_Line]:
    """How many are called solved, and how many of these are not."""
    yield _Line(said, lambda one: chosen(one) is not None)
    yield _Line(wrong, lambda one: not one.right[chosen(one) or 0], lambda one: chosen(one) is not None)


def _row(line: _Line, counted: list[Counted]) -> list[str]:
    among = [one for one in counted if line.among(one)]
    halves = [[one for one in among if is_hidden(problem_of(one.name)) is hidden] for hidden in (False, True)]
    return [line.said, *(share(sum(map(line.counts, half)), len(half)) for half in (*halves, halves[0] + halves[1]))]
