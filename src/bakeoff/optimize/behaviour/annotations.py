"""Type annotations of a target's parameters: which values they allow, as far as they are plain types.

They are read from the syntax tree. What is not known (a class, a type variable) allows values of the kind seen.
"""

from __future__ import annotations

import ast
from typing import Any

from bakeoff.judge.codec import wire
from bakeoff.judge.codec.tree import Node

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Annotations:
    """Annotations by the place and the name of the parameter.

    Args:
        function: the target.
    """

    def __init__(self, function: Function) -> None:
        given = function.args
        positional = [*given.posonlyargs, *given.args]
        self._by_place = [parameter.annotation for parameter in positional]
        self._by_name = {parameter.arg: parameter.annotation for parameter in (*positional, *given.kwonlyargs)}
        self._rest = given.vararg.annotation if given.vararg else None
        self._other = given.kwarg.annotation if given.kwarg else None

    def allow(self, parameter: int | str, value: Any, seen: Any) -> bool:
        """Whether the annotation of the parameter allows a parsed value; one without allows all.

        Args:
            parameter: by place, or by name.
            value: to be tried.
            seen: the one that was recorded there.
        """
        if type(parameter) is int:
            places = self._by_place
            annotation = places[parameter] if parameter < len(places) else self._rest
        else:
            annotation = self._by_name.get(str(parameter), self._other)
        return annotation is None or _allows(annotation, value, seen)


def _allows(annotation: ast.expr, value: Any, seen: Any) -> bool:
    if isinstance(annotation, ast.Constant):
        if annotation.value is None:
            return value is None
        if isinstance(annotation.value, str):
            try:
                return _allows(ast.parse(annotation.value, mode="eval").body, value, seen)
            except SyntaxError:
                return _alike(value, seen)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _allows(annotation.left, value, seen) or _allows(annotation.right, value, seen)
    if isinstance(annotation, ast.Subscript):
        return _subscript_allows(_name(annotation.value), _arguments(annotation), value, seen)
    return _name_allows(_name(annotation), value, seen)


def _arguments(annotation: ast.Subscript) -> list[ast.expr]:
    inner = annotation.slice
    return list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]


def _name(annotation: ast.expr) -> str:
    """Last part of a dotted name, as people write it in an annotation."""
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    return annotation.id if isinstance(annotation, ast.Name) else ""


def _name_allows(name: str, value: Any, seen: Any) -> bool:
    if name in ("Any", "object"):
        return True
    if name in _SCALARS:
        return type(value) in _SCALARS[name]
    tags = _CONTAINERS.get(name.lower())
    return _alike(value, seen) if tags is None else _is(value, tags)


def _subscript_allows(name: str, arguments: list[ast.expr], value: Any, seen: Any) -> bool:
    match name:
        case "Optional":
            return value is None or _allows(arguments[0], value, seen)
        case "Union":
            return any(_allows(each, value, seen) for each in arguments)
        case "Annotated" | "Final":
            return _allows(arguments[0], value, seen)
    tags = _CONTAINERS.get(name.lower())
    if tags is None:
        return _alike(value, seen)
    return _is(value, tags) and _parts_allowed(name.lower(), arguments, value, seen)


def _parts_allowed(name: str, arguments: list[ast.expr], value: Any, seen: Any) -> bool:
    if type(value) is not Node:  # a text where items of it are texts
        return _name(arguments[0]) == "str" if type(value) is str else _name(arguments[0]) == "int"
    parts = value.parts[:-1] if value.tag == wire.ITERATOR else value.parts
    if value.tag == wire.RANGE:
        return _allows(arguments[0], 0, 0)
    if value.tag == wire.DICT and len(arguments) == 2:
        half = len(parts) // 2
        columns = [(arguments[0], parts[:half]), (arguments[1], parts[half:])]
    elif name == "tuple" and not _is_ellipsis(arguments[-1]):
        if len(parts) != len(arguments):
            return False
        columns = [(each, [part]) for each, part in zip(arguments, parts, strict=True)]
    elif value.tag == wire.DICT:  # its keys are what is gone through
        columns = [(arguments[0], parts[: len(parts) // 2])]
    else:
        columns = [(arguments[0], parts)]
    samples = seen.parts if type(seen) is Node else []
    return all(
        _allows(each, part, next((one for one in samples if _alike(part, one)), _NOTHING))
        for each, column in columns
        for part in column
    )


def _is_ellipsis(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Constant) and annotation.value is Ellipsis


def _alike(value: Any, seen: Any) -> bool:
    if type(value) is not Node or type(seen) is not Node:
        return type(value) is type(seen)
    return value.tag == seen.tag


def _is(value: Any, tags: tuple[Any, ...]) -> bool:
    return (value.tag if type(value) is Node else type(value)) in tags


_SCALARS: dict[str, tuple[type, ...]] = {
    "int": (int, bool), "bool": (bool,), "float": (float, int), "complex": (complex, float, int), "str": (str,),
    "bytes": (bytes,),
}  # fmt: skip
_NOTHING = Node(b"")
"""Stands for an item of a kind that was not seen."""
_SEQUENCE = (wire.LIST, wire.TUPLE, wire.RANGE, str, bytes)
_COLLECTION = (*_SEQUENCE, wire.SET, wire.FROZENSET, wire.DICT)
_CONTAINERS: dict[str, tuple[Any, ...]] = {
    "list": (wire.LIST,), "tuple": (wire.TUPLE,), "set": (wire.SET,), "frozenset": (wire.FROZENSET,),
    "dict": (wire.DICT,), "mapping": (wire.DICT,), "mutablemapping": (wire.DICT,), "sequence": _SEQUENCE,
    "mutablesequence": (wire.LIST,), "abstractset": (wire.SET, wire.FROZENSET), "mutableset": (wire.SET,),
    "collection": _COLLECTION, "container": _COLLECTION, "sized": _COLLECTION,
    "iterable": (*_COLLECTION, wire.ITERATOR), "iterator": (wire.ITERATOR,),
}  # fmt: skip
"""What stands for each, in messages."""
