"""A loop that keeps a running sum in a list becomes `accumulate`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.looking import (
    assignment,
    calm,
    is_empty,
    is_number,
    method_call,
    names_in,
    plain_for,
    stored,
)
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for block in subject.blocks():
        for one, two, loop in zip(block, block[1:], block[2:], strict=False):
            first, second = assignment(one), assignment(two)
            if not first or not second or not isinstance(loop, ast.For) or not plain_for(loop):
                continue
            (out, made), (total, zero) = (first, second) if is_empty(first[1], "list") else (second, first)
            if (
                not is_empty(made, "list")
                or not is_number(zero, 0)
                or {out, total} & subject.shared
                or subject.caught(loop, out)
            ):
                continue
            match loop.body:
                case [ast.AugAssign(target=ast.Name(id=summed), op=ast.Add(), value=item), append]:
                    call = method_call(append, "append")
                    usual = call and call[0] == out and len(call[1]) == 1 and ast.unparse(call[1][0]) == total == summed
                    own = stored(loop.target) | {total}
                    free = not names_in(item, loop.iter) & {out, total}
                    if usual and free and calm(item) and not subject.read_outside(own, [loop, one, two]):
                        line, accumulate = subject.imported("itertools", "accumulate")
                        alone = ast.unparse(item) == ast.unparse(loop.target)
                        target = ast.unparse(loop.target).strip("()")
                        each = f"[{subject.code(item)} for {target} in {subject.part(loop.iter)}]"
                        items = subject.code(loop.iter) if alone else each
                        # Beginning with 0, as the loop does: True becomes 1, and -0.0 becomes 0.0.
                        text = f"{out} = list({accumulate}({items}, initial=0))[1:]"
                        yield rewrite(([one, two, loop], text), imports=[line])


RULE = Rule("accumulate", "The running sums are added and kept in C.", find)
