"""Definition of a rule, and of what it proposes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.optimize.sources.rules.facts.subject import Subject

Replacement = tuple[Sequence[ast.stmt], str]
"""Statements that follow each other in one block, and the text in their place; empty: they go."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One place where a rule fits.

    Attributes:
        replacements: what changes; they do not overlap.
        imports: import statements that the new text needs.
        helpers: statements that it needs before the function.
        assumes: what must hold, and could not be seen.
    """

    replacements: Sequence[Replacement]
    imports: Sequence[str] = ()
    helpers: Sequence[str] = ()
    assumes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to say the same that is often faster.

    Attributes:
        name: names it in a candidate's origin.
        why: one sentence: why CPython should be faster.
        find: the places where it fits, none where it can see that something would differ.
        gamble: it helps or hurts by what the function is given, so that all are tried together without it, too.
        last: it hides functions from the others, so that it comes when they have worked on helpers, too.
    """

    name: str
    why: str
    find: Callable[[Subject], Iterator[Rewrite]]
    gamble: bool = False
    last: bool = False
