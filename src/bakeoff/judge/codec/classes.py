"""Introspection of classes and functions without running any code of theirs, and how they are written: by name.

A class may lie about its name, its bases and its attributes, and its metaclass about being a class: everything is read
through `type`'s own descriptors, which do not. What belongs to the project is written with a digest of its code.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import wire
from .encoder import PUT, Encoder
from .local import is_local, note_class, note_function
from .wire import Incomparable

Fact = TypeVar("Fact")

_own: Any = type.__dict__
mro_of = _own["__mro__"].__get__
flags_of = _own["__flags__"].__get__
size_of = _own["__basicsize__"].__get__
_dictionary_at = _own["__dictoffset__"].__get__
attributes_of = _own["__dict__"].__get__
_module_of = _own["__module__"].__get__
_qualname_of = _own["__qualname__"].__get__

HEAP = 1 << 9
PLAIN = size_of(object)

_NATIVE = (
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
)  # fmt: skip
_SKIPPED = frozenset((
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__", "__abstractmethods__",
    "_abc_impl", "__orig_bases__", "__parameters__", "__classdictcell__",
))  # fmt: skip
_ATOMS = frozenset(map(id, (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))))


def name_of(cls: type) -> tuple[str, str]:
    """Module and qualified name; what is no text is `?`."""
    try:
        module, qualname = _module_of(cls), _qualname_of(cls)
    except (AttributeError, KeyError):
        return "?", "?"
    return (module if type(module) is str else "?"), (qualname if type(qualname) is str else "?")


def is_native(cls: type) -> bool:
    """Whether its instances hold something that no Python code sees: a class written in C."""
    if size_of(cls) == PLAIN:
        return False
    if not flags_of(cls) & HEAP:
        return True
    for value in list(attributes_of(cls).values()):
        kind = type(value)
        if kind in _NATIVE and value.__objclass__ is cls:
            return True
        if kind is types.BuiltinFunctionType and value.__self__ is cls:
            return True
    return False


def in_library(module: str) -> bool:
    """Whether it belongs to the standard library, which is the same on both sides."""
    return module.partition(".")[0] in sys.stdlib_module_names


def _remembered(find: Callable[[type], Fact]) -> Callable[[type], Fact]:
    """Memo of a fact about a class, by its identity: to hash it, its metaclass would be asked. Keeps classes alive."""
    known: dict[int, tuple[type, Fact]] = {}

    @functools.wraps(find)
    def found(cls: type) -> Fact:
        entry = known.get(id(cls))
        if entry is None:
            entry = known[id(cls)] = cls, find(cls)
        return entry[1]

    return found


@_remembered
def native_base(cls: type) -> Any:
    """The lowest base, or the class itself, that is native; None where its instances hold attributes alone."""
    return next((base for base in mro_of(cls) if base is not object and is_native(base)), None)


@_remembered
def slots_of(cls: type) -> Mapping[str, Any]:
    """The slots of a class, by name; of two of one name the lower class's hides the other, as it does in Python."""
    found = {}
    for base in reversed(mro_of(cls)):
        if is_native(base):
            continue
        for name, member in list(attributes_of(base).items()):
            if type(member) is types.MemberDescriptorType and member.__objclass__ is base:
                found[name if type(name) is str else "?"] = member
    return found


def dictionary_of(cls: type) -> Any:
    """Descriptor that reads the `__dict__` of instances; None where they have none.

    Raises:
        Incomparable: the class hides it.
    """
    for base in mro_of(cls):
        member = attributes_of(base).get("__dict__")
        if type(member) is types.GetSetDescriptorType and member.__objclass__ is base:
            return member
    if _dictionary_at(cls) == 0:
        return None
    raise Incomparable("object that hides its __dict__")


@_remembered
def digest(cls: type) -> bytes:
    """Digest of the code of a class, lines and documentation left out."""
    found = hashlib.blake2b(digest_size=8)
    for base in mro_of(cls)[1:]:
        found.update(repr(name_of(base)).encode("utf-8", "surrogatepass"))
    members = attributes_of(cls)
    for name in sorted(name for name in list(members) if type(name) is str and name not in _SKIPPED):
        found.update(f"\0{name}=".encode("utf-8", "surrogatepass") + _of_member(members[name]))
    return found.digest()


def function_digest(function: types.FunctionType, cells: tuple[Any, ...] = ()) -> bytes:
    """Digest of the code of a function, and of what is in `cells`."""
    held = b"".join(_of_cell(cell) for cell in cells)
    return hashlib.blake2b(_of_member(function) + held, digest_size=8).digest()


def _of_cell(cell: Any) -> bytes:
    try:
        return b"\0cell:" + _of_member(cell.cell_contents)
    except ValueError:
        return b"\0cell"


def _of_member(value: Any) -> bytes:
    kind = type(value)
    if kind is types.FunctionType:
        wrapped = value.__dict__.get("__wrapped__")
        if wrapped is not None:  # what a decorator makes may be compiled when it is first called
            return b"wrapped" + _of_member(wrapped)
        return _of_code(value.__code__) + _of_constant(value.__defaults__) + _of_names(value.__kwdefaults__)
    if kind is staticmethod or kind is classmethod:
        return kind.__name__.encode() + _of_member(value.__func__)
    if kind is property:
        return b"property" + b"".join(_of_member(part) for part in (value.fget, value.fset, value.fdel))
    return _of_constant(value)


def _of_names(values: Any) -> bytes:
    if type(values) is not dict:
        return b""
    return b"".join(repr(name).encode() + _of_constant(values[name]) for name in sorted(values))


def _of_code(code: types.CodeType) -> bytes:
    facts = (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    return repr((facts, counts)).encode("utf-8", "surrogatepass") + _of_constant(code.co_consts)


def _of_constant(value: Any) -> bytes:
    kind = type(value)
    if kind is types.CodeType:
        return _of_code(value)
    if id(kind) in _ATOMS:
        return f"{kind.__name__}:{value!r}".encode("utf-8", "surrogatepass")
    if kind is tuple:
        return b"(" + b",".join(map(_of_constant, value)) + b")"
    if kind is frozenset:
        return b"{" + b",".join(sorted(map(_of_constant, value))) + b"}"
    return "<{}:{}>".format(*name_of(kind)).encode("utf-8", "surrogatepass")


def put_class(encoder: Encoder, cls: type) -> None:
    """Write a class: its name and, where it belongs to the project, what its code is."""
    if not encoder.begin(wire.CLASS, cls):
        return
    module, qualname = name_of(cls)
    encoder.text(module)
    encoder.text(qualname)
    if is_local(qualname):
        note_class(f"{module}:{qualname}", cls)
    known = in_library(module) or f"{module}:{qualname}" in encoder.unseen
    encoder.out.append(bytes(8) if known else digest(cls))


def _function(encoder: Encoder, value: types.FunctionType) -> None:
    module, qualname = value.__module__, value.__qualname__
    cells = value.__closure__
    if cells is not None and not _named(module, qualname, value):
        raise Incomparable("function with a closure")
    if type(module) is not str or (is_local(qualname) and not _can_be_found(encoder, module, value)):
        raise Incomparable("function without a name in its module")
    encoder.out.append(wire.FUNCTION)
    encoder.text(module)
    encoder.text(qualname)
    known = in_library(module) or f"{module}:{qualname}" in encoder.unseen
    found = bytes(8) if known else function_digest(value, cells or ())
    if is_local(qualname):
        note_function(f"{module}:{qualname}", found, value)
    encoder.out.append(found)


def _can_be_found(encoder: Encoder, module: str, value: types.FunctionType) -> bool:
    """Whether a local function is its code alone, in a module that nothing changes; see `local`."""
    if any(name.partition(":")[0] == module for name in encoder.unseen) or in_library(module):
        return False
    if value.__defaults__ or value.__kwdefaults__ or value.__dict__ or value.__code__.co_freevars:
        return False
    held = sys.modules.get(module)
    return type(held) is types.ModuleType and held.__dict__ is value.__globals__ and bool(held.__dict__.get("__file__"))


def _named(module: Any, qualname: str, value: Any) -> bool:
    """Whether a module has it under that name: as it has what a decorator made, which holds a function."""
    found: Any = sys.modules.get(module) if type(module) is str else None
    for part in qualname.split("."):
        held = (
            found.__dict__ if type(found) is types.ModuleType else attributes_of(found) if type(found) is type else {}
        )
        found = held.get(part)
    return found is value


def _builtin(encoder: Encoder, value: types.BuiltinFunctionType) -> None:
    owner = value.__self__
    if type(owner) is types.ModuleType or owner is None:
        encoder.out.append(wire.FUNCTION)
        encoder.text(value.__module__ if type(value.__module__) is str else "builtins")
        encoder.text(value.__qualname__)
        encoder.out.append(bytes(8))
    else:
        _bound(encoder, owner, value.__name__)


def _method(encoder: Encoder, value: types.MethodType) -> None:
    function = value.__func__
    if type(function) is not types.FunctionType:
        raise Incomparable("method of something that is no function")
    _bound(encoder, value.__self__, function.__name__)


def _bound(encoder: Encoder, owner: Any, name: str) -> None:
    encoder.out.append(wire.METHOD)
    encoder.text(name)
    encoder.below(".__self__", owner)


def _module(encoder: Encoder, value: types.ModuleType) -> None:
    for name, module in list(sys.modules.items()):
        if module is value:
            encoder.out.append(wire.MODULE)
            encoder.text(name)
            return
    raise Incomparable("module that cannot be imported")


def _bare(encoder: Encoder, value: object) -> None:
    """Write an `object()`: a name of a module's where it has one, as what stands for "missing" has."""
    if not any(put_named(encoder, value, name) for name in list(sys.modules)):
        encoder.begin(wire.BARE, value)


def put_named(encoder: Encoder, value: object, name: str) -> bool:
    """Write the name that an object has in the module called `name`; False where it has none there."""
    module = sys.modules.get(name)
    if type(module) is not types.ModuleType or type(name) is not str:
        return False
    for attribute, found in list(module.__dict__.items()):
        if found is value and type(attribute) is str:
            encoder.out.append(wire.NAMED)
            encoder.text(name)
            encoder.text(attribute)
            return True
    return False


PUT.update({
    id(type): put_class, id(types.FunctionType): _function, id(types.BuiltinFunctionType): _builtin,
    id(types.MethodType): _method, id(types.ModuleType): _module, id(object): _bare,
})  # fmt: skip
