"""Rules for values of the language and its tools: methods of C classes, type hints, matches, `ast`, elements, hashes.

What is decoded is the real thing, made by the classes that made the original; nothing that a message names is called.
A match is found again by its own pattern, and refused where it comes out otherwise. A hash object, whose inside nobody
can write, comes back as what it said.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections import deque
from functools import reduce
from typing import Any

from .classes import attributes_of, is_native, mro_of, name_of
from .library import Rule, imported, resolved, rule, type_of
from .wire import Incomparable, Malformed

SEARCHES = 100_000
"""Matches of one pattern that are passed over, at most, until the one that was meant comes. How long one search takes
is up to pattern and text; it is bounded as calls are, by the time that the process has."""
SHOWN_OF_XOF = 64
"""Bytes of a hash of any length that stand for it."""

# Functions and methods of C: by their class and name


_DESCRIPTORS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip


def _member(kind: Any, owner: Any, name: Any) -> Any:
    """What a class has under a name, if it is of that kind.

    Raises:
        Malformed: it has no such thing.
    """
    if not any(base is type for base in mro_of(type(owner))) or type(name) is not str:
        raise Malformed("no member of a class")
    found = attributes_of(owner).get(name)
    if type(found) is not kind:
        raise Malformed(f"the class has no {kind.__name__} {name}")
    return found


def _descriptor_rule(kind: Any) -> None:
    @rule(f"builtins:{kind.__name__}", make=lambda cls, parts: _member(kind, *parts))
    def take(value: Any) -> Any:
        owner, name = value.__objclass__, value.__name__
        if attributes_of(owner).get(name) is not value:
            raise Incomparable("descriptor that its class does not have")
        return (owner, name)


for _kind in _DESCRIPTORS:
    _descriptor_rule(_kind)


def _bound_wrapper(cls: Any, parts: Any) -> Any:
    owner, name, value = parts
    return _member(types.WrapperDescriptorType, owner, name).__get__(value, type(value))


@rule("builtins:method-wrapper", make=_bound_wrapper)
def _wrapper(value: Any) -> Any:
    return (value.__objclass__, value.__name__, value.__self__)


def _of_kind(cls: Any, found: Any) -> Any:
    if type(found) is not cls:
        raise Malformed(f"it is no {cls.__name__}")
    return found


@rule("functools:_lru_cache_wrapper", make=lambda cls, found: _of_kind(cls, found))
def _remembering(value: Any) -> Any:
    # By the function in it, which its module has under the same name; what it remembers is no part of it.
    function = value.__wrapped__
    named = type(function) is types.FunctionType and type(function.__module__) is str
    if not named or resolved(f"{function.__module__}:{function.__qualname__}") is not value:
        raise Incomparable("function with a cache, without a name in its module")
    return function


# Type hints


@rule("types:GenericAlias", make=lambda cls, parts: _alias(cls, *parts))
def _hint(value: Any) -> Any:
    members = attributes_of(types.GenericAlias)
    return (
        members["__origin__"].__get__(value), members["__args__"].__get__(value), members["__unpacked__"].__get__(value)
    )  # fmt: skip


def _alias(cls: Any, origin: Any, args: Any, unpacked: Any) -> Any:
    made = types.GenericAlias.__new__(cls, origin, args)
    return next(attributes_of(types.GenericAlias)["__iter__"](made)) if unpacked else made


def _union_of(one: Any, other: Any) -> Any:
    for kind in (types.UnionType, types.GenericAlias):
        if type(one) is kind:
            return attributes_of(kind)["__or__"](one, other)
    if any(base is type for base in mro_of(type(one))):
        return attributes_of(type)["__or__"](one, other)
    return imported("typing:Union")[one, other]


def _union_from(cls: Any, args: Any) -> Any:
    made = reduce(_union_of, args)
    if type(made) is not cls or len(made.__args__) != len(args):
        raise Malformed("no union of types")
    return made


@rule("types:UnionType", "typing:Union", make=_union_from)
def _union(value: Any) -> Any:
    return attributes_of(type(value))["__args__"].__get__(value)


@rule(
    *(f"typing:{name}" for name in (
        "TypeVar", "ParamSpec", "TypeVarTuple", "TypeAliasType", "NewType", "_SpecialForm", "_TypedCacheSpecialForm",
        "_LiteralSpecialForm", "_ConcatenateForm", "_SpecialGenericAlias", "_TupleType", "_CallableType",
        "_DeprecatedType",
    )),
    make=lambda cls, name: _of_kind(cls, imported(name)),
)  # fmt: skip
def _named_hint(value: Any) -> Any:
    held = getattr(value, "__dict__", {})
    name = held.get("_name") or getattr(value, "__name__", None)
    for module in ("typing", getattr(value, "__module__", None)):
        if type(module) is str and type(name) is str and resolved(f"{module}:{name}") is value:
            return f"{module}:{name}"
    raise Incomparable("type variable without a name in its module")


# Matches


def _match_from(cls: Any, parts: Any) -> Any:
    pattern, text, start, end, spans, last = parts
    if type(pattern) is not type_of("re:Pattern"):
        raise Malformed("a match of no pattern")

    def meant(found: Any) -> bool:
        return found is not None and found.regs == spans and found.lastindex == last

    for find in (pattern.match, pattern.search, pattern.fullmatch):
        found = find(text, start, end)
        if meant(found):
            return found
    for name in ("search", "match"):  # as finditer() and scanners give one after the other
        find = getattr(pattern.scanner(text, start, end), name)
        for _ in range(SEARCHES):
            found = find()
            if found is None or found.start() > spans[0][0]:
                break
            if meant(found):
                return found
    raise Malformed("a match that its pattern does not find")


@rule("re:Match", make=_match_from)
def _match(value: Any) -> Any:
    if type(value.string) not in (str, bytes):
        raise Incomparable("match in other than a text or bytes")
    return (value.re, value.string, value.pos, value.endpos, value.regs, value.lastindex)


# Named tuples of C


def is_struct(cls: type) -> bool:
    """Whether it is a tuple with names that C code defined, as `time.struct_time` and `os.stat_result` are."""
    bases = mro_of(cls)
    return len(bases) == 3 and bases[1] is tuple and is_native(cls) and type(attributes_of(cls).get("n_fields")) is int


def _struct(value: Any) -> Any:
    cls: Any = type(value)
    if resolved(":".join(name_of(cls))) is not cls:
        raise Incomparable("named tuple of C whose class has no name")
    return (cls, *cls.__reduce__(value)[1])


def _struct_from(cls: Any, parts: Any) -> Any:
    kind, shown, further = parts
    if not any(base is type for base in mro_of(type(kind))) or not is_struct(kind):
        raise Malformed("no named tuple of C")
    return kind(shown, further)


STRUCT = Rule("builtins:structseq", _struct, _struct_from, False)
GENERAL = (STRUCT,)
"""Rules for many classes each."""


def general_rule(cls: type) -> Rule | None:
    """The rule of a class that is told by how it is made, not by its name; None where there is none."""
    return STRUCT if is_struct(cls) else None


# Trees: of syntax (attributes hold all of a node), of XML


@rule("ast:AST", make=lambda cls, nothing: cls.__new__(cls))
def _node(value: Any) -> Any:
    if len(mro_of(type(value))) == 2 and value.__dict__:
        raise Incomparable("bare node with attributes")
    return None


def is_sign(cls: type) -> bool:
    """Whether it is a class of syntax nodes that hold nothing, as `ast.Load`: one of them is as good as another."""
    if "ast" not in sys.modules or not any(base is type_of("ast:AST") for base in mro_of(cls)):
        return False
    for name in ("_fields", "_attributes"):
        found = next((held[name] for held in map(attributes_of, mro_of(cls)) if name in held), None)
        if type(found) is not tuple or found:
            return False
    return True


def _element_from(cls: Any, parts: Any) -> Any:
    tag, attributes, text, tail, children = parts
    base = type_of("xml.etree.ElementTree:Element")
    made = base.__new__(cls, tag)  # what a class of the project does to begin with is not done
    base.__init__(made, tag)
    for name, part in (("attrib", attributes), ("text", text), ("tail", tail)):
        getattr(base, name).__set__(made, part)
    base.extend(made, children)
    return made


@rule("xml.etree.ElementTree:Element", mutable=True, make=_element_from)
def _element(value: Any) -> Any:
    cls = type_of("xml.etree.ElementTree:Element")
    held = [getattr(cls, name).__get__(value) for name in ("tag", "attrib", "text", "tail")]
    return (*held, [cls.__getitem__(value, place) for place in range(cls.__len__(value))])


# Hash objects


class HashSaid:
    """What a hash object said when it was written: its inside has no way back, so nothing can be added to it."""

    __slots__ = ("_digest", "block_size", "digest_size", "name")

    def __init__(self, name: str, digest: bytes, digest_size: int, block_size: int) -> None:
        self.name = name
        self._digest = digest
        self.digest_size = digest_size
        self.block_size = block_size

    def digest(self, length: int | None = None) -> bytes:
        """The digest. A hash of any length has one as long as asked for, up to `SHOWN_OF_XOF` bytes.

        Raises:
            TypeError: it has no such length.
        """
        if (length is None) == (self.digest_size == 0) or (length or 0) > len(self._digest):
            raise TypeError(f"no digest of {length} bytes is known")
        return self._digest if length is None else self._digest[:length]

    def hexdigest(self, length: int | None = None) -> str:
        """The same in hexadecimal. Passes on TypeError."""
        return self.digest(length).hex()

    def copy(self) -> HashSaid:
        """The same, as it does not change."""
        return self

    def update(self, data: Any) -> None:
        """Refused.

        Raises:
            TypeError: always.
        """
        raise TypeError("a hash object from another process takes no more data")


@rule(
    "_hashlib:HASH", "_hashlib:HASHXOF", "_hashlib:HMAC", "_blake2:blake2b", "_blake2:blake2s", "_md5:md5",
    "_sha1:sha1", *(f"_sha2:SHA{bits}Type" for bits in (224, 256, 384, 512)),
    *(f"_sha3:sha3_{bits}" for bits in (224, 256, 384, 512)), "_sha3:shake_128", "_sha3:shake_256", mutable=True,
    make=lambda cls, parts: HashSaid(*parts),
)  # fmt: skip
def _hash(value: Any) -> Any:
    size = value.digest_size
    return (value.name, value.digest() if size else value.digest(SHOWN_OF_XOF), size, value.block_size)


@rule(f"{__name__}:HashSaid", mutable=True)
def _said(value: Any) -> Any:
    raise Incomparable("hash object from another process")


# Weak references

_referred: deque[Any] = deque(maxlen=10_000)
"""What decoded weak references refer to: in the process that wrote them something else kept it alive."""


def _reference_from(cls: Any, parts: Any) -> Any:
    if not parts:
        return weakref.ref.__new__(cls, set())
    _referred.append(parts[0])
    return weakref.ref.__new__(cls, parts[0])


@rule("weakref:ReferenceType", mutable=True, make=_reference_from)
def _reference(value: Any) -> Any:
    if value.__callback__ is not None:
        raise Incomparable("weak reference that calls back")
    referent = value()
    return () if referent is None else (referent,)
