"""Fingerprint of what Python compiles files to: equal for candidates that are the same in other words.

The compiler itself resolves scopes, folds constants and drops brackets, quotes and comments. What is left to do: names
of local variables become numbers, in the order in which the code first touches them, wherever nobody can see them.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from types import CodeType
from typing import Any

from bakeoff.optimize.source_code.definitions import Function, own_nodes
from bakeoff.optimize.source_code.python_file import PythonFile

SEES_ITS_LOCALS = {"locals", "vars", "dir", "eval", "exec", "breakpoint"}
"""Who reads one of these may see the names of the locals of its own frame."""

SEES_FRAMES = {
    "_getframe", "currentframe", "stack", "trace", "f_locals", "f_back", "f_code", "tb_frame", "gi_frame", "cr_frame",
    "__code__", "co_varnames", "co_freevars", "co_cellvars", "co_name", "settrace", "setprofile", "getsource",
    "getclosurevars", "getframeinfo", "_current_frames",
}  # fmt: skip
"""Who reads one of these may see the names of any frame, or of any function's code."""

_BOOKKEEPING = {"MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE", "CACHE", "EXTENDED_ARG"}
"""Instructions whose order follows from the spelling of names; what they do shows where the variables are used."""


def fingerprint(files: Mapping[str, bytes | None]) -> str:
    """A digest that is equal for files that mean the same and take the same time.

    Alike are: other names of locals, comments, quotes, docstrings, brackets, annotations of locals, constants written
    otherwise, names of inner functions that are only called. Not alike is whatever else can be seen when the code
    runs: names of parameters, attributes, classes and globals, types and signs of constants, the order of evaluation.
    Files that are no Python count byte by byte. Fingerprints of different versions of Python cannot be compared.
    """
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(repr((path, _normal(path, content))).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _normal(path: str, content: bytes | None) -> Any:
    if content is None or PurePosixPath(path).suffix not in (".py", ".pyi"):
        return content
    try:
        tree = PythonFile.read(content).tree
        anonymous = set(_only_called(tree, ""))
        _strip(tree)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(tree, "<candidate>", "exec", dont_inherit=True, optimize=0)
        named = any(SEES_FRAMES & set(each.co_names) for each in _codes(code))
        return list(_Normaliser(anonymous, named).lines(code, str))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return content


def _strip(tree: ast.Module) -> None:
    """Take out docstrings and positions: some instructions depend on where lines break."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body[:1] = (
                    [] if len(node.body) > 1 or isinstance(node, ast.Module) else [ast.Pass(lineno=1, col_offset=0)]
                )
        for name in ("lineno", "end_lineno"):
            if hasattr(node, name):
                setattr(node, name, 1)
        for name in ("col_offset", "end_col_offset"):
            if hasattr(node, name):
                setattr(node, name, 0)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _only_called(node: ast.AST, prefix: str) -> Iterator[str]:
    """Qualified names of inner functions that are called and nothing else, so that nobody reads their names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _only_called(child, f"{prefix}{child.name}.")
        elif isinstance(child, Function):
            inside = f"{prefix}{child.name}.<locals>."
            for inner in own_nodes(child):
                if isinstance(inner, ast.FunctionDef) and _is_only_called(inner, child):
                    yield inside + inner.name
            yield from _only_called(child, inside)
        else:
            yield from _only_called(child, prefix)


def _is_only_called(inner: ast.FunctionDef, outer: Function) -> bool:
    if inner.decorator_list or any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(inner)):
        return False
    if any(isinstance(node, Function | ast.ClassDef | ast.Lambda) for node in own_nodes(inner)):
        return False  # their qualified names hold its name
    called = {id(node.func) for node in ast.walk(outer) if isinstance(node, ast.Call)}
    bound = 0
    for node in ast.walk(outer):
        match node:
            case ast.Name(id=inner.name, ctx=ast.Load()):
                if id(node) not in called:
                    return False
            case ast.FunctionDef(name=inner.name) | ast.Name(id=inner.name):
                bound += 1
            case ast.Global(names) | ast.Nonlocal(names):
                if inner.name in names:
                    return False
    return bound == 1


class _Normaliser:
    """Writes code objects down with numbers in place of the names of local variables."""

    def __init__(self, anonymous: set[str], named: bool) -> None:
        self.anonymous = anonymous
        self.named = named
        self.number = 0

    def lines(self, code: CodeType, outside: Callable[[str], str]) -> Iterator[Any]:
        """One entry for each instruction, behind one for the whole; `outside` gives the numbers of free variables."""
        named = self.named or bool(SEES_ITS_LOCALS & set(code.co_names))
        flags = code.co_flags
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
        parameters = code.co_varnames[:count]
        name = "" if code.co_qualname in self.anonymous else code.co_name
        kinds = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags)
        yield name, parameters, kinds, code.co_exceptiontable
        if named:
            yield code.co_varnames, code.co_cellvars, code.co_freevars
        numbers: dict[str, str] = {}

        def number(variable: str) -> str:
            if variable in code.co_freevars:
                return outside(variable)
            if variable not in numbers:
                self.number += 1
                numbers[variable] = f"#{self.number}"
            return numbers[variable]

        for parameter in parameters:
            number(parameter)
        for instruction in dis.get_instructions(code):
            opcode, value = instruction.opcode, instruction.argval
            if instruction.opname in _BOOKKEEPING:
                continue
            if opcode in dis.haslocal or opcode in dis.hasfree:
                variables = value if isinstance(value, tuple) else (value,)
                yield instruction.opname, *map(number, variables)
            elif opcode in dis.hasconst:
                # Not `argval`: for the names of keyword arguments it is not known in Python 3.11.
                small = instruction.opname == "LOAD_SMALL_INT"
                found = instruction.arg if small else code.co_consts[instruction.arg or 0]
                yield instruction.opname, self.constant(found, number)
            elif opcode in dis.hasname:
                yield instruction.opname, instruction.arg if value is None else value, (instruction.arg or 0) & 1
            else:
                yield instruction.opname, instruction.arg

    def constant(self, value: Any, number: Callable[[str], str]) -> Any:
        """A constant such that other types and signs are other values."""
        if isinstance(value, CodeType):
            return list(self.lines(value, number))
        if isinstance(value, tuple):
            return ("tuple", *(self.constant(each, number) for each in value))
        if isinstance(value, frozenset):
            return ("frozenset", *sorted(repr(self.constant(each, number)) for each in value))
        return type(value).__name__, repr(value)
