"""Conditional definitions: which branch of an `if` a module takes, as far as its text tells."""

from __future__ import annotations

import ast
import operator
import os
import sys
from collections.abc import Callable
from typing import Any

COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda one, other: one in other, ast.NotIn: lambda one, other: one not in other,
}  # fmt: skip
KNOWN = {"sys.version_info": tuple(sys.version_info), "sys.platform": sys.platform, "os.name": os.name}
"""What expressions are while a program runs: as here, for an interpreter of this version."""


class _UnknownError(Exception):
    """What an expression is cannot be told from its text."""


def holds(test: ast.expr) -> bool | None:
    """Static evaluation of a condition: whether it holds while a program runs; None where the text does not tell.

    `TYPE_CHECKING` never does. Versions and platforms are those of this interpreter.
    """
    match test:
        case ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.UnaryOp(ast.Not(), operand):
            found = holds(operand)
            return None if found is None else not found
        case ast.BoolOp(op, values):
            parts = [holds(value) for value in values]
            decisive = isinstance(op, ast.Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    try:
        return bool(_value(test))
    except (_UnknownError, TypeError, IndexError, AttributeError, ValueError):
        return None


def _value(node: ast.expr) -> Any:
    """Value of an expression.

    Raises:
        _UnknownError: it cannot be told.
    """
    match node:
        case ast.Constant(value):
            return value
        case ast.Tuple(elts) | ast.List(elts):
            return tuple(map(_value, elts))
        case ast.Attribute(ast.Attribute() as of, "major" | "minor" | "micro" as part):
            return _value(of)[("major", "minor", "micro").index(part)]
        case ast.Attribute():
            if (name := ast.unparse(node)) in KNOWN:
                return KNOWN[name]
        case ast.Subscript(value, ast.Constant(int(index))):
            return _value(value)[index]
        case ast.Subscript(value, ast.Slice(lower, upper, None)):
            return _value(value)[slice(*(None if end is None else _value(end) for end in (lower, upper)))]
        case ast.Compare(left, [compared], [right]) if type(compared) in COMPARED:
            return COMPARED[type(compared)](_value(left), _value(right))
        case ast.Call(ast.Attribute(of, "startswith"), [prefix], []):
            return _value(of).startswith(_value(prefix))
    raise _UnknownError
