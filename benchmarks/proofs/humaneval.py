"""HumanEval with a small model on this machine: chosen by the docstring's examples, counted by the hidden tests.

The question is less how many the model solves, which is the model's affair, than how many of those that are called
solved are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bakeoff.judge.subject import Subject
from benchmarks.code_model import MODELS, CodeModel
from benchmarks.proofs.humaneval_problems import Problem, find
from benchmarks.proofs.humaneval_strength import Agreement, agreement
from benchmarks.proofs.humaneval_writing import SAMPLES, Box, open_box, read, write
from benchmarks.proofs.interval import share
from benchmarks.proofs.page import Section
from benchmarks.proofs.splitting import by_hash, is_hidden

AGREE = 3
"""Samples of one behaviour that it takes, of five, to call a problem solved. Set by the first half."""
COLUMNS = ("", "first half", "second half", "both")


@dataclass(frozen=True, slots=True)
class Counted:
    """A problem by its hidden tests.

    Attributes:
        right: of each sample, whether it passes them.
        shown: whether the docstring has examples.
        chosen: place of the first sample that passes these.
        agreed: samples that pass them, grouped by behaviour.
    """

    name: str
    right: list[bool]
    shown: bool
    chosen: int | None
    agreed: Agreement


def prove(place: Path, work: Path, options: argparse.Namespace) -> Iterator[Section]:
    """A section for each model that was brought by `make code-model`."""
    problems = find(place)
    if problems is None:
        return
    known = {problem.name: problem for problem in problems}
    asked = [known[name] for name in by_hash(list(known))][: options.problems]
    for model in MODELS.values():
        kept = work / f"humaneval-{model.name}.jsonl"
        if model.path.exists() and not options.kept:
            anyio.run(write, model, asked, kept)
        if found := {name: told for name, told in read(kept).items() if name in known}:
            counted = anyio.run(_count_all, known, found)
            yield _section(model, counted, len(known), found)


async def _count_all(known: dict[str, Problem], found: dict[str, dict[str, Any]]) -> list[Counted]:
    async with open_box() as box:
        return [await _count(box, known[name], told) for name, told in found.items()]


async def _count(box: Box, problem: Problem, told: dict[str, Any]) -> Counted:
    texts = [one["text"] for one in told["samples"]]
    right = {text: (await box.hidden(problem).check(Subject(text))).result for text in set(texts)}
    shown = bool(problem.examples)
    agreed = await agreement(box, problem, texts, [one["passed"] for one in told["samples"]])
    chosen = told["chosen"] - 1 if shown and told["chosen"] is not None else None
    return Counted(problem.name, [right[text] for text in texts], shown, chosen, agreed)


def _section(model: CodeModel, counted: list[Counted], total: int, found: dict[str, dict[str, Any]]) -> Section:
    tokens = sum(one["tokens"] or 0 for told in found.values() for one in told["samples"])
    table = [_row(line, counted) for line in _lines()]
    silent = sum(not one.shown for one in counted)
    notes = [
        f"Published for these weights before they were quantised: pass@1 {model.published} %.",
        f"{len(counted)} of {total} problems were tried, in the order of their hashes"
        + (": the others were not reached." if len(counted) < total else "."),
        f"{silent} of them have no example that can be read: nothing is called solved there.",
        f"{tokens} tokens; the first sample at temperature 0, the others at 0.8; one thread.",
        f"The rule is that {AGREE} of {SAMPLES} agree; the others stand here to show what it costs.",
    ]
    what = (
        f"`{model.path.name}` goes on with each function's signature and docstring. Samples are judged in a sandbox, "
        "one process each, by the examples of the docstring; the hidden tests count and choose nothing."
    )
    return Section(f"HumanEval, Qwen2.5-Coder {model.name.upper()}", what, COLUMNS, table, notes)


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
    return one.agreed.chosen(least)


def _called(said: str, wrong: str, chosen: Callable[[Counted], int | None]) -> Iterator[_Line]:
    """How many are called solved, and how many of these are not."""
    yield _Line(said, lambda one: chosen(one) is not None)
    yield _Line(wrong, lambda one: not one.right[chosen(one) or 0], lambda one: chosen(one) is not None)


def _row(line: _Line, counted: list[Counted]) -> list[str]:
    halves = [[one for one in counted if is_hidden(one.name) is hidden and line.among(one)] for hidden in (False, True)]
    return [line.said, *(share(sum(map(line.counts, half)), len(half)) for half in (*halves, halves[0] + halves[1]))]
