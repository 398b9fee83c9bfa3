"""A loop that adds numbers up becomes `sum`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.collecting import inside, starts, usable
from bakeoff.optimize.sources.rules.looking import SUSPENDS, assignment, has
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for start, loop in starts(block):
            made = assignment(start)
            if made is None or not isinstance(loop, ast.For) or has(loop, *SUSPENDS, ast.Lambda):
                continue
            number = isinstance(made[1], ast.Constant) and type(made[1].value) in (int, float)
            found = inside(loop, made[0]) if number else None
            if found is None or found.method != "+=" or not usable(subject, loop, found) or not subject.builtin("sum"):
                continue
            kind = subject.kind(found.values[0])
            # From Python 3.12 on, sum of floats rounds otherwise than adding one by one.
            rounds = sys.version_info >= (3, 12) and (kind == "float" or isinstance(made[1].value, float))
            if rounds or kind in ("str", "list", "tuple"):
                continue
            value = found.values[0]
            alone = len(found.parts) == 1 and isinstance(value, ast.Name) and ast.unparse(loop.target) == value.id
            items = subject.code(loop.iter) if alone else f"[{found.item(subject, value)} {found.clauses(subject)}]"
            rest = "" if subject.code(made[1]) == "0" else f", {subject.code(made[1])}"
            yield rewrite(([start], ""), ([loop], f"{made[0]} = sum({items}{rest})"))


RULE = Rule("sum", "Adding up in C keeps the sum in a register and makes no objects on the way.", find)
