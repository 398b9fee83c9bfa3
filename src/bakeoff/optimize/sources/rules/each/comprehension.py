"""`out = []` and a loop that appends become one comprehension; the same for dicts and sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.collecting import Collecting, collecting_loops, starts
from bakeoff.optimize.sources.rules.looking import SUSPENDS, calm, changed_in, has
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start, statement in starts(block):
            for loop in collecting_loops(subject, start, statement):
                text = _comprehension(subject, loop)
                if text and not has(statement, *SUSPENDS, ast.Lambda):
                    yield rewrite(([start], ""), ([statement], f"{loop.name} = {text}"))


def _comprehension(subject: Subject, loop: Collecting) -> str | None:
    clauses = loop.clauses(subject)
    if loop.method == "append":
        return f"[{loop.item(subject, loop.values[0])} {clauses}]"
    if loop.method == "add":
        return f"{{{loop.item(subject, loop.values[0])} {clauses}}}"
    if loop.method == "setitem":
        key, value = loop.values
        # A comprehension evaluates the key first, an assignment the value.
        if calm(key, value) and not changed_in(loop.name, key, value):
            return f"{{{subject.code(key)}: {loop.item(subject, value)} {clauses}}}"
    return None


RULE = Rule("comprehension", "A comprehension appends by one instruction and looks no method up.", find)
