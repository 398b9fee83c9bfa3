"""Context of edits of text: the lines beside what one side put in, and those above that it belongs to, must stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bakeoff.plan.merge.rules.node import Node, UndecidedError, meanings
from bakeoff.plan.merge.rules.three_way import Row, Span

_TABLE = re.compile(r"\[")
_ALONE = re.compile(r"[^\s#!\[]")
"""How a line begins that stands for itself in a list of lines."""


def check_context(base: Row, ours: Sequence[Span], theirs: Sequence[Span], *, listed: bool, nested: bool) -> None:
    """Refuse an edit beside, or under, what the other side took out or changed: it would belong to something else.

    Only replacements of equally many lines may touch each other; in a list of lines (`listed`) also edits of lines that
    stand for themselves. Indentation says what a line is under, where lines are `nested`. What both did alike is left
    out; what both added at one place is judged elsewhere.

    Raises:
        UndecidedError: there is one.
    """
    same = {_key(span) for span in ours} & {_key(span) for span in theirs}
    sides = [[span for span in spans if _key(span) not in same] for spans in (ours, theirs)]
    for our in sides[0]:
        for their in sides[1]:
            if our.start <= their.stop and their.start <= our.stop and not _apart(base, our, their, listed):
                raise UndecidedError
    for number in (0, 1) if nested else ():
        changed = {at for span in sides[1 - number] for at in range(span.start, span.stop)}
        if any(at in changed for span in sides[number] for at in _above(base, span)):
            raise UndecidedError


def _key(span: Span) -> object:
    return span.start, span.stop, meanings(span.nodes)


def _apart(base: Row, one: Span, other: Span, listed: bool) -> bool:
    """Whether two edits that touch have nothing to do with each other."""
    pair = (one, other)
    if all(span.start == span.stop for span in pair) or not any(span.nodes for span in pair):
        return True  # both only add, or both only take out
    if any(span.inner and span.nodes[0].kind != "line" for span in pair):
        return True  # a paragraph or a section that is still there
    meet = max(one.start, other.start) < min(one.stop, other.stop)
    if not meet and all(len(span.nodes) == span.stop - span.start for span in pair):
        return True
    lines = [node for span in pair for node in (*base[span.start : span.stop], *span.nodes)]
    return listed and not meet and all(_ALONE.match(node.text) for node in lines)


def _above(base: Row, span: Span) -> Iterator[int]:
    """The lines that an edit stands under: each the nearest before it with less indentation, and the table's name."""
    lines = [node for node in (*base[span.start : span.stop], *span.nodes) if node.body is None and node.text.strip()]
    level = max(map(indentation, lines), default=0)
    in_table = bool(lines) and not all(_TABLE.match(node.text) for node in lines)
    for at in range(span.start - 1, -1, -1):
        node = base[at]
        if node.body is not None:
            return
        if not node.text.strip() or node.text.lstrip().startswith("#"):
            continue
        table = bool(_TABLE.match(node.text))
        if indentation(node) < level or (in_table and table):
            yield at
            if node.text.strip() != "{":  # what that opens is named before it
                level = min(level, indentation(node))
        if not level and (table or not in_table):
            return


def indentation(node: Node) -> int:
    """Columns before the first word of a line or paragraph."""
    text = node.text.expandtabs()
    return len(text) - len(text.lstrip())
