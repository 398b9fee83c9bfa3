"""What a candidate's file changes besides the target."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def changed_besides(before: bytes, after: bytes, qualname: str) -> list[str]:
    """Names of what the original file has and the other has not, or has otherwise.

    Target, imports and documentation do not count. What is only in the other file is no change: nothing that exists
    knows of it.
    """
    try:
        one, other = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError):
        return []
    theirs = dict(_statements(other.body, qualname, ""))
    found = []
    for name, text in _statements(one.body, qualname, ""):
        if theirs.get(name) != text:
            found.append(name)
    return found


def _statements(body: list[ast.stmt], qualname: str, prefix: str) -> Iterator[tuple[str, str]]:
    for index, node in enumerate(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_text(node):
            continue
        name = prefix + _name(node, index)
        if name == qualname:
            continue
        if isinstance(node, ast.ClassDef) and qualname.startswith(f"{name}."):
            yield f"{name}.", ast.dump(ast.Tuple([*node.bases, *node.decorator_list], ast.Load()))
            yield from _statements(node.body, qualname, f"{name}.")
        else:
            yield name, ast.dump(node)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.stmt, index: int) -> str:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return " = ".join(ast.unparse(target) for target in targets)
    return ast.unparse(node).partition("\n")[0][:60]
