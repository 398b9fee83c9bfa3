"""Questions about pieces of syntax trees that many rules ask."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from bakeoff.optimize.source_code.definitions import Function

CALM = {
    "abs", "bool", "chr", "divmod", "enumerate", "float", "frozenset", "hash", "int", "isinstance", "len", "list",
    "max", "min", "ord", "pow", "range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
    "dict", "any", "all",
}  # fmt: skip
"""Built-in functions that change nothing, as long as what they are given is of built-in types."""
CALM_METHODS = {
    "lower", "upper", "strip", "lstrip", "rstrip", "split", "startswith", "endswith", "replace", "title", "casefold",
    "isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "count", "index", "find", "get", "keys", "values",
    "items", "copy", "join", "format", "bit_length", "union", "intersection", "difference", "encode", "zfill",
    "capitalize", "splitlines", "partition", "rpartition", "most_common", "total_seconds", "isoformat",
    "weekday", "date", "deepcopy",
}  # fmt: skip
"""Methods that change nothing where they are those of built-in types."""
TEXTS_METHODS = {
    "lower", "upper", "strip", "lstrip", "rstrip", "split", "title", "casefold", "replace", "splitlines", "encode",
}  # fmt: skip
"""Methods of `str` that take a while and always give the same."""


def names_in(*nodes: ast.AST) -> set[str]:
    """All names that occur."""
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def stored(*nodes: ast.AST) -> set[str]:
    """All names that are bound or deleted, in whatever scope."""
    found = set()
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
                found.add(each.id)
            elif isinstance(each, Function | ast.ClassDef | ast.ExceptHandler) and each.name:
                found.add(each.name)
            elif isinstance(each, ast.alias):
                found.add(each.asname or each.name)
    return found


def bound_inside(node: ast.AST) -> set[str]:
    """Names that are bound by comprehensions in an expression."""
    return stored(*(each.target for each in ast.walk(node) if isinstance(each, ast.comprehension)))


def without_docstring(function: Function) -> list[ast.stmt]:
    """The statements of a function behind its docstring."""
    return function.body if ast.get_docstring(function, clean=False) is None else function.body[1:]


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two pieces say the same, besides where they stand."""
    return ast.dump(one) == ast.dump(other)


def has(node: ast.AST | Iterable[ast.AST], *kinds: type[ast.AST]) -> bool:
    """Whether a piece holds a node of one of these kinds."""
    nodes = [node] if isinstance(node, ast.AST) else node
    return any(isinstance(each, kinds) for top in nodes for each in ast.walk(top))


SCOPES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await)


def calm(*nodes: ast.AST, calls: Iterable[str] = ()) -> bool:
    """Whether evaluating this changes nothing and always gives the same, as long as values are of ordinary types."""
    for each in (inner for node in nodes for inner in ast.walk(node)):
        match each:
            case ast.Call(func=ast.Name(id=name)) if name in CALM or name in calls:
                continue
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in CALM_METHODS:
                continue
        if isinstance(each, (ast.Call, ast.NamedExpr, ast.Lambda, ast.Starred, *SUSPENDS)):
            return False
    return True


def assignment(statement: ast.AST) -> tuple[str, ast.expr] | None:
    """Name and value of `name = value`, also with an annotation."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return name, value
    return None


def method_call(node: ast.AST, *methods: str) -> tuple[str, list[ast.expr]] | None:
    """Name and arguments of `name.method(arguments)`, as expression or statement."""
    match node:
        case ast.Expr(value=value):
            return method_call(value, *methods)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args, keywords=[]) if (
            attr in methods
        ):
            if not any(isinstance(each, ast.Starred) for each in args):
                return name, args
    return None


def is_empty(node: ast.expr, kind: str) -> bool:
    """Whether an expression is a new empty list, dict or set."""
    match node:
        case ast.List(elts=[]):
            return kind == "list"
        case ast.Dict(keys=[]):
            return kind == "dict"
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
            return kind == name
    return False


def is_number(node: ast.AST, value: int) -> bool:
    """Whether this is a whole number written out; `True` is none."""
    match node:
        case ast.Constant(value=found):
            return type(found) is int and found == value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=found)):
            return type(found) is int and -found == value
    return False


def range_of(node: ast.expr) -> list[ast.expr] | None:
    """The arguments of a call of `range`."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if 1 <= len(args) <= 3:
            return args
    return None


def length_of(node: ast.expr) -> str | None:
    """The name in `len(name)`."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            return name
    return None


def calls(node: ast.AST) -> Iterator[ast.Call]:
    """All calls in a piece."""
    return (each for each in ast.walk(node) if isinstance(each, ast.Call))


def only_looked_at(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether a container, given by `node`, is only read where it stands, so that nobody can change or keep it."""
    match parent:
        case ast.Compare():
            return True
        case ast.Subscript(value=value, ctx=ast.Load()):
            return value is node
        case ast.Attribute(attr="index" | "count" | "keys" | "values" | "items" | "get"):
            return True
        case ast.Call(func=ast.Name(id="len" | "sum" | "min" | "max" | "enumerate" | "zip")):
            return True
        case ast.For() | ast.comprehension():
            return parent.iter is node
    return False


USUAL_METHODS = {name for kind in (list, dict, set, str, int, float, tuple, bytes, frozenset) for name in dir(kind)} | {
    "year", "month", "day", "date", "time", "group", "match", "search", "popleft", "appendleft", "read", "write",
}  # fmt: skip
"""Methods that objects of the language have, so that a class of the file need not be meant."""
