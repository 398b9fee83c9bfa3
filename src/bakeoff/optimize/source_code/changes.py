"""Changes of a file besides the target: side effects of a candidate on the rest of the project, read in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from bakeoff.optimize.errors import TargetError
from bakeoff.optimize.source_code.definitions import Definition, Function, blocks, counterpart, locate
from bakeoff.optimize.source_code.imports import Binding, bindings
from bakeoff.optimize.source_code.names import bound_by
from bakeoff.optimize.source_code.python_file import PythonFile

BLOCKS = frozenset({"body", "handlers", "cases", "orelse", "finalbody"})
"""Fields of statements in which others stand."""


def changed_besides(before: bytes, after: bytes, qualname: str, line: int = 0) -> list[str]:
    """Names of what the original file has and the other has not, or has otherwise, and what the other does besides.

    Target (where it is a `def` in both) and documentation do not count, nor imports of which nothing but the target
    makes use. What is only in the other file is no change where nothing that exists knows of it: definitions and
    variables under new names. What it does while it is imported is one, and what Python looks for by its name.

    Args:
        before: the original file.
        after: the other.
        qualname: of the target.
        line: of its definition in the original, where it has several; 0 for the one that its text says is in force.
    """
    try:
        try:
            targets: Sequence[Definition | None] = counterpart(before, after, qualname, line)
        except TargetError:
            targets = [_located(source, qualname) for source in (before, after)]
        one, other = (_Module(source, qualname, each) for source, each in zip((before, after), targets, strict=True))
    except (SyntaxError, ValueError):
        return []
    found = [name for name, texts in one.statements.items() if other.statements.get(name) != texts]
    found += [f"import of {name}" for name in one.used if one.imports.get(name) != other.imports.get(name)]
    found += [f"import of {name}" for name in other.imports if name in one.bound and name not in one.imports]
    if one.target is not None and other.target is None:
        found.append(qualname)
    new = {name: node for name, node in other.nodes.items() if name not in one.statements}
    own = other.bound - one.bound - set(one.imports) - set(other.imports) | {qualname}
    own |= {each for name, node in new.items() if name in other.members for each in bound_by(node)}
    return found + [name for name, node in new.items() if _acts(node, own) or _may_replace(name, one)]


def is_public(name: str) -> bool:
    """Whether others than its own module may know of it: so it is of what Python calls by itself (`__eq__`)."""
    own = name.rpartition(".")[2]
    return not own.startswith("_") or _is_special(own)


class _Module:
    """Statements and imports of a file, without the target.

    Attributes:
        statements: by name, what each says; of several with one name, each.
        nodes: the last of each name.
        members: names of those that stand in classes.
        bound: names that statements bind.
        imports: by name, what imports bind it to.
        used: names of imports of which something else than the target makes use.
        inheriting: names of those classes around the target that have bases.
    """

    def __init__(self, source: bytes, qualname: str, target: Definition | None) -> None:
        file = PythonFile.read(source) if target is None else target.file
        self.target: ast.stmt | None = None if target is None else target.node
        self.around = set() if self.target is None else set(_around(file.tree, self.target))
        self.qualname = qualname
        self.statements: dict[str, list[str]] = {}
        self.nodes: dict[str, ast.stmt] = {}
        self.members: set[str] = set()
        self.imports: dict[str, list[Binding]] = {}
        self.inheriting: set[str] = set()
        self._read(file.tree.body, "")
        self.bound = {name for node in file.tree.body if not _is_import(node) for name in bound_by(node)}
        used = {node.id for node in self._walk(file.tree) if isinstance(node, ast.Name)}
        listed = {node.value for node in self._walk(file.tree) if isinstance(node, ast.Constant)}
        self.used = [name for name in self.imports if name == "*" or name in used or name in listed]

    def _read(self, body: list[ast.stmt], prefix: str, where: str = "") -> None:
        for index, node in enumerate(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for binding in bindings(node):
                    self.imports.setdefault(prefix + binding.name, []).append(binding)
            elif node is self.target or _is_text(node):
                continue
            elif node in self.around and not isinstance(node, ast.ClassDef):
                self._branches(node, prefix, where, _name(node, index))
            else:
                self._statement(node, prefix, prefix + _name(node, index), where)

    def _branches(self, node: ast.stmt, prefix: str, where: str, name: str) -> None:
        """An `if`, `try` or the like around the target: each of its statements by itself, with the branch it is in."""
        fields = {key: value for key, value in ast.iter_fields(node) if key not in BLOCKS}
        said = [ast.dump(part) for value in fields.values() for part in (value if isinstance(value, list) else [value])]
        said += [ast.dump(each.type) for each in getattr(node, "handlers", ()) if each.type is not None]
        said += [ast.dump(each.pattern) for each in getattr(node, "cases", ())]
        self.statements.setdefault(f"{prefix}{name} ...", []).append(f"{where}{type(node).__name__}{said}")
        self.nodes[f"{prefix}{name} ..."] = node
        for number, part in enumerate(blocks(node)):
            self._read(part, prefix, f"{where}{name}[{number}] ")

    def _statement(self, node: ast.stmt, prefix: str, name: str, where: str) -> None:
        if isinstance(node, ast.ClassDef) and self.qualname.startswith(f"{name}."):
            around = ast.Tuple([*node.bases, *(each.value for each in node.keywords), *node.decorator_list], ast.Load())
            self.statements.setdefault(f"{name}.", []).append(where + ast.dump(around))
            if node.bases:
                self.inheriting.add(name)
            self._read(node.body, f"{name}.", where)
        else:
            self.statements.setdefault(name, []).append(where + ast.dump(node))
            self.nodes[name] = node
            self.members |= {name} if prefix else set()

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if child is not self.target:
                yield child
                yield from self._walk(child)


def _located(source: bytes, qualname: str) -> Definition | None:
    try:
        return locate(source, qualname)
    except TargetError:
        return None


def _around(tree: ast.AST, target: ast.AST) -> Iterator[ast.AST]:
    """The nodes that hold the target."""
    for child in ast.iter_child_nodes(tree):
        if child is target or any(True for _ in _around(child, target)):
            yield child
            yield from _around(child, target)


def _acts(node: ast.stmt, own: set[str]) -> bool:
    """Whether a new statement changes something that exists already; `own` are names that only the new file has."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return _is_special(name)
        case ast.Assign(targets=targets):
            return not all(_is_own(each, own) for each in targets)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target) | ast.Expr(value=ast.Call(func=target)):
            return not _is_own(target, own)
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return False
        case ast.If() | ast.For() | ast.While() | ast.Try() | ast.With():
            inner = [each for part in blocks(node) for each in part]
            return not bound_by(node) <= own or any(_acts(each, own) for each in inner)
        case _:
            return True


def _is_own(place: ast.expr, own: set[str]) -> bool:
    """Whether what is assigned to, or called, belongs to what is new."""
    if isinstance(place, ast.Tuple | ast.List):
        return all(_is_own(each, own) for each in place.elts)
    while isinstance(place, ast.Attribute | ast.Subscript | ast.Starred):
        place = place.value
    return isinstance(place, ast.Name) and place.id in own and not _is_special(place.id)


def _may_replace(name: str, module: _Module) -> bool:
    """Whether a new name of a class may hide one that the class inherits."""
    return name.rpartition(".")[0] in module.inheriting


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_import(node: Any) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.stmt, index: int) -> str:
    if isinstance(node, Function | ast.ClassDef):
        return node.name
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return " = ".join(ast.unparse(target) for target in targets)
    return ast.unparse(node).partition("\n")[0][:60]
