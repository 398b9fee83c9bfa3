"""Private attributes that a candidate gives the instances of the target's class, and what they are set to at first.

The original's instances, of which calls were recorded, do not have them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from bakeoff.optimize.source_code.definitions import Function, own_nodes
from bakeoff.optimize.source_code.names import bound_by
from bakeoff.optimize.source_code.python_file import PythonFile

MAKERS = ("__init__", "__post_init__", "__attrs_post_init__")
"""Methods that set the attributes of a new instance."""


def added_attributes(before: bytes, after: bytes, qualname: str) -> dict[str, dict[str, str]]:
    """By the class around the target: each private attribute that is new, with the expression that it is set to.

    New are those whose name nothing in the original's file has. The expression is of `self`, and of names of the
    module; it is empty where nothing sets the attribute before it is used (a lazy one, or one that the class has).
    Attributes that are set to something of a method's arguments are left out.

    Args:
        before: the original file.
        after: the candidate's.
        qualname: of the target.
    """
    try:
        one, other = PythonFile.read(before).tree, PythonFile.read(after).tree
    except (SyntaxError, ValueError):
        return {}
    known = _words(one)
    names = {name for each in other.body for name in bound_by(each)} | set(dir(builtins))
    found: dict[str, dict[str, str]] = {}
    for path, node in _around(other, qualname):
        own = {name: _first(node, name, names) for name in _held(node)}
        new = {
            name: text
            for name, text in own.items()
            if text is not None and name.startswith("_") and not name.startswith("__") and name not in known
        }
        if new:
            found[path] = new
    return found


def _around(tree: ast.Module, qualname: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Classes around the target, with their qualified names."""
    body, path = tree.body, ""
    for name in qualname.split(".")[:-1]:
        node = next((each for each in body if isinstance(each, ast.ClassDef) and each.name == name), None)
        if node is None:
            return
        path = f"{path}.{name}".lstrip(".")
        yield path, node
        body = node.body


def _words(tree: ast.Module) -> set[str]:
    """Names, attributes and texts of a file."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=word) | ast.Name(id=word) | ast.Constant(value=str(word)):
                found.add(word)
            case ast.FunctionDef(name=word) | ast.AsyncFunctionDef(name=word):
                found.add(word)
    return found


def _held(node: ast.ClassDef) -> set[str]:
    """Attributes that methods of a class set on their `self`, its slots, and what its body declares."""
    found = set()
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                found |= {part.value for part in ast.walk(value) if isinstance(part, ast.Constant)}
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found |= {name for name, _ in _set_in(each)}
    return {name for name in found if isinstance(name, str)}


def _set_in(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """Attributes that a method sets on its first argument, each with what it is set to, where that is told."""
    own = method.args.args[0].arg if method.args.args else ""
    for node in own_nodes(method):
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for each in ast.walk(target):
                if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == own:
                    yield each.attr, node.value if each is target and not isinstance(node, ast.AugAssign) else None


def _first(node: ast.ClassDef, name: str, known: set[str]) -> str | None:
    """Expression of `self` that an attribute of a new instance is set to; None where it cannot be had."""
    found = []
    for method in node.body:
        if isinstance(method, Function) and method.name in MAKERS:
            own = method.args.args[0].arg if method.args.args else ""
            found += [(value, own) for each, value in _set_in(method) if each == name]
    if not found:
        return ""
    value, own = found[-1]
    if value is None or len(found) > 1:
        return None
    for part in ast.walk(value):
        if isinstance(part, ast.Name) and part.id == own:
            part.id = "self"
        elif isinstance(part, ast.Name) and (part.id not in known or isinstance(part.ctx, ast.Store)):
            return None
    return ast.unparse(value)
