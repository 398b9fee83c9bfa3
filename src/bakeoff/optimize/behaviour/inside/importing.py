"""Imports the project's modules from their sources: never from bytecode, of which nobody knows whose it is.

The file of the target gets one more decorator on the way, which stands for nothing in the file itself.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

NAME = "__bakeoff_decorate__"
DESCRIPTORS = frozenset({"staticmethod", "classmethod", "property", "abstractmethod", "cached_property", "override"})


class ProjectFinder:
    """First of the finders: what the others find below the project's root is loaded by us.

    Args:
        root: the project's top.
        overrides: the contents of files that are to be taken in place of those on disk, by absolute path.
        target: the file to change and the qualified name of its function; None to change none.
        decorate: gets the line of a definition, gives what gets the function and gives what stands in its place.
        inner: decorate the function itself, not what its decorators make of it: that is what they put into tables.
    """

    def __init__(
        self,
        root: str,
        overrides: Mapping[str, bytes] | None = None,
        target: tuple[str, str] | None = None,
        decorate: Callable[[int], Callable[[Any], Any]] | None = None,
        *,
        inner: bool = False,
    ) -> None:
        self.root = os.path.realpath(root) + os.sep
        self.overrides = dict(overrides or {})
        self.target = target
        self.decorate = decorate
        self.inner = inner
        self.after: Callable[[ModuleType], None] | None = None
        self.loaded: dict[str, str] = {}
        self._busy = False

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if self._busy:
            return None
        self._busy = True
        try:
            spec = self._found(name, path, target)
        finally:
            self._busy = False
        if spec is None or not spec.origin:
            return spec
        if (type(spec.loader) is SourceFileLoader and self.is_ours(spec.origin)) or self._is_special(spec.origin):
            spec.loader = ProjectLoader(name, spec.origin, self)
            spec.cached = None
        return spec

    def first(self) -> None:
        """Be asked before finders that came later: pytest's takes every file that its command line names."""
        sys.meta_path[:] = [self, *(finder for finder in sys.meta_path if finder is not self)]

    def _is_special(self, path: str) -> bool:
        """Whether no other loader will do: it would load what is on the disk, and as it stands there."""
        real = os.path.realpath(path)
        return real in self.overrides or (self.target is not None and real == os.path.realpath(self.target[0]))

    def _found(self, name: str, path: Any, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            look = getattr(finder, "find_spec", None)
            spec = None if finder is self or look is None else look(name, path, target)
            if spec is not None:
                return spec  # type: ignore[no-any-return]
        return None

    def is_ours(self, path: str) -> bool:
        """Whether a file belongs to the project: below its root and no installed package."""
        real = os.path.realpath(path)
        return real.startswith(self.root) and "site-packages" not in real[len(self.root) :].split(os.sep)


class ProjectLoader(SourceFileLoader):
    """Reads and compiles a source file of the project."""

    def __init__(self, name: str, path: str, finder: ProjectFinder) -> None:
        super().__init__(name, path)
        self.finder = finder

    def get_data(self, path: str | bytes) -> bytes:
        """See `importlib.abc.ResourceLoader`."""
        found = self.finder.overrides.get(os.path.realpath(os.fsdecode(path)))
        return super().get_data(path) if found is None else found  # type: ignore[arg-type]

    def get_code(self, fullname: str) -> CodeType | None:
        """Compile, whatever bytecode there is."""
        data = self.get_data(self.path)
        wanted = self.finder.target
        if wanted is None or os.path.realpath(self.path) != os.path.realpath(wanted[0]):
            return self.source_to_code(data, self.path)
        tree = ast.parse(data, self.path)
        decorated(tree, wanted[1], inner=self.finder.inner)
        self.finder.loaded[fullname] = self.path
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        """See `importlib.abc.Loader`."""
        if self.finder.decorate is None:
            super().exec_module(module)
            return
        module.__dict__[NAME] = self.finder.decorate
        try:
            super().exec_module(module)
        finally:
            module.__dict__.pop(NAME, None)
        if self.finder.after is not None and module.__name__ in self.finder.loaded:
            self.finder.after(module)


def decorated(tree: ast.Module, qualname: str, *, inner: bool = False) -> None:
    """Put the decorator over every definition of that name: outermost, but inside of what makes no function of it.

    Args:
        tree: the module's.
        qualname: of the function.
        inner: innermost instead.
    """
    parts = qualname.split(".")
    for node in _definitions(tree.body, parts):
        names = [_last(decorator) for decorator in node.decorator_list]
        if "overload" in names or any(name in ("setter", "deleter") for name in names):
            continue
        index = 0
        while index < len(names) and (inner or names[index] in DESCRIPTORS):
            index += 1
        added = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(node.lineno)], [])
        for part in ast.walk(added):
            if isinstance(part, ast.expr):
                part.lineno = part.end_lineno = node.lineno
                part.col_offset = part.end_col_offset = 0
        node.decorator_list.insert(index, added)


def _definitions(body: Iterable[ast.stmt], parts: list[str]) -> Iterable[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if parts == [node.name]:
                yield node
        elif isinstance(node, ast.ClassDef):
            if len(parts) > 1 and node.name == parts[0]:
                yield from _definitions(node.body, parts[1:])
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from _definitions(getattr(node, name, ()), parts)
            for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from _definitions(each.body, parts)


def _last(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def underlying(found: Any) -> Any:
    """The function in what a class keeps of it."""
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, property):
        return found.fget
    return getattr(found, "func", found) if type(found).__name__ == "cached_property" else found


def undecorated(found: Any) -> Any:
    """The function as it was written, where decorators say what they wrap."""
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    return found


def target_in(module: ModuleType, qualname: str, *, inner: bool = False) -> Any:
    """The function of that name in a module; with `inner`, without its decorators.

    Raises:
        AttributeError: it has none.
    """
    import inspect

    found: Any = module
    for part in qualname.split("."):
        found = inspect.getattr_static(found, part)
    found = undecorated(underlying(found)) if inner else underlying(found)
    if not callable(found):
        raise AttributeError(f"{qualname} is no function")
    return found
