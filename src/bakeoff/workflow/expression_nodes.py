"""Syntax tree of an expression: evaluated many times, and read by validation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from bakeoff.engine.record import Stored
from bakeoff.errors import BakeoffError
from bakeoff.workflow.filters import FilterError
from bakeoff.workflow.values import is_list, loaded, plain


class Names(Protocol):
    """Namespace of an expression.

    `inputs` and `steps` are there always; `item`, `index` and `parent_item` inside a fan-out; `iteration` (the pass of
    the innermost loop, from 0) and `iterations` (that of each open loop, by id) inside loops; `fan_in` under `output`
    of a fan-in; `context` has `run_id` and `workflow_dir`.
    """

    def lookup(self, root: str) -> Any:
        """The value of the name at the root of a path; None when it is unknown."""
        ...


class ExpressionError(BakeoffError):
    """An expression does not parse or cannot be evaluated.

    Attributes:
        expression: the text of the expression, without its braces.
        position: offset in `expression`, from 0.
    """

    def __init__(self, reason: str, expression: str, position: int = 0) -> None:
        self.reason, self.expression, self.position = reason, expression, position
        shown = " ".join(expression.split())
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        super().__init__(f"{reason} (in `{{{{ {shown} }}}}`, at character {position + 1})")


@dataclass(frozen=True, slots=True)
class Literal:
    """Text, a number, true, false or null."""

    value: Any

    def evaluate(self, names: Names) -> Any:
        """The value itself."""
        return self.value


@dataclass(frozen=True, slots=True)
class Path:
    """`root.key.name[3]`; a text step is a key, a number is a place in a list.

    Attributes:
        steps: the keys and places after it.
        position: where it starts in the expression.
    """

    text: str
    root: str
    steps: tuple[str | int, ...]
    position: int

    def evaluate(self, names: Names) -> Any:
        """Value of the node; None for anything missing, never an error."""
        value = names.lookup(self.root)
        for step in self.steps:
            if type(value) is Stored:
                value = value.load()
            if type(step) is str:
                if type(value) is dict or isinstance(value, Mapping):
                    value = value.get(step)
                else:
                    return None
            elif (type(value) is list or is_list(value)) and -len(value) <= step < len(value):  # type: ignore[operator]
                value = value[step]
            else:
                return None
        return value


@dataclass(frozen=True, slots=True)
class Items:
    """A list literal."""

    parts: tuple[Node, ...]

    def evaluate(self, names: Names) -> list[Any]:
        """A new list."""
        return [plain(part.evaluate(names)) for part in self.parts]


@dataclass(frozen=True, slots=True)
class Not:
    """`not part`."""

    part: Node

    def evaluate(self, names: Names) -> bool:
        """The opposite of the part's truth."""
        return not _truth(self.part.evaluate(names))


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`a or b or c`, as a boolean; stops at the first that is true."""

    parts: tuple[Node, ...]

    def evaluate(self, names: Names) -> bool:
        """Whether one is true."""
        return any(_truth(part.evaluate(names)) for part in self.parts)


@dataclass(frozen=True, slots=True)
class AllOf:
    """`a and b and c`, as a boolean; stops at the first that is false."""

    parts: tuple[Node, ...]

    def evaluate(self, names: Names) -> bool:
        """Whether all are true."""
        return all(_truth(part.evaluate(names)) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Compare:
    """Two sides and the operator between them."""

    sign: str
    left: Node
    right: Node

    def evaluate(self, names: Names) -> bool:
        """The comparison's result; sides that cannot be compared give false, never an error."""
        return COMPARISONS[self.sign](plain(self.left.evaluate(names)), plain(self.right.evaluate(names)))


@dataclass(frozen=True, slots=True)
class Filtered:
    """`part | name` or `part | name(argument)`.

    Attributes:
        expression: the whole expression, for errors.
        position: where the filter's name stands in it.
    """

    name: str
    run: Callable[..., Any]
    part: Node
    argument: Node | None
    expression: str
    position: int

    def evaluate(self, names: Names) -> Any:
        """Result of the filter on the part.

        Raises:
            ExpressionError: the filter cannot take it.
        """
        value = self.part.evaluate(names)
        try:
            if self.argument is None:
                return self.run(value)
            return self.run(value, plain(self.argument.evaluate(names)))
        except FilterError as failure:
            raise ExpressionError(str(failure), self.expression, self.position) from None


Node: TypeAlias = Literal | Path | Items | Not | AnyOf | AllOf | Compare | Filtered


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly under `node`."""
    match node:
        case Literal() | Path():
            return ()
        case Items() | AnyOf() | AllOf():
            return node.parts
        case Not():
            return (node.part,)
        case Compare():
            return (node.left, node.right)
        case Filtered():
            return (node.part,) if node.argument is None else (node.part, node.argument)


def paths(node: Node) -> list[Path]:
    """Every path in the tree, in the order written."""
    found: list[Path] = []
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Path):
            found.append(top)
        stack.extend(reversed(children(top)))
    return found


def _truth(value: Any) -> bool:
    return bool(loaded(value))


def _number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            return value
    return value


def _ordering(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    def ordered(left: Any, right: Any) -> bool:
        # '10' > '9' counts as numbers only when both sides look like numbers; else dates would compare wrongly.
        near, far = _number(left), _number(right)
        if not (isinstance(near, int | float) and isinstance(far, int | float)):
            near, far = left, right
        try:
            return bool(compare(near, far))
        except TypeError:
            return False

    return ordered


def _within(left: Any, right: Any) -> bool:
    try:
        return left in right
    except TypeError:
        return False


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "!=": lambda left, right: bool(left != right),
    "==": lambda left, right: bool(left == right),
    ">=": _ordering(operator.ge),
    "<=": _ordering(operator.le),
    ">": _ordering(operator.gt),
    "<": _ordering(operator.lt),
    "not in": lambda left, right: not _within(left, right),
    "in": _within,
}
"""The operators, in the order in which an expression is split at them."""
