"""Traits of one function, as its text tells them, whatever the others do."""

from __future__ import annotations

import ast

from bakeoff.optimize.source_code.definitions import Function
from bakeoff.optimize.sources.rules.facts.syntax import TEXTS_METHODS


def deep_stores(function: Function) -> bool:
    """Whether a function stores into items of what it holds: those may be somebody else's, whoever made the list."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            inner = node.value
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
                continue
            if not isinstance(inner, ast.Name):
                return True
    return False


def shows_type(function: Function, parameter: str) -> bool:
    """Whether a function may give something else for 1, 1.0 and True, although they are equal."""
    given = [each for each in ast.walk(function.args) if isinstance(each, ast.arg) and each.arg == parameter]
    if given and given[0].annotation is not None and ast.unparse(given[0].annotation) in ("str", "int", "bytes"):
        return False
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "str" | "repr" | "type" | "format"), args=[first, *_]):
                if isinstance(first, ast.Name) and first.id == parameter:
                    return True
            case ast.FormattedValue(value=ast.Name(id=name)) if name == parameter:
                return True
    return False


def is_text(function: Function, name: str) -> bool:
    """Whether the items of what is gone through are used as texts."""
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=found), attr=attr) if found == name:
                return attr in TEXTS_METHODS or attr.startswith("is")
            case ast.Compare(left=ast.Name(id=found), comparators=[ast.Constant(value=str())]) if found == name:
                return True
            case ast.Call(func=ast.Name(id="ord"), args=[ast.Name(id=found)]) if found == name:
                return True
    return False
