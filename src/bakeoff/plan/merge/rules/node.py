"""Syntax tree for merging: nodes that keep their text to the byte, and know what they are apart from how they look."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Meaning = str | tuple["Meaning", ...]
"""What a node says, whatever its layout: equal for two nodes that differ in blanks alone."""


class UndecidedError(Exception):
    """Both sides changed the same thing, or it cannot be told what they did."""


@dataclass(slots=True, eq=False)
class Node:
    """A leaf, or heads with a body under them.

    Attributes:
        gap: the empty lines before it.
        indent: what its first line is indented by.
        text: of a leaf, without that indentation, to the end of its last line.
        meaning: of a leaf, see `Meaning`; that of an inner node is made of its parts.
        label: what it is known by among its siblings, such as the name that it defines; empty for none.
        kind: what sort of thing it is; nodes of different kinds are never versions of each other.
        heads: leaves that stand before the body: decorators and a line that ends in a colon, a heading.
        body: what stands under them; None for a leaf.
        step: by how much more than the node its body is indented.
    """

    gap: str = ""
    indent: str = ""
    text: str = ""
    meaning: Meaning = ""
    label: str = ""
    kind: str = "leaf"
    heads: list[Node] = field(default_factory=list)
    body: list[Node] | None = None
    step: str = ""

    def settle(self) -> Node:
        """Compute the meaning of an inner node, when its parts are complete."""
        assert self.body is not None
        self.meaning = (self.kind, meanings(self.heads), meanings(self.body))
        return self

    def with_changes(self, **changes: object) -> Node:
        """The same with some attributes changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def said(self, indent: str | None = None) -> str:
        """Its text, gap included, indented by `indent` instead.

        Passes on UndecidedError: it has lines whose indentation is part of a string.
        """
        return "".join(self._parts(self.indent if indent is None else indent))

    def _parts(self, indent: str) -> Iterable[str]:
        yield self.gap
        if self.body is None:
            yield indent + (self.text if indent == self.indent else _shifted(self.text, self.indent, indent))
            return
        for head in self.heads:
            yield from head._parts(indent + head.indent.removeprefix(self.indent))
        for child in self.body:
            yield from child._parts(self._inner(child, indent))

    def _inner(self, child: Node, indent: str) -> str:
        """Indentation of a child when the node itself stands at `indent`."""
        if child.kind == "stray":  # a comment that stands wherever somebody put it
            return child.indent
        return indent + self.step

    def leaves(self) -> Iterable[Node]:
        """All leaves in order."""
        if self.body is None:
            yield self
        else:
            for child in (*self.heads, *self.body):
                yield from child.leaves()


def meanings(nodes: Sequence[Node]) -> Meaning:
    """What a row of nodes says."""
    return tuple(node.meaning for node in nodes)


def _shifted(text: str, before: str, after: str) -> str:
    """The lines of a leaf after the first moved along with it.

    Raises:
        UndecidedError: its indentation is part of a string, or irregular.
    """
    first, *more = text.splitlines(keepends=True)
    if any('"""' in line or "'''" in line for line in (first, *more)) and more:
        raise UndecidedError
    lines = []
    for line in more:
        if line.strip() and not line.startswith(before):
            raise UndecidedError
        lines.append(after + line[len(before) :] if line.strip() else line)
    return "".join([first, *lines])
