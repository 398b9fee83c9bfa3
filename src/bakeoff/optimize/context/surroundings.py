"""Surroundings of the target: definitions of its module that it uses, and functions of the project that call it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from bakeoff.judge.checks.protected import USUAL, Protection
from bakeoff.optimize.source_code.definitions import Definition, definitions, locate, statement_start
from bakeoff.optimize.source_code.names import bound_by
from bakeoff.optimize.source_code.python_file import PythonFile
from bakeoff.optimize.target import Target

MOST_CALLERS = 5
MOST_FILES = 200
"""Files that are read in search of callers."""
LARGEST = 500_000
"""Bytes of a file beyond which it is not read."""
LONGEST = 4_000
"""Characters of a text beyond which it is left out."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Texts around a target.

    Attributes:
        helpers: definitions and constants of its module that it uses, those that they use included, by name.
        callers: functions that seem to call it: a method is found by its name alone.
    """

    helpers: dict[str, str]
    callers: tuple[str, ...]


def surroundings(
    target: Target,
    source: bytes,
    mentions: Iterable[str],
    read: Callable[[str], bytes | None],
    tests: Protection = USUAL,
) -> Surroundings:
    """Look around a target; blocks.

    Args:
        target: it.
        source: its file.
        mentions: paths of Python files of the project in which its name occurs.
        read: the content of such a file.
        tests: says which of them are tests.

    Passes on TargetError: there is no such target.
    """
    definition = locate(source, target.qualname)
    helpers = dict(_helpers(definition))
    return Surroundings(helpers, tuple(_callers(target, definition, source, mentions, read, tests)))


def _helpers(definition: Definition) -> Iterator[tuple[str, str]]:
    """Definitions of its file that it uses, then those that these use."""
    file = definition.file
    methods = {name: node for name, node, _ in definitions(file.tree)}
    top = {name: each for each in file.tree.body for name in bound_by(each) if not _is_import(each)}
    prefix = definition.qualname.rpartition(".")[0]
    seen: set[ast.stmt] = {definition.node}
    waiting: list[ast.AST] = [definition.node]
    while waiting:
        for name in _names(waiting.pop(0), prefix):
            node = top.get(name) or methods.get(name)
            if node is None or node in seen or (isinstance(node, ast.ClassDef) and definition.node in ast.walk(node)):
                continue
            seen.add(node)
            waiting.append(node)
            text = file.text[statement_start(file, node) : file.span(node)[1]]
            if len(text) <= LONGEST:
                yield name, text


def _names(node: ast.AST, prefix: str) -> Iterator[str]:
    """Names that code reads; of `self.x` and `cls.x` the method of its own class."""
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if prefix:
                yield f"{prefix}.{attr}"


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _callers(
    target: Target,
    definition: Definition,
    source: bytes,
    mentions: Iterable[str],
    read: Callable[[str], bytes | None],
    tests: Protection,
) -> Iterator[str]:
    """Functions that call it, those of its own file first; tests are none."""
    own = str(target.path)
    others = sorted(path for path in mentions if path != own and not tests.covers(path))
    found = 0
    for path in [own, *others[:MOST_FILES]]:
        content = source if path == own else read(path)
        if content is None or len(content) > LARGEST:
            continue
        for text in _calling(content, definition.name, definition.qualname if path == own else None):
            yield f"# {path}\n{text}"
            found += 1
            if found == MOST_CALLERS:
                return


def _calling(content: bytes, name: str, besides: str | None) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = PythonFile.read(content)
            found = list(definitions(file.tree))
    except (SyntaxError, UnicodeError):
        return
    for qualname, node, _ in found:
        if qualname == besides or not any(_calls(each, name) for each in ast.walk(node)):
            continue
        text = file.text[statement_start(file, node) : file.span(node)[1]]
        if len(text) <= LONGEST:
            yield text


def _calls(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
            return called == name
    return False
