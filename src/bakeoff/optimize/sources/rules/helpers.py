"""Rules on the functions that the target calls: private ones are changed where they stand, others as a private copy.

A copy changes nothing for anybody else, so that the candidate is still judged by what the target does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from bakeoff.optimize.editing import apply_definition
from bakeoff.optimize.errors import InvalidCandidateError, TargetError
from bakeoff.optimize.indenting import lines_in_strings, reindented
from bakeoff.optimize.names import bound_by, module_names
from bakeoff.optimize.target import Definition, Function, locate

Improve = Callable[[bytes, str], bytes]
"""The file with the definition of a name rewritten."""


def functions_among(source: bytes, helpers: Mapping[str, str], qualname: str) -> list[str]:
    """Those helpers that are functions rules may change: plain ones of the file, and methods of the target's class."""
    prefix = qualname.rpartition(".")[0]
    found = []
    for name in helpers:
        owner, _, last = name.rpartition(".")
        if name == qualname or owner not in ("", prefix) or (owner and not _is_private(last)):
            continue
        try:
            definition = locate(source, name)
        except TargetError:
            continue
        plain = isinstance(definition.node, ast.FunctionDef) and not definition.node.decorator_list
        if plain and (_is_private(last) or _calls(locate(source, qualname), name)):
            found.append(name)
    return found


def with_helper(source: bytes, qualname: str, name: str, improve: Improve) -> bytes | None:
    """The file with the helper `name` made better for the target; None where nothing is to be made better.

    Passes on TargetError: the file has not the one or the other.
    """
    changed = improve(source, name)
    if changed == source:
        return None
    if _is_private(name.rpartition(".")[2]):
        return changed
    better, original, target = locate(changed, name), locate(source, name), locate(source, qualname)
    taken = module_names(original.file.text)
    copy = f"_{name}"
    while copy in taken[0] | taken[1] or copy in bound_by(*target.node.body):
        copy += "_"
    texts = [_renamed(definition, name, copy) for definition in (better, target)]
    if None in texts:
        return None
    try:
        restored = apply_definition(changed, name, _text(original))
        return apply_definition(restored, qualname, "\n\n".join(text for text in texts if text is not None))
    except InvalidCandidateError:
        return None


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _calls(definition: Definition, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(definition.node))


def _text(definition: Definition) -> str:
    text = definition.text
    return reindented(text, definition.indentation, "", lines_in_strings(definition.file.text), definition.line)


def _renamed(definition: Definition, name: str, new: str) -> str | None:
    """The text of a definition with `name` called otherwise; None where that cannot be told for sure."""
    text = _text(definition)
    tree = ast.parse(text)
    node = tree.body[0]
    assert isinstance(node, Function)
    if any(isinstance(each, ast.JoinedStr) and _mentions(each, name) for each in ast.walk(node)):
        return None
    arguments = [each.arg for each in ast.walk(node) if isinstance(each, ast.arg)]
    if name in arguments or name in bound_by(*node.body):
        return None
    lines = text.splitlines(keepends=True)
    places = [
        (each.lineno, each.col_offset) for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name
    ]
    if node.name == name:
        line = lines[node.lineno - 1]
        places.append((node.lineno, len(line[: line.index(name, line.index("def ") + 4)].encode())))
    for number, column in sorted(places, reverse=True):
        raw = lines[number - 1].encode()
        lines[number - 1] = (raw[:column] + new.encode() + raw[column + len(name.encode()) :]).decode()
    return "".join(lines)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))
