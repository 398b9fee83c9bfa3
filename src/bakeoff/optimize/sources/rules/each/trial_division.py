"""A loop over all numbers below `n` that asks whether one divides it stops at the square root."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import is_number, range_of, same, stored
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for loop in ast.walk(subject.node):
        if not isinstance(loop, ast.For) or loop.orelse or subject.read_outside(stored(loop.target), [loop]):
            continue
        bounds = range_of(loop.iter)
        if bounds is None or len(bounds) != 2 or not is_number(bounds[0], 2) or not subject.builtin("range", "max"):
            continue
        match loop.target, bounds[1], loop.body:
            case ast.Name(id=d), ast.Name(id=n), [ast.If(test=test, body=body, orelse=[])]:
                # The smallest divisor is not above the root, so that there is one below `n` only if there is one there.
                if same(test, _divides(n, d)) and _only_says_so(body) and subject.kind(bounds[1]) in ("int", None):
                    line, isqrt = subject.imported("math", "isqrt")
                    for each in replaced(subject, loop.iter, f"range(2, min({n}, {isqrt}(max({n}, 0)) + 1))"):
                        yield Rewrite(each.replacements, (line,))


def _divides(n: str, d: str) -> ast.expr:
    return ast.parse(f"{n} % {d} == 0", mode="eval").body


def _only_says_so(body: list[ast.stmt]) -> bool:
    match body:
        case [ast.Return(value=ast.Constant())] | [ast.Assign(targets=[ast.Name()], value=ast.Constant())]:
            return True
        case [ast.Assign(targets=[ast.Name()], value=ast.Constant()), ast.Break()]:
            return True
    return False


RULE = Rule("trial-division", "A number that has a divisor has one that is not above its square root.", find)
