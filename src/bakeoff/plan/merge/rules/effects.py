"""Effects of Python statements (def-use): which names they bind and read, to tell whether two of them commute."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bakeoff.plan.merge.rules.node import Node, UndecidedError

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)
_CONSTANT = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.USub, ast.Load)


@dataclass(frozen=True, slots=True)
class Effects:
    """What a row of statements does when it is run; names of attributes have dots.

    Attributes:
        binds, reads: names.
        leaves: whether it may leave the block.
        says: whether a string stands among the statements as one, such as a docstring.
        pure: whether it only binds: definitions, imports and constants.
        fields: annotated names, and whether each has a value.
    """

    binds: frozenset[str]
    reads: frozenset[str]
    leaves: bool
    says: bool
    pure: bool
    fields: tuple[bool, ...]

    def depends(self, other: Effects) -> bool:
        """Whether what one of the two does depends on the other."""
        return bool(self.binds & (other.binds | other.reads) or self.reads & other.binds)


@dataclass(frozen=True, slots=True)
class Change:
    """Statements that one side has instead of others, by the effects of both."""

    before: Effects
    after: Effects

    @property
    def acts(self) -> bool:
        """Whether something that may have any effect, such as a call, is there no more, or was not there before."""
        return not (self.before.pure and self.after.pure)

    def meets(self, other: Change) -> bool:
        """Whether what one of the two changes to bind or read has to do with what the other is about."""
        return self._disturbs(other) or other._disturbs(self)

    def _disturbs(self, other: Change) -> bool:
        binds = self.before.binds ^ self.after.binds
        reads = self.before.reads ^ self.after.reads
        bound = other.before.binds | other.after.binds
        if (binds | reads) & bound or binds & (other.before.reads | other.after.reads):
            return True
        return bool(set(map(_object, binds)) & set(map(_object, bound)))  # two parts of one object


def _object(name: str) -> str:
    first, _, rest = name.partition(".")
    return f"{first}.{rest.partition('.')[0]}" if first in ("self", "cls") and rest else first


def effects_of(nodes: Sequence[Node]) -> Effects:
    """The effects of statements.

    Raises:
        UndecidedError: they cannot be parsed.
    """
    text = "".join(f"{node.said()}" for node in nodes)
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UndecidedError from None
    found = list(_run(body))
    return Effects(
        frozenset(name for node in found for name in _bound(node)),
        frozenset(name for node in found for name in _read(node)),
        any(isinstance(node, _LEAVES) for node in found),
        any(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in body),
        all(_is_pure(statement) for statement in body),
        tuple(each.value is not None for each in body if isinstance(each, ast.AnnAssign)),
    )


def _run(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All that is run when the statements are: not the bodies of functions."""
    for node in nodes:
        yield node
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _run([*node.decorator_list, node.args, *([node.returns] if node.returns else [])])
        elif isinstance(node, ast.ClassDef):  # what its body binds is its own
            yield from (each for each in _run([*node.decorator_list, *node.bases, *node.keywords]))
            yield from (each for each in _run(node.body) if not any(_bound(each)))
        else:
            yield from _run(ast.iter_child_nodes(node))


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            yield ast.unparse(node.value if isinstance(node, ast.Subscript) else node)
        case ast.alias():
            yield node.asname or node.name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)):
            yield name
        case ast.Global() | ast.Nonlocal():
            yield from node.names


def _read(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            yield name
        case ast.Attribute(ctx=ast.Load()):
            yield ast.unparse(node)
        case ast.AugAssign():
            yield ast.unparse(node.target)


def _is_pure(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return True
        case ast.Assign() | ast.AnnAssign():
            value = statement.value
            return value is None or all(isinstance(node, _CONSTANT) for node in ast.walk(value))
    return False
