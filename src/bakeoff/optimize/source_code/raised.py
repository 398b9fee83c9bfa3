"""Exceptions that a function is written to raise."""

from __future__ import annotations

import ast

from bakeoff.optimize.source_code.definitions import Function, locate
from bakeoff.optimize.source_code.python_file import PythonFile


def raised_by(source: bytes, qualname: str, line: int = 0) -> set[str]:
    """Names of the exception classes in the `raise` statements of a function, and of what it calls in its own file.

    A class is known by its last name, as in `raise errors.Missing(key)`. What is called is found by its name alone, be
    it a function or a method.

    Args:
        source: the file.
        qualname: of the function.
        line: of its `def`; see `locate`.

    Passes on TargetError: the file has no such function.
    """
    file = PythonFile.read(source)
    by_name: dict[str, list[Function]] = {}
    for node in ast.walk(file.tree):
        if isinstance(node, Function):
            by_name.setdefault(node.name, []).append(node)
    waiting, seen, raised = [locate(file, qualname, line=line).node], set[Function](), set[str]()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Raise):
                raised.add(_last_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc))
            elif isinstance(node, ast.Call):
                waiting += by_name.get(_last_name(node.func), [])
    return raised - {""}


def _last_name(node: ast.expr | None) -> str:
    """`c` of `a.b.c`; an empty text for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
