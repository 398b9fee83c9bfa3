"""Rules on the functions that the target calls: private ones are changed where they stand, others as private copies.

A copy changes nothing for anybody else, so that the candidate is still judged by what the target does. Where a function
between the target and a changed one is public, it is copied, too, and calls the copies.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from bakeoff.optimize.errors import InvalidCandidateError, TargetError
from bakeoff.optimize.source_code.definitions import Definition, Function, definitions, locate
from bakeoff.optimize.source_code.editing import apply_definition
from bakeoff.optimize.source_code.indentation import lines_in_strings, reindented
from bakeoff.optimize.source_code.names import bound_by, module_names
from bakeoff.optimize.source_code.python_file import PythonFile

Improve = Callable[[bytes, str], bytes]
"""The file with the definition of a name rewritten."""


@lru_cache(maxsize=4)
def parsed(source: bytes) -> PythonFile:
    """The file, parsed once for all who look at it. Passes on SyntaxError."""
    return PythonFile.read(source)


def functions_among(source: bytes, helpers: Mapping[str, str], qualname: str) -> list[str]:
    """Those helpers that are functions rules may change: plain ones of the file, and methods of the target's class."""
    prefix = qualname.rpartition(".")[0]
    found = []
    for name in helpers:
        owner, _, last = name.rpartition(".")
        if name == qualname or owner not in ("", prefix) or (owner and last.startswith("__")):
            continue
        try:
            definition = locate(parsed(source), name)
        except TargetError:
            continue
        plain = isinstance(definition.node, ast.FunctionDef) and not definition.node.decorator_list
        if plain and (_is_private(last) or not owner or not _overridden(definition)):
            found.append(name)
    return found


def reached(source: bytes, qualname: str, names: Sequence[str]) -> list[str]:
    """Those of some helpers that the target still calls, through others, too. Passes on TargetError."""
    found: list[str] = []
    waiting = [qualname]
    while waiting:
        for name in sorted(_called(locate(parsed(source), waiting.pop(0)), names) - {*found, qualname}):
            found.append(name)
            waiting.append(name)
    return found


def with_helpers(source: bytes, qualname: str, names: Sequence[str], improve: Improve) -> tuple[bytes, bool]:
    """The file with helpers made better for the target, and whether one is a method, which subclasses may replace.

    Passes on TargetError: the file has not the one or the other.
    """
    better, changed = source, set()
    for name in names:
        after = improve(better, name)
        if after != better:
            changed.add(name)
            better = after
    if not changed:
        return source, False
    graph = {name: _called(locate(parsed(source), name), names) for name in (*names, qualname)}
    needed = above(changed, graph) & set(names)
    copied = [name for name in names if name in needed and not _is_private(name.rpartition(".")[2])]
    if not copied:
        return better, False
    try:
        return _copied(source, better, qualname, copied, needed), any("." in name for name in copied)
    except (InvalidCandidateError, _UnclearError):
        return source, False


class _UnclearError(Exception):
    """Where a name is used cannot be told for sure."""


def _copied(source: bytes, better: bytes, qualname: str, copied: Sequence[str], needed: set[str]) -> bytes:
    """Public helpers as they were, and copies of the better ones that the target calls."""
    target = locate(better, qualname)
    every = list(definitions(target.file.tree))
    taken = set().union(*module_names(target.file.text), *(bound_by(*node.body) for _, node, _ in every))
    taken |= {name.rpartition(".")[2] for name, _, _ in every}
    new: dict[str, str] = {}
    for name in copied:
        copy = f"_{name.rpartition('.')[2]}"
        while copy in taken or copy in new.values():
            copy += "_"
        new[name] = copy
    found = better
    for name in needed - set(copied):
        found = apply_definition(found, name, _renamed(locate(better, name), new))
    functions = [_renamed(locate(better, name), new) for name in copied if "." not in name]
    members = [_renamed(locate(better, name), new) for name in copied if "." in name]
    for name in copied:
        found = apply_definition(found, name, _text(locate(source, name)))
    text = _renamed(target, new)
    if members:
        for each in reversed(qualname.split(".")[:-1]):
            body = "\n\n".join([*members, text])
            text = f"class {each}:\n    {reindented(body, '', '    ', lines_in_strings(body))}"
            members = []
    return apply_definition(found, qualname, "\n\n".join([*functions, text]))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _overridden(definition: Definition) -> bool:
    """Whether another class of the file has a method of that name and may stand below, or an attribute hides it."""
    owner, name = definition.classes[-1].name, definition.name
    for node in ast.walk(definition.file.tree):
        match node:
            case ast.ClassDef(bases=[_, *_], body=body) if node.name != owner:
                if any(isinstance(each, Function) and each.name == name for each in body):
                    return True
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr == name:
                return True
    return False


def _called(definition: Definition, names: Sequence[str]) -> set[str]:
    """Which of these a definition names."""
    return {name for name in names if _places(definition.node, name, _own(definition))}


def above(sought: set[str], graph: Mapping[str, set[str]]) -> set[str]:
    """Those that reach one of `sought` in a graph of who calls whom, and these."""
    found = set(sought)
    while more := {name for name, called in graph.items() if name not in found and called & found}:
        found |= more
    return found


def _own(definition: Definition) -> str:
    """Name by which a method calls its own object."""
    arguments = definition.node.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    return first[0].arg if definition.classes and first else ""


def _places(node: ast.AST, name: str, own: str) -> list[ast.Name | ast.Attribute]:
    """Where a function of the file, or a method of its own object, is named."""
    owner, _, last = name.rpartition(".")
    found: list[ast.Name | ast.Attribute] = []
    for each in ast.walk(node):
        match each:
            case ast.Name(id=called) if not owner and called == name:
                found.append(each)
            case ast.Attribute(value=ast.Name(id=root), attr=attr) if owner and own and root == own and attr == last:
                found.append(each)
    return found


def _text(definition: Definition) -> str:
    text = definition.text
    return reindented(text, definition.indentation, "", lines_in_strings(definition.file.text), definition.line)


def _renamed(definition: Definition, new: Mapping[str, str]) -> str:
    """The text of a definition in which those names, its own included, are called otherwise.

    Raises:
        _UnclearError: where they are used cannot be told for sure.
    """
    file, own = PythonFile(_text(definition)), _own(definition)
    node = file.tree.body[0]
    assert isinstance(node, Function)
    bound = bound_by(*node.body) | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    edits: set[tuple[int, int, str]] = set()
    for name, copy in new.items():
        found = _places(node, name, own)
        if found and (name in bound or (own and own in bound_by(*node.body))):
            raise _UnclearError
        for each in found:
            end = file.span(each)[1]
            edits.add((end - len(name.rpartition(".")[2]), end, copy))
            if isinstance(each, ast.Name):
                each.id = copy
            else:
                each.attr = copy
    if definition.qualname in new:
        at = file.text.index(node.name, file.text.index("def ", file.span(node)[0]) + 4)
        edits.add((at, at + len(node.name), new[definition.qualname]))
    node.name = new.get(definition.qualname, node.name)
    result = file.edited(edits).text
    if ast.dump(ast.parse(result).body[0]) != ast.dump(node):
        raise _UnclearError
    return result
