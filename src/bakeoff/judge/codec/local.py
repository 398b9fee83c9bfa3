"""Local classes and functions: those that a function of a module defines, as many tests do. How one is had elsewhere.

Where they were written from they are remembered by name. In another process they are made of the module's own source:
a class by its statement, with what else of the function that statement needs; a function by its code, which is found
by name and digest. Nothing that a message says is run.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .wire import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

LOCALS = "<locals>"
_classes: dict[str, type] = {}
_nameless: dict[tuple[str, str, bytes], type] = {}
_functions: dict[tuple[str, bytes], types.FunctionType] = {}
_MODULE: Any = type.__dict__["__module__"]
_QUALNAME: Any = type.__dict__["__qualname__"]
"""Ways to the names of a class that its metaclass has no part in."""


def is_local(qualname: str) -> bool:
    """Whether no name of its module leads to it."""
    return "<" in qualname


def note_class(name: str, cls: type) -> None:
    """Remember a local class that is written, by `module:qualname`: of several of one name the last one."""
    _classes[name] = cls


def note_function(name: str, digest: bytes, function: types.FunctionType) -> None:
    """Remember a local function that is written."""
    _functions[name, digest] = function


def local_class(name: str) -> type:
    """The local class of that name: one that was noted here, or else one made of the module's source.

    Raises:
        Malformed: there is none, or its statement needs what only a call of the function around it has.
    """
    if name not in _classes:
        module, _, qualname = name.partition(":")
        outer, _, inner = qualname.rpartition(f".{LOCALS}.")
        found = _made(import_module(module), outer).get(inner.partition(".")[0])
        for part in inner.split(".")[1:]:
            found = getattr(found, part, None)
        if not isinstance(found, type):
            raise Malformed(f"{name} cannot be had here: it needs what only the function around it has")
        _classes[name] = found
    return _classes[name]


def local_function(name: str, digest: bytes, digest_of: Any) -> types.FunctionType:
    """The local function of that name and digest, noted here or found in the module's code.

    Args:
        name: `module:qualname`.
        digest: of its code.
        digest_of: gives that of a function.

    Raises:
        Malformed: there is none.
    """
    known = _functions.get((name, digest))
    if known is not None:
        return known
    place, _, qualname = name.partition(":")
    module = import_module(place)
    for code in _codes(compile(_source(module), module.__file__ or "", "exec", dont_inherit=True)):
        if code.co_qualname == qualname and not code.co_freevars:
            made = types.FunctionType(code, module.__dict__)
            if digest_of(made) == digest:
                _functions[name, digest] = made
                return made
    raise Malformed(f"{name} cannot be had here: its module has no such function")


def nameless_class(module: str, qualname: str, digest: bytes, digest_of: Any) -> type | None:
    """The only class of that name and digest, of those that calls of `type` made; None where there is no such one."""
    key = module, qualname, digest
    if key not in _nameless:
        found, waiting = [], [object]
        seen = {id(object)}
        while waiting:
            for cls in type.__subclasses__(waiting.pop()):
                if id(cls) in seen:
                    continue
                seen.add(id(cls))
                waiting.append(cls)
                if _is_called(cls, module, qualname) and digest_of(cls) == digest:
                    found.append(cls)
        if len(found) != 1:
            return None
        _nameless[key] = found[0]
    return _nameless[key]


def _is_called(cls: type, module: str, qualname: str) -> bool:
    try:
        return (_MODULE.__get__(cls), _QUALNAME.__get__(cls)) == (module, qualname)
    except (AttributeError, KeyError):
        return False


def _source(module: types.ModuleType) -> str:
    import tokenize

    try:
        with tokenize.open(module.__file__ or "") as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeError) as failure:
        raise Malformed(f"the source of {module.__name__} cannot be read: {failure}") from None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield constant
            yield from _codes(constant)


def _made(module: types.ModuleType, outer: str) -> dict[str, Any]:
    """What a function defines that needs nothing else of a call of it: its classes, among others, by name.

    Raises:
        Malformed: there is no such function, or its statements fail.
    """
    import ast

    text = _source(module)
    body, code = ast.parse(text).body, compile(text, module.__file__ or "", "exec", dont_inherit=True)
    path: list[Any] = []
    for part in outer.split("."):
        if part == LOCALS:
            continue
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [each for each in body if isinstance(each, kinds) and each.name == part]
        codes = [each for each in code.co_consts if type(each) is types.CodeType and each.co_name == part]
        if len(found) != 1 or len(codes) != 1:
            raise Malformed(f"{module.__name__}:{outer} cannot be told apart")
        path.append(found[0])
        body, code = found[0].body, codes[0]
    whole = ast.Module([_only(path, list(_needless(body, code)))], [])
    ast.fix_missing_locations(whole)
    names: dict[str, Any] = {}
    try:
        exec(compile(whole, module.__file__ or "", "exec", dont_inherit=True), module.__dict__, names)  # noqa: S102
        for node in path:
            made = names[node.name]
            names = dict(vars(made)) if isinstance(node, ast.ClassDef) else made()
    except Exception as failure:
        raise Malformed(f"what {module.__name__}:{outer} defines cannot be made here: {failure}") from failure
    return names


def _only(path: list[Any], body: list[ast.stmt]) -> ast.stmt:
    """The statement of the outermost of nested definitions, with nothing in them but what is kept of the innermost."""
    import ast

    end: list[ast.stmt] = ast.parse("return locals()").body
    inner: list[Any] = body
    for node in reversed(path):
        is_class = isinstance(node, ast.ClassDef)
        made: Any = ast.parse(f"class {node.name}: pass" if is_class else f"def {node.name}(): pass").body[0]
        made.body = inner if is_class else [*inner, *end]
        inner = [made]
    return inner[0]  # type: ignore[no-any-return]


def _needless(body: list[ast.stmt], code: types.CodeType) -> Iterator[ast.stmt]:
    """Statements of a function that need no argument of it, and nothing that others of its statements compute.

    Imports, classes, functions and constants, as far as they use only each other and names of the module.
    """
    import ast

    scope = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    nested: dict[str, list[types.CodeType]] = {}
    for each in code.co_consts:
        if type(each) is types.CodeType:
            nested.setdefault(each.co_name, []).append(each)
    kept: set[str] = set()
    for node in body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                kept |= {each.asname or each.name.partition(".")[0] for each in names}
                yield node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
                kept.add(name)
                yield node
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) if len(nested.get(name, ())) == 1:
                outside = [*node.decorator_list]
                outside += (
                    [*node.bases, *(each.value for each in node.keywords)]
                    if isinstance(node, ast.ClassDef)
                    else [node.args]  # type: ignore[list-item]
                )
                used = {each.id for part in outside for each in ast.walk(part) if isinstance(each, ast.Name)}
                if (used | set(nested[name][0].co_freevars)) & scope <= kept | {name}:
                    kept.add(name)
                    yield node
