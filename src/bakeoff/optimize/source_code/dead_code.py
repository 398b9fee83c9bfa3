"""Dead code elimination: what a definition does not reach is taken out of the text around it."""

from __future__ import annotations

import ast
import warnings

from bakeoff.optimize.source_code.names import bound_by

_DYNAMIC = frozenset({"eval", "exec", "globals", "locals", "vars", "__import__"})
"""Who calls these may mean any name."""
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_PLAIN = ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom


def without_dead_code(code: str, name: str) -> str:
    """The code without the top-level statements that the definition of `name` in it does not need.

    Tests, examples, helpers that nothing calls and imports that nothing reads go; all that is left stays as it is
    written. Code that is no Python, or that finds names at run time, comes back whole.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    kept = [statement for statement in body if _is_certain(statement, name)]
    data: set[str] = set()
    read: set[str] = set()
    while True:
        read = set().union(*map(_read_by, kept))
        data = {bound for one in kept if not isinstance(one, _DEFINITION) for bound in bound_by(one)}
        more = [one for one in body if one not in kept and _is_needed(one, read, data)]
        if not more:
            break
        kept += more
    if read & _DYNAMIC:
        return code
    return _without(code, [one for one in body if one not in kept])


def _is_certain(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__" or any(alias.name == "*" for alias in statement.names)
    return isinstance(statement, _DEFINITION) and any(
        isinstance(node, _DEFINITION) and node.name == name for node in ast.walk(statement)
    )


def _is_needed(statement: ast.stmt, read: set[str], data: set[str]) -> bool:
    """Whether it binds what is read, or changes data that is."""
    if bound_by(statement) & read:
        return True
    return not isinstance(statement, _DEFINITION | _PLAIN) and bool(_read_by(statement) & data)


def _read_by(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _without(code: str, gone: list[ast.stmt]) -> str:
    """The code without the lines of some statements, and without the comments right above them."""
    lines = code.splitlines(keepends=True)
    taken = [False] * len(lines)
    for statement in gone:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])
        while first > 1 and lines[first - 2].startswith("#"):
            first -= 1
        assert statement.end_lineno is not None
        for number in range(first - 1, statement.end_lineno):
            taken[number] = True
    left = "".join(line for line, is_gone in zip(lines, taken, strict=True) if not is_gone)
    return left if any(taken) else code
