"""A deep copy of what holds nothing that could change becomes a plain copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bakeoff.optimize.sources.rules.editing_expressions import replaced
from bakeoff.optimize.sources.rules.kinds import base
from bakeoff.optimize.sources.rules.looking import calls
from bakeoff.optimize.sources.rules.rule import Rewrite, Rule
from bakeoff.optimize.sources.rules.subject import Subject

FIXED = {"int", "str", "float", "bool", "bytes", "None", "complex"}
COPIES = {"list": "[*{}]", "dict": "{{**{}}}", "set": "{{*{}}}"}


def find(subject: Subject) -> Iterator[Rewrite]:
    """The places where it fits."""
    for node in calls(subject.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="copy"), attr="deepcopy"), args=[whole], keywords=[]):
                pass
            case ast.Call(func=ast.Name(id="deepcopy"), args=[whole], keywords=[]):
                pass
            case _:
                continue
        if "copy" in subject.local or "deepcopy" in subject.local:
            continue
        kind = subject.kind(whole)
        text = _copied(subject, kind, subject.code(whole), isinstance(whole, ast.Name | ast.Attribute | ast.Subscript))
        if text:
            nested = any(not _fixed(each) for each in _parts(kind))
            for each in replaced(subject, node, text):
                yield Rewrite(each.replacements, assumes=("unshared",) if nested else ())


def _copied(subject: Subject, kind: str | None, text: str, simple: bool) -> str | None:
    """Copy of a value of a kind, as code; its inner lists are thought to be different ones."""
    name, parts = base(kind), _parts(kind)
    if kind in FIXED or (name == "tuple" and parts and all(each in FIXED for each in parts)):
        return text if simple else f"({text})"
    if name not in COPIES or not parts:
        return None
    if all(_fixed(each) for each in parts):
        return COPIES[name].format(text if simple else f"({text})")
    inner = subject.fresh("each")
    if name == "list":
        copied = _copied(subject, parts[0], inner, True)
        return f"[{copied} for {inner} in {text}]" if copied else None
    if name == "dict" and len(parts) == 2 and _fixed(parts[0]):
        key, copied = subject.fresh("key"), _copied(subject, parts[1], inner, True)
        return f"{{{key}: {copied} for {key}, {inner} in {text}.items()}}" if copied and simple else None
    return None


def _fixed(kind: str) -> bool:
    """Whether nothing of this kind can change."""
    if base(kind) == "tuple":
        return bool(_parts(kind)) and all(_fixed(each) or each == "..." for each in _parts(kind))
    return all(each.strip() in FIXED for each in kind.split("|"))


def _parts(kind: str | None) -> list[str]:
    """Parts of a kind that stand in its brackets."""
    if not kind or "[" not in kind:
        return []
    parts, depth = [""], 0
    for sign in kind.partition("[")[2].removesuffix("]"):
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [each.strip() for each in parts]


RULE = Rule("deep-copy", "Copying in C, without a look at every value inside.", find)
