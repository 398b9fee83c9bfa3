"""Generator expressions that a call consumes whole become comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.facts.syntax import SUSPENDS, has
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

WHOLE = {"sorted", "tuple"}
"""Functions that look at no item before they have all, as `join` does."""


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(func=func, args=[ast.GeneratorExp() as inner, *rest]) if not has(inner, *SUSPENDS):
                start, end = subject.file.span(inner)
                text = subject.text[start:end]
                text = text[1:-1] if text.startswith("(") else text
                if "\n" in text:
                    text = ast.unparse(inner)[1:-1]
                match func:
                    case ast.Name(id="list") if not rest and not node.keywords and subject.builtin("list"):
                        yield from replaced(subject, node, f"[{text}]")
                    case ast.Name(id=name) if name in WHOLE and subject.builtin(name):
                        yield from replaced(subject, node, _call(subject, node, f"[{text}]"))
                    case ast.Attribute(value=ast.Constant(value=str()), attr="join"):
                        yield from replaced(subject, node, _call(subject, node, f"[{text}]"))


def _call(subject: Subject, node: ast.Call, first: str) -> str:
    rest = [subject.code(each) for each in node.args[1:]]
    rest += [
        f"{each.arg}={subject.code(each.value)}" if each.arg else f"**{subject.code(each.value)}"
        for each in node.keywords
    ]
    return f"{subject.code(node.func)}({', '.join([first, *rest])})"


RULE = Rule("join-list", "A generator is resumed for every item; a comprehension fills its list in one frame.", find)
