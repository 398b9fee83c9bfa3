"""Import statements: the names that they bind, and the place in a file where a new one is safe."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bakeoff.optimize.source_code.definitions import statement_start
from bakeoff.optimize.source_code.python_file import PythonFile, parse


@dataclass(frozen=True, slots=True)
class Binding:
    """One name that an import binds.

    Attributes:
        name: what is bound.
        module: the module, with its dots where it is relative.
        attribute: what of it, in `from module import attribute`; else empty.
        path: whether the name is the first part of `module`: `import a.b` binds `a`.
    """

    name: str
    module: str
    attribute: str = ""
    path: bool = False


def bindings(statement: ast.Import | ast.ImportFrom) -> Iterator[Binding]:
    """Names that a statement binds, in order."""
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            yield Binding(alias.asname or alias.name, module, alias.name)
        elif alias.asname:
            yield Binding(alias.asname, alias.name)
        else:
            yield Binding(alias.name.partition(".")[0], alias.name, path=True)


def imported_by(changes: Iterable[Mapping[str, bytes | None]]) -> list[str]:
    """The modules that changed files import anywhere, by their absolute names; of files that cannot be read, none."""
    found: dict[str, None] = {}
    for content in (content for files in changes for content in files.values() if content is not None):
        try:
            tree = parse(content)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= dict.fromkeys(binding.module for binding in bindings(node))
    return [name for name in found if not name.startswith(".")]


def import_text(binding: Binding) -> str:
    """The statement that binds just this."""
    if binding.attribute:
        renamed = f" as {binding.name}" if binding.name != binding.attribute else ""
        return f"from {binding.module} import {binding.attribute}{renamed}"
    return f"import {binding.module}" + ("" if binding.path else f" as {binding.name}")


def import_place(file: PythonFile) -> tuple[int, str]:
    """The offset in the text at which a new import is safe, and what must stand before it there.

    It is the line behind the file's first imports, docstring and `__future__` imports; never inside another
    statement. A file without any gets it before its first statement.
    """
    last: ast.stmt | None = None
    for at, statement in enumerate(file.tree.body):
        docstring = at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not isinstance(statement, ast.Import | ast.ImportFrom):
            break
        last = statement
    if last is None:
        return file.line_start(file.line_of(statement_start(file, file.tree.body[0]))), ""
    assert last.end_lineno is not None
    line = last.end_lineno
    for statement in file.tree.body:  # others may begin on the same line
        if statement.lineno <= line and statement.end_lineno is not None:
            line = max(line, statement.end_lineno)
    while file.lines[line - 1].rstrip("\r\n").endswith("\\") and line < len(file.lines):
        line += 1
    place = file.line_start(line + 1)
    lead = "" if file.text[:place].endswith(("\n", "\r")) else "\n"
    if isinstance(last, ast.Expr):
        lead += "\n"
    return place, lead
