"""Interface of a file: the lines that define what can be used from outside, without their bodies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from bakeoff.reader.reading import UnreadError, read_here
from bakeoff.workspace.repository.git import Git

MOST_LINES = 40
"""Of one file."""

MOST_CHARACTERS = 12_000
"""Of all files that one subplan is told of."""

_OTHER = re.compile(
    r"^(?:export\s.*|(?:pub(?:\([^)]*\))?\s+)(?:fn|struct|enum|trait|type|const|static|mod)\s.*|func\s.*"
    r"|(?:public|protected)\s.*[({].*|(?:abstract\s+)?(?:class|interface)\s.*)"
)
"""Lines that define something public in JavaScript, TypeScript, Rust, Go, Java, C#, ..."""


def interface_of(path: str, text: str) -> list[str]:
    """The lines of a file's interface; none where it has none that can be told."""
    found = _python(text) if path.endswith((".py", ".pyi")) else _others(text)
    lines = [line for _, line in zip(range(MOST_LINES), found, strict=False)]
    return [line if len(line) <= 200 else f"{line[:200]}..." for line in lines]


def _python(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from _definitions(tree.body, "")


def _definitions(body: Sequence[ast.stmt], indent: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            yield f"{indent}class {node.name}{f'({bases})' if bases else ''}"
            yield from _definitions(node.body, f"{indent}    ")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") and node.name != "__init__":
                continue
            start = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
            yield f"{indent}{start} {node.name}({ast.unparse(node.args)}){returns}"


def _others(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if _OTHER.match(line):
            yield line.rstrip().removesuffix("{").rstrip()


def _read(path: str, content: bytes) -> list[str]:
    """The interface of what an agent may have written, as a reader process finds it."""
    try:
        return list(read_here(lines_of, content, path))
    except UnreadError:
        return []


def lines_of(data: bytes, path: str) -> list[str]:
    """The same in that process."""
    return interface_of(path, data.decode("utf-8", "replace"))


def interfaces(git: Git, tree: str, paths: Sequence[str]) -> dict[str, list[str]]:
    """The interfaces of files of a tree, as far as there is room for them. Blocks."""
    found: dict[str, list[str]] = {}
    room = MOST_CHARACTERS
    for path in paths:
        status, content, *_ = git.both("cat-file", "blob", f"{tree}:{path}".encode("utf-8", "surrogateescape"),
                                       statuses=(0, 128))  # fmt: skip
        lines = _read(path, content) if not status else []
        room -= sum(map(len, lines))
        if room < 0:
            break
        if lines:
            found[path] = lines
    return found
