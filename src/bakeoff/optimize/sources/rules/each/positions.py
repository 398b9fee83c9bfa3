"""`xs.index(x)` in a loop in which `xs` stays as it is becomes a look-up in a dict of places."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import before, in_text, repeating
from bakeoff.optimize.sources.rules.kinds import UNHASHABLE, base, element
from bakeoff.optimize.sources.rules.looking import calls, calm, has
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule, rewrite
from bakeoff.optimize.sources.rules.subject import Subject


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if not subject.builtin("reversed", "list", "enumerate"):
        return
    for node in calls(subject.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=xs) as owner, attr="index"), args=[sought], keywords=[]):
                simple = not has(sought, ast.Call, ast.Starred) and calm(sought)
                kind = subject.kind(owner)
                if not simple or in_text(subject, node) or xs not in subject.local:
                    continue
                if isinstance(subject.parents.get(id(node)), ast.IfExp):
                    continue  # perhaps it is what is asked when the dict has no answer
                if base(kind) == "str" or base(element(kind)) in UNHASHABLE or element(kind) == "float":
                    continue
                place = repeating(subject, node, {xs})
                if place is None:
                    continue
                places, item, at = subject.fresh(f"{xs}_places"), subject.fresh("item"), subject.fresh("at")
                made = f"{places} = {{{item}: {at} for {at}, {item} in reversed(list(enumerate({xs})))}}"
                text = subject.code(sought)
                look = f"({places}[{text}] if {text} in {places} else {subject.code(node)})"
                yield rewrite(before(subject, place, made, {id(node): look}), assumes=["hashable"])


RULE = Rule("positions", "A dict knows the place of an item at once; `index` compares all items before it.", find)
