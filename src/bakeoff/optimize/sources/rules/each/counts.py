"""`xs.count(x)` in a loop in which `xs` stays as it is becomes a look-up in counts that were made once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import calls, calm
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in calls(subject.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=xs) as owner, attr="count"), args=[sought], keywords=[]):
                kind = subject.kind(owner)
                if not calm(sought) or in_text(subject, node) or xs not in subject.local:
                    continue
                if base(kind) == "str" or base(element(kind)) in UNHASHABLE or element(kind) == "float":
                    continue
                if base(subject.kind(sought)) in UNHASHABLE or (kind is None and subject.kind(sought) == "str"):
                    continue
                place = repeating(subject, node, {xs})
                if place is None:
                    continue
                line, counter = subject.imported("collections", "Counter")
                counts = subject.fresh(f"{xs}_counts")
                changed = {id(node): f"{counts}[{subject.code(sought)}]"}
                made = before(subject, place, f"{counts} = {counter}({xs})", changed)
                yield rewrite(made, imports=[line], assumes=["hashable"])


RULE = Rule("counts", "All are counted in one pass; `count` goes through the whole list for each.", find)
