"""Similarity of answers: the same, the same number, or by their longest common subsequence of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

WORK = 40_000_000
"""Steps that one comparison of all answers may take, about 10 s; longer answers are compared by their beginnings."""

_NUMBER = re.compile(r"[-+]?(?:\d[\d,_ ]*\d|\d)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"\w+")


def exact(output: Any) -> str:
    """The output itself, without space around it."""
    return str(output).strip()


def normalised(output: Any) -> str:
    """The words of the output: case, space and punctuation do not count."""
    return " ".join(_WORD.findall(str(output).casefold()))


def numeric(digits: int) -> Callable[[Any], str]:
    """A function that gives the last number in an output, rounded to `digits` decimals; its words where it has none."""

    def key(output: Any) -> str:
        found = [match for match in _NUMBER.findall(str(output)) if any(sign.isdigit() for sign in match)]
        if not found:
            return normalised(output)
        try:
            number = Decimal(re.sub(r"[,_ ]", "", found[-1]))
            return str((round(number, digits) + 0).normalize())
        except (InvalidOperation, ValueError):
            return str(found[-1])

    return key


def rouge_l(first: Sequence[str], second: Sequence[str]) -> float:
    """The F-measure of the longest common subsequence of two lists of words, 0 to 1."""
    if not first or not second:
        return float(first == second)
    common = _common(first, second)
    return 2 * common / (len(first) + len(second))


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, all columns of a row at once in the bits of an integer."""
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    whole = (1 << len(first)) - 1
    row = whole
    for word in second:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & whole
    return len(first) - row.bit_count()


def similarities(outputs: Sequence[Any], measure: Callable[[Any, Any], float] | None, stop: list[bool]) -> list[float]:
    """For each output the sum of its likeness to all, itself (1) included.

    Args:
        outputs: the answers.
        measure: likeness of two of them, 0 to 1; None for ROUGE-L.
        stop: becomes non-empty when nobody wants the result any more.
    """
    texts: Sequence[Any] = outputs
    if measure is None:
        pairs = max(1, len(outputs) ** 2 // 2)
        # A row of the comparison works on 64-bit words of bits; a step of Python stands for some 30 of them.
        most = max(50, WORK // (30 * pairs))
        texts = [_WORD.findall(str(output).casefold())[:most] for output in outputs]
        measure = rouge_l
    sums = [1.0] * len(texts)
    for place, first in enumerate(texts):
        for other in range(place):
            if stop:
                return sums
            second = texts[other]
            alike = 1.0 if first == second else measure(first, second)
            sums[place] += alike
            sums[other] += alike
    return sums
