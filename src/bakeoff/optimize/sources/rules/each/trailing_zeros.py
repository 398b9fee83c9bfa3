"""A loop that halves a number until it is odd shifts it once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.guards import checked, is_a
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

EVEN = ("not {n} & 1", "{n} & 1 == 0", "not {n} % 2", "{n} % 2 == 0")
HALVED = ("{n} >>= 1", "{n} //= 2", "{n} = {n} >> 1", "{n} = {n} // 2")
COUNTED = ("{t} += 1", "{t} = {t} + 1")


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for loop in ast.walk(subject.node):
        if not isinstance(loop, ast.While) or loop.orelse or len(loop.body) > 2:
            continue
        test, *body = (ast.unparse(each) for each in (loop.test, *loop.body))
        names = {each.id for each in ast.walk(loop) if isinstance(each, ast.Name)} & subject.local - subject.shared
        for n in names:
            counts = [(t, each.format(t=t)) for t in names - {n} for each in COUNTED]
            counted = [t for t, text in counts if text in body]
            halved = [text for text in body if text in (each.format(n=n) for each in HALVED)]
            if test in (each.format(n=n) for each in EVEN) and len(halved) == 1 and len(body) == 1 + len(counted):
                zeros = subject.fresh("zeros")
                lines = [f"{zeros} = ({n} & -{n}).bit_length() - 1", f"{n} >>= {zeros}"]
                lines += [f"{t} += {zeros}" for t in counted]
                condition = " and ".join([is_a(n, "int"), n, *(is_a(t, "int") for t in counted)])
                yield from checked(subject, [loop], condition, "\n".join(lines))


RULE = Rule("trailing-zeros", "The lowest bit that is set tells how often a number can be halved.", find)
