"""Definitions of functions and methods in a file: found by qualified name, with their offsets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.conditions import holds
from bakeoff.optimize.source_code.python_file import PythonFile

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Definition:
    """Definition of a function or method: its place in the file, decorators included.

    Attributes:
        qualname: its name with those of the classes around it.
        start: offset in the file's bytes of its first decorator, `async` or `def`.
        end: offset in bytes after its last statement; a comment behind that is not part of it.
        line: the line (from 1) of `start`.
        indentation: what stands before it on its first line.
        node: its syntax tree.
        classes: the classes around it, outermost first.
        file: the decoded file.
    """

    qualname: str
    start: int
    end: int
    line: int
    indentation: str
    node: Function
    classes: tuple[ast.ClassDef, ...]
    file: PythonFile

    @property
    def name(self) -> str:
        """Its own name."""
        return self.node.name

    @property
    def is_async(self) -> bool:
        """Whether it is an `async def`."""
        return isinstance(self.node, ast.AsyncFunctionDef)

    @property
    def is_method(self) -> bool:
        """Whether it stands in a class; static methods do, too."""
        return bool(self.classes)

    @property
    def decorators(self) -> tuple[str, ...]:
        """The text of each decorator, without its arguments."""
        return tuple(_decorator(node) for node in self.node.decorator_list)

    @property
    def text_span(self) -> tuple[int, int]:
        """`start` and `end` as offsets in the decoded text."""
        return statement_start(self.file, self.node), self.file.span(self.node)[1]

    @property
    def text(self) -> str:
        """Its text as it stands in the file, from the first decorator on; only the first line is not indented."""
        start, end = self.text_span
        return self.file.text[start:end]


def locate(source: bytes | PythonFile, qualname: str, path: str = "the file", *, line: int = 0) -> Definition:
    """Find a definition; of several of one name, the last one that can be in force (not `@overload`, not a setter).

    Of those in branches it is one of a branch that is taken, as far as the text tells: see `conditions.holds`.

    Args:
        source: the file.
        qualname: as in a `Target`.
        path: how errors call the file.
        line: of the `def` that was seen to be in force; 0 where nobody knows.

    Raises:
        TargetError: the file is no Python, or has no such definition: then the nearest ones are named.
    """
    try:
        file = source if isinstance(source, PythonFile) else PythonFile.read(source)
        found = [each for each in definitions(file.tree) if each[0] == qualname]
        seen = [each for each in _all_of(file, qualname) if each[1].lineno == line]
    except SyntaxError as failure:
        raise TargetError(f"{path} is no Python that can be read: {failure}") from None
    if not found:
        raise TargetError(f"{path} has no function {qualname!r}{_nearest(file.tree, qualname)}")
    in_force = [each for each in found if not _stub(each[1])]
    return _definition(file, *(seen or in_force or found)[-1])


def counterpart(before: bytes, after: bytes, qualname: str, line: int = 0) -> tuple[Definition, Definition]:
    """The definition in force in a file, and the same one of several of its name in another version of the file.

    Passes on TargetError: one of the files is no Python, or has none.
    """
    one, other = locate(before, qualname, line=line), locate(after, qualname)
    here, there = (_all_of(each.file, qualname) for each in (one, other))
    lines = [each[1].lineno for each in here]
    if len(here) != len(there):
        return one, other
    return one, _definition(other.file, *there[lines.index(one.node.lineno)])


def _all_of(file: PythonFile, qualname: str) -> list[tuple[str, Function, tuple[ast.ClassDef, ...]]]:
    """All definitions of a name, in whatever branch, in the order of the text."""
    found = [each for each in _definitions(file.tree.body, (), everywhere=True) if each[0] == qualname]
    return sorted(found, key=lambda each: each[1].lineno)


def _definition(file: PythonFile, name: str, node: Function, classes: tuple[ast.ClassDef, ...]) -> Definition:
    start, end = statement_start(file, node), file.span(node)[1]
    line = file.line_of(start)
    return Definition(
        name,
        file.byte_offset(start),
        file.byte_offset(end),
        line,
        file.text[file.line_start(line) : start],
        node,
        classes,
        file,
    )


def definitions(tree: ast.Module) -> Iterator[tuple[str, Function, tuple[ast.ClassDef, ...]]]:
    """All functions and methods with their qualified names and classes, but none inside functions.

    Those in branches that are never taken are left out, where the text tells (see `conditions.holds`). They come in
    order, but of a `try` what handles its failures comes first: the last one of a name is in force.
    """
    yield from _definitions(tree.body, ())


def _definitions(
    body: list[ast.stmt], classes: tuple[ast.ClassDef, ...], *, everywhere: bool = False
) -> Iterator[tuple[str, Function, tuple[ast.ClassDef, ...]]]:
    for statement in body:
        if isinstance(statement, Function):
            yield ".".join([*(each.name for each in classes), statement.name]), statement, classes
        elif isinstance(statement, ast.ClassDef):
            yield from _definitions(statement.body, (*classes, statement), everywhere=everywhere)
        else:
            parts = list(blocks(statement))
            if isinstance(statement, ast.If):
                taken = None if everywhere else holds(statement.test)
                branches = (statement.body, True), (statement.orelse, False)
                parts = [part for part, when in branches if taken in (None, when)]
            elif isinstance(statement, ast.Try):
                parts = [
                    *(each.body for each in statement.handlers),
                    statement.body,
                    statement.orelse,
                    statement.finalbody,
                ]
            for part in parts:
                yield from _definitions(part, classes, everywhere=everywhere)


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement, in order of the text."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        part = getattr(statement, name, None) or []
        if name in ("handlers", "cases"):
            yield from (each.body for each in part)
        elif isinstance(part, list) and part:
            yield part


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body that run in its own frame: none inside of nested functions and classes."""
    waiting: list[ast.AST] = list(getattr(function, "body", []))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def statement_start(file: PythonFile, node: ast.stmt) -> int:
    """The offset in the file's text at which a statement starts, with its decorators."""
    decorators: list[ast.expr] | None = getattr(node, "decorator_list", None)
    if not decorators:
        return file.span(node)[0]
    line = decorators[0].lineno
    # Between the sign and the expression there may be brackets, comments and line ends.
    while not file.lines[line - 1].lstrip(" \t\f").startswith("@"):
        line -= 1
    return file.line_start(line) + file.lines[line - 1].index("@")


def _stub(node: Function) -> bool:
    last = [name.rpartition(".") for name in map(_decorator, node.decorator_list)]
    return any(name == "overload" or (name in ("setter", "deleter") and owner == node.name) for owner, _, name in last)


def _decorator(node: ast.expr) -> str:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node)


def _nearest(tree: ast.Module, qualname: str) -> str:
    from difflib import get_close_matches

    names = list(dict.fromkeys(name for name, _, _ in definitions(tree)))
    last = qualname.rpartition(".")[2]
    near = [name for name in names if name.rpartition(".")[2] == last] or get_close_matches(qualname, names, 3, 0.6)
    if near:
        return f"; did you mean {' or '.join(near[:3])}?"
    if not names:
        return "; it defines none at all"
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"; it has {', '.join(names[:8])}{more}"
