"""Text as a tree: sections by their headings, list items and paragraphs in them; or lines alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bakeoff.plan.merge.rules.context import check_context, indentation
from bakeoff.plan.merge.rules.node import Node, UndecidedError
from bakeoff.plan.merge.rules.three_way import Row, Sides, Span, TreeMerge

_HASHES = re.compile(r"(#{1,6})\s+\S")
_RULE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)]|#\.|\.\.)\s+\S")
_REQUIRED = re.compile(r"([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*(?:[=<>~!]=|[<>;@]).*\n?$|([A-Za-z][\w.-]*)\n?$")
_NAMES = re.compile(r"(?:[ \t]+[A-Za-z_][\w./-]*\n)+")
"""Indented lines of one name each, as under a directive that lists documents or functions."""
_ROW = re.compile(r"( *)[*+-] +[*+-] +\S")
"""A row of a table that is written as a list of lists."""
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(slots=True)
class TextGrammar:
    """See `Grammar`.

    Attributes:
        touching: whether lines that stand side by side may be changed by one side each.
        union: whether what both added at one place may stand side by side.
        listed: whether each line stands for itself.
        nested: whether indentation says what a line belongs to.
    """

    touching: bool
    union: bool
    listed: bool = False
    nested: bool = True
    merge: TreeMerge = field(init=False)

    def __post_init__(self) -> None:
        self.merge = TreeMerge(self)

    def leaf(self, old: Node | None, our: Node, their: Node) -> Node:
        """A paragraph that both changed: line by line; what both added to a list of names alone stays, ours first.

        Raises:
            UndecidedError: they changed the same line.
        """
        if old is None:
            raise UndecidedError
        names = self.union and all(_NAMES.fullmatch(node.text) for node in (old, our, their))
        if not names and old.text.count("\n") < 2:
            raise UndecidedError
        text = merge_lines(old.text, our.text, their.text, touching=self.touching, names=self.merge if names else None)
        return our.with_changes(text=text, meaning=_words(text))

    def check_touching(self, was: Sides, now: Sides) -> None:
        """Refuse it where it is not wanted.

        Raises:
            UndecidedError: it is not.
        """
        if not self.touching:
            raise UndecidedError

    def check_order(self, ours: Row, theirs: Row) -> bool:
        """It is always a choice.

        Raises:
            UndecidedError: it is not wanted.
        """
        if not self.union or any(node.text.startswith("!") for node in (*ours, *theirs) if self.listed):
            raise UndecidedError  # `!` takes back what stands before it
        shapes = [{_shape(node) for node in row if node.kind != "end"} for row in (ours, theirs)]
        if shapes[0] != shapes[1] or "number" in shapes[0]:
            raise UndecidedError  # a paragraph, an item of a list and a section each have their place
        if ours and theirs and indentation(theirs[0]) > min(map(indentation, ours)):
            raise UndecidedError  # it belongs to what is above it, not to what ours added there
        return False

    def check_context(self, base: Row, ours: Sequence[Span], theirs: Sequence[Span]) -> None:
        """Refuse what would stand beside or under something else. Raises UndecidedError."""
        check_context(base, ours, theirs, listed=self.listed, nested=self.nested)

    def check_united(self, our: Node, their: Node) -> None:
        """A choice: what one of two sections lacks may have been taken out of it."""
        self.merge.chosen.add("both added a section: what either has in it")

    def set_like(self, nodes: Row) -> bool:
        """No order of text is without meaning."""
        return False

    def first_gap(self, node: Node, before: Node) -> str:
        """None between items of a list, one empty line between sections and paragraphs."""
        if node.kind != "line" and not (_BULLET.match(node.text) and _BULLET.match(before.text)):
            return node.gap or "\n"
        return ""


def _shape(node: Node) -> str:
    if node.kind != "leaf" or not (found := _BULLET.match(node.text)):
        return node.kind
    return "number" if found[0].strip()[0].isdigit() else "item"


def merge_lines(
    old: str, our: str, their: str, *, touching: bool, nested: bool = True, names: TreeMerge | None = None
) -> str:
    """Three texts merged line by line; `names` is the merge that they are of, where each line is a name alone.

    Passes on UndecidedError: both changed the same line, or lines side by side.
    """
    grammar = TextGrammar(touching, union=names is not None, listed=names is not None, nested=nested)
    base, ours, theirs = (parse_lines(text).body or [] for text in (old, our, their))
    merged = "".join(node.said() for node in grammar.merge.row(base, ours, theirs))
    if names is not None:
        names.chosen |= grammar.merge.chosen
    return merged


def parse_lines(text: str) -> Node:
    """The tree of a text that is lines alone."""
    body = [
        Node(text=line, meaning=line.rstrip(), kind="line", label=_required(line))
        for line in text.splitlines(keepends=True)
    ]
    return Node(kind="lines", body=body).settle()


def _required(line: str) -> str:
    """What a line of requirements is known by: the package, whatever its version."""
    found = _REQUIRED.match(line)
    return f"package {(found[1] or found[2]).casefold()}" if found else ""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A heading of some level, or for level 0 something else; with the empty lines before it."""

    gap: str
    text: str
    level: int = 0


def parse_prose(text: str) -> Node:
    """The tree of Markdown or reStructuredText, each line of which ends in a line feed.

    Raises:
        UndecidedError: it has no such tree.
    """
    found = list(_pieces(text.splitlines(keepends=True)))
    body, at = _section(found, 0, 0)
    tree = Node(kind="text", body=body).settle()
    if at < len(found) or tree.said() != text:
        raise UndecidedError
    return tree


def _section(found: Sequence[_Piece], at: int, level: int) -> tuple[list[Node], int]:
    """What stands in a section of that level from piece `at` on, and the piece behind it."""
    body: list[Node] = []
    while at < len(found):
        piece = found[at]
        if not piece.level:
            end = not piece.text
            kind = "end" if end else "leaf"
            label = "end of file" if end else ""
            body.append(Node(gap=piece.gap, text=piece.text, meaning=_words(piece.text), label=label, kind=kind))
            at += 1
            continue
        if piece.level <= level:
            break
        head = Node(text=piece.text, meaning=_words(piece.text), kind="heading")
        inner, at = _section(found, at + 1, piece.level)
        label = f"section {_version(piece.text) or _title(piece.text)}"
        body.append(Node(gap=piece.gap, kind="section", label=label, heads=[head], body=inner).settle())
    return body, at


def _pieces(lines: Sequence[str]) -> Iterator[_Piece]:
    """Headings, list items and paragraphs; the last one is empty."""
    levels: list[str] = []
    gap, at = "", 0
    while at < len(lines):
        if not lines[at].strip():
            gap += lines[at]
            at += 1
            continue
        size, sign = _heading(lines, at)
        if not size:
            size = _block(lines, at)
        elif sign not in levels:
            levels.append(sign)
        level = 0 if not sign else len(sign) if sign[0] == "#" and len(set(sign)) == 1 else 7 + levels.index(sign)
        yield _Piece(gap, "".join(lines[at : at + size]), level)
        gap = ""
        at += size
    yield _Piece(gap, "")


def _heading(lines: Sequence[str], at: int) -> tuple[int, str]:
    """The number of lines that a heading has there, and what tells its level; 0 where there is none."""
    if found := _HASHES.match(lines[at]):
        return 1, found[1]
    here, *more = lines[at : at + 3]
    title, under = (more[0], more[1]) if _RULE.match(here) and len(more) == 2 else (here, more[0] if more else "")
    over = title is not here
    rule = _RULE.match(under)
    if not rule or not title.strip() or _RULE.match(title) or len(under.rstrip()) < min(len(title.rstrip()), 3):
        return 0, ""
    if over and under.rstrip() != here.rstrip():
        return 0, ""
    return (3, f"over {rule[1]}") if over else (2, f"under {rule[1]}")


def _block(lines: Sequence[str], at: int) -> int:
    """The number of lines of the list item, fenced block or paragraph there."""
    if fence := _FENCE.match(lines[at]):
        for end in range(at + 1, len(lines)):
            if lines[end].strip().startswith(fence[1]):
                return end + 1 - at
        return len(lines) - at
    end = at + 1
    if row := _ROW.match(lines[at]):  # with all its cells
        while end < len(lines) and lines[end].strip() and not lines[end][: row.end(1) + 1].strip():
            end += 1
        return end - at
    while end < len(lines) and lines[end].strip():
        if _BULLET.match(lines[end]) or _FENCE.match(lines[end]) or _heading(lines, end)[0]:
            break
        end += 1
    return end - at


def _title(text: str) -> str:
    """The words of a heading, whatever signs stand around them."""
    return " ".join(re.findall(r"\w[\w.-]*", text)).casefold()


def _version(text: str) -> str:
    """The version that a heading of a changelog is about, whatever its date; empty for none."""
    found = re.search(r"\bv?(\d+(?:\.\w+)+)", text)
    return found[1] if found else ""


def _words(text: str) -> str:
    return " ".join(text.split())
