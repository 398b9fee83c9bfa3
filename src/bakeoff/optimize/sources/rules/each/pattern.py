"""Regular expressions written out in a call of `re` are compiled once, when the module is imported."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import reduce
from operator import or_

from bakeoff.optimize.sources.rules.editing_expressions import in_text, statement_of
from bakeoff.optimize.sources.rules.facts.subject import Subject
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule

BEFORE_FLAGS = {"match": 1, "search": 1, "fullmatch": 1, "findall": 1, "finditer": 1, "split": 2, "sub": 3, "subn": 3}
"""How many arguments stand between pattern and flags."""
FLAGS = {"I", "IGNORECASE", "M", "MULTILINE", "S", "DOTALL", "X", "VERBOSE", "A", "ASCII", "U", "UNICODE"}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    if "re" in subject.local or not _is_module(subject.definition.file.tree):
        return
    for node in ast.walk(subject.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[ast.Constant() as text, *rest]):
                statement = statement_of(subject, node)
                split = _split(attr, rest, node.keywords)
                if statement is None or split is None or in_text(subject, node):
                    continue
                flags, others, keywords = split
                if not _compiles(text.value, flags):
                    continue
                name = subject.fresh(f"_{subject.node.name.strip('_')}_pattern")
                given = [*map(subject.code, others), *(f"{each.arg}={subject.code(each.value)}" for each in keywords)]
                new = name if attr == "compile" else f"{name}.{attr}({', '.join(given)})"
                helper = f"{name} = re.compile({subject.code(text)}{f', {ast.unparse(flags)}' if flags else ''})"
                changed = subject.statements([statement], {id(node): new})
                yield Rewrite([([statement], changed)], imports=["import re"], helpers=[helper])


def _is_module(tree: ast.Module) -> bool:
    """Whether the file imports `re`, and binds it to nothing else."""
    bound = [
        each.name == "re" and not each.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
        if (each.asname or each.name) == "re"
    ]
    stored = any(
        isinstance(each, ast.Name) and each.id == "re" and not isinstance(each.ctx, ast.Load) for each in ast.walk(tree)
    )
    first = any(isinstance(each, ast.Import) and any(one.name == "re" for one in each.names) for each in tree.body)
    return first and all(bound) and not stored


def _split(
    attr: str, rest: list[ast.expr], keywords: list[ast.keyword]
) -> tuple[ast.expr | None, list[ast.expr], list[ast.keyword]] | None:
    """Flags and other arguments of a call; None where they are not just what they must be."""
    if any(isinstance(each, ast.Starred) for each in rest) or any(each.arg is None for each in keywords):
        return None
    flags = [each.value for each in keywords if each.arg == "flags"]
    others = [each for each in keywords if each.arg != "flags"]
    if attr == "compile":
        found = [*flags, *rest]
        return (found[0] if found else None, [], []) if len(found) < 2 and not others else None
    most = BEFORE_FLAGS.get(attr)
    least = 2 if attr in ("sub", "subn") else 1
    if most is None or len(rest) < least or any(each.arg not in ("count", "maxsplit") for each in others):
        return None
    flags += rest[most:]
    return (flags[0] if flags else None, rest[:most], others) if len(flags) < 2 else None


def _compiles(pattern: object, flags: ast.expr | None) -> bool:
    names = [] if flags is None else ast.unparse(flags).split(" | ")
    if any(not each.startswith("re.") or each[3:] not in FLAGS for each in names):
        return False
    value = reduce(or_, (getattr(re, each[3:]) for each in names), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return isinstance(pattern, str | bytes) and bool(re.compile(pattern, value))
        except (re.error, ValueError, OverflowError, RecursionError, Warning):
            return False


RULE = Rule("pattern", "A compiled pattern is used as it is; a text is looked for among those compiled before.", find)
