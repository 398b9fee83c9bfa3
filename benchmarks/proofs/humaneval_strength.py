"""How sure a chosen sample is: candidates grouped by what they return for inputs mutated from the docstring's examples.

Examples let wrong code through that happens to be right for them. Samples that are wrong are mostly wrong in different
ways; those that are right return the same for every input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.judge.codec import decode, encode
from bakeoff.judge.subject import Subject
from bakeoff.optimize.behaviour.derived_inputs import derive
from benchmarks.proofs.humaneval_problems import Problem
from benchmarks.proofs.humaneval_writing import Box, same_text

INPUTS = 60
RAISED = "raised "
MISSING = "no answer"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Samples that pass the examples, grouped by behaviour.

    Attributes:
        groups: places of samples, the largest group first; of equal ones the one with the earliest sample.
        inputs: for how many inputs they were compared.
    """

    groups: list[list[int]]
    inputs: int

    def chosen(self, at_least: int) -> int | None:
        """A sample of the largest group; None where it is smaller than `at_least`, or not the only one so large."""
        if not self.inputs or not self.groups or len(self.groups[0]) < at_least:
            return None
        if len(self.groups) > 1 and len(self.groups[1]) == len(self.groups[0]):
            return None
        return self.groups[0][0]


async def agreement(box: Box, problem: Problem, texts: Sequence[str], passed: Sequence[bool]) -> Agreement:
    """Group the samples that pass. What most of them refuse by an exception is no input for this function."""
    expressions = await mutated(problem)
    places = [place for place, met in enumerate(passed) if met]
    if not expressions or not places:
        return Agreement([], 0)
    answers: dict[str, list[str]] = {}
    for text in {texts[place] for place in places}:
        told: dict[str, str] = {}
        await box.calls(problem, expressions, told).check(Subject(text))
        answers[text] = [told.get(expression, MISSING) for expression in expressions]
    columns = list(zip(*(answers[texts[place]] for place in places), strict=True))
    asked = [index for index, column in enumerate(columns) if 2 * sum(map(_refused, column)) <= len(column)]
    groups: list[list[int]] = []
    for place in places:
        mine = answers[texts[place]]
        for group in groups:
            theirs = answers[texts[group[0]]]
            if all(same_text(mine[index], theirs[index]) for index in asked):
                group.append(place)
                break
        else:
            groups.append([place])
    groups.sort(key=lambda group: (-len(group), group[0]))
    return Agreement(groups, len(asked))


async def mutated(problem: Problem) -> list[str]:
    """Calls with inputs derived from those of the examples, as `optimize` derives them."""
    calls = [encode((one.arguments, {})) for one in problem.examples]
    found = await derive(calls, INPUTS) if calls else []
    arguments = [decode(call)[0] for call in found]
    return [f"{problem.function}({', '.join(map(repr, one))})" for one in arguments]


def _refused(answer: str) -> bool:
    return answer.startswith(RAISED) or answer == MISSING
