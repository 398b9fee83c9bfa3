"""Asking for one affix after the other becomes asking for a tuple of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import in_text, replaced
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.guards import is_a, is_original
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(
                func=func,
                args=[ast.GeneratorExp(elt=test, generators=[ast.comprehension(ast.Name(id=affix), source, [], 0)])],
            ) if _is_any(subject, func) and not in_text(subject, node) and not is_original(subject, node):
                for text, condition in _asked(subject, test, affix, source):
                    alone = isinstance(subject.parents[id(node)], ast.Return | ast.Assign)
                    new = f"{text} if {condition} else {subject.code(node)}"
                    new = (new if alone else f"({new})") if condition else text
                    yield from replaced(subject, node, new)


def _is_any(subject: Subject, func: ast.expr) -> bool:
    if isinstance(func, ast.Attribute):
        imported = any(
            isinstance(each, ast.Import) and any(ast.unparse(one) == "builtins" for one in each.names)
            for each in subject.definition.file.tree.body
        )
        return imported and ast.unparse(func) == "builtins.any" and "builtins" not in subject.local
    return isinstance(func, ast.Name) and func.id == "any" and subject.builtin("any")


def _asked(subject: Subject, test: ast.expr, affix: str, source: ast.expr) -> Iterator[tuple[str, str]]:
    """One question for all affixes, and the condition under which it is the same: all are texts."""
    match test:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=text), attr="startswith" | "endswith" as method),
            args=[ast.Name(id=found)],
            keywords=[],
        ) if found == affix != text and subject.builtin("type", "tuple", "set", "frozenset", "list", "str"):
            unsure = [] if subject.sure(ast.Name(text, ast.Load())) == "str" else [is_a(text, "str")]
            match source:
                case ast.Tuple(elts=elts) if elts and all(_is_text(each) for each in elts):
                    affixes = subject.code(source)
                    affixes = affixes if affixes.startswith("(") else f"({affixes})"
                    yield f"{text}.{method}({affixes})", " and ".join(unsure)
                case ast.Name(id=affixes) if affixes not in subject.shared | {affix, text}:
                    name = subject.fresh("affixes")
                    known = f"({name} := _affixes({affixes})) is not None"
                    yield f"{text}.{method}({name})", " and ".join([is_a(text, "str"), known])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


RULE = Rule("affixes", "A text is compared with all affixes in C; each call of its own is looked up and made.", find)
