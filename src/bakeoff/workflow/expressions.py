"""Templates: text of a workflow file with `{{ expressions }}` in it, parsed once and evaluated many times."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bakeoff.errors import OutputLostError
from bakeoff.workflow.expression_nodes import ExpressionError, Names, Node, paths
from bakeoff.workflow.expression_parser import parse
from bakeoff.workflow.values import as_text, loaded

__all__ = ["Block", "ExpressionError", "Names", "Template", "compile_template", "truth"]


class Block:
    """One `{{ ... }}` of a template.

    Attributes:
        start: offset of its `{{` in the template's text.
        text: what stands between the braces, stripped.
        node: the parsed expression; None where the block is empty.
    """

    __slots__ = ("node", "start", "text")

    def __init__(self, start: int, text: str) -> None:
        self.start, self.text = start, text
        self.node: Node | None = parse(text) if text else None


class Template:
    """A value of a workflow file, ready to be evaluated.

    Attributes:
        parts: literal text and blocks, in order; empty where nothing is to be evaluated.
        single: whether the whole text is one block, whose value keeps its type.
    """

    __slots__ = ("_node", "_pieces", "parts", "single", "source")

    def __init__(self, source: Any, parts: tuple[str | Block, ...] = (), single: bool = False) -> None:
        self.source, self.parts, self.single = source, parts, single
        self._node: Node | None = parts[0].node if single and isinstance(parts[0], Block) else None
        self._pieces = tuple(part if isinstance(part, str) else part.node for part in parts)

    @property
    def is_literal(self) -> bool:
        """Whether it has no expression in it."""
        return not self.parts

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The `{{ ... }}` blocks in it."""
        return tuple(part for part in self.parts if isinstance(part, Block))

    @property
    def unclosed(self) -> int | None:
        """Offset of a `{{` that no `}}` closes, which stays as text; None where there is none."""
        tail = self.parts[-1] if self.parts else self.source
        if not isinstance(tail, str) or "{{" not in tail:
            return None
        return len(self.source) - len(tail) + tail.index("{{")

    @property
    def references(self) -> tuple[str, ...]:
        """Every path that it uses, as written, without repetition."""
        found = {path.text: None for block in self.blocks if block.node for path in paths(block.node)}
        return tuple(found)

    def evaluate(self, names: Names) -> Any:
        """The value: typed where the whole text is one block, else text.

        A value kept in a file comes back as it is (`Stored`) when it is all there is.

        Raises:
            ExpressionError: a filter cannot take what it is given, or a stored value is gone.
        """
        if not self.parts:
            return self.source
        try:
            if self._node is not None:
                return self._node.evaluate(names)
            text = []
            for piece in self._pieces:
                if type(piece) is str:
                    text.append(piece)
                elif piece is not None:
                    text.append(as_text(piece.evaluate(names)))  # type: ignore[union-attr]
            return "".join(text)
        except RecursionError:
            raise ExpressionError("a value is nested too deeply", self._first) from None
        except (OSError, ValueError, OutputLostError) as failure:
            raise ExpressionError(f"a value cannot be used: {failure}", self._first) from failure

    @property
    def _first(self) -> str:
        return self.blocks[0].text


def compile_template(value: Any) -> Template:
    """`value` parsed; anything but text with a block in it evaluates to itself.

    Raises `ExpressionError` where an expression in it does not parse.
    """
    if not isinstance(value, str) or "{{" not in value:
        return Template(value)
    return _compile(value)


@lru_cache(maxsize=4096)
def _compile(text: str) -> Template:
    parts: list[str | Block] = []
    place = 0
    while (start := text.find("{{", place)) >= 0:
        end = _block_end(text, start + 2)
        if end < 0:
            break
        if start > place:
            parts.append(text[place:start])
        parts.append(_block(text, start, end))
        place = end + 2
    if not any(isinstance(part, Block) for part in parts):
        return Template(text)
    if place < len(text):
        parts.append(text[place:])
    blocks = [part for part in parts if isinstance(part, Block)]
    blank = all(part.isspace() for part in parts if isinstance(part, str))
    if len(blocks) == 1 and blank and blocks[0].node is not None:
        return Template(text, (blocks[0],), single=True)
    return Template(text, tuple(parts))


def _block(text: str, start: int, end: int) -> Block:
    return Block(start, text[start + 2 : end].strip())


def _block_end(text: str, place: int) -> int:
    """Index of the first `}}` outside quotes; the first one at all where quotes do not close."""
    first = text.find("}}", place)
    while first >= 0:
        single, double = text.find("'", place, first), text.find('"', place, first)
        if single < 0 and double < 0:
            return first
        quote = min(at for at in (single, double) if at >= 0)
        closing = text.find(text[quote], quote + 1)
        if closing < 0:
            return first
        place = closing + 1
        if place > first:
            first = text.find("}}", place)
    return first


def truth(value: Any) -> bool:
    """Whether a condition's value counts as true: the texts `true` and `false` do as they say."""
    value = loaded(value)
    if isinstance(value, str):
        word = value.strip().lower()
        return bool(value) if word not in {"true", "false"} else word == "true"
    return bool(value)
