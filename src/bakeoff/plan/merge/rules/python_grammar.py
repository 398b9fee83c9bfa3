"""Python for `TreeMerge`: how a statement that both changed is merged, and which statements commute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bakeoff.plan.merge.rules.effects import Change, Effects, effects_of
from bakeoff.plan.merge.rules.items import merge_imports, merge_pieces
from bakeoff.plan.merge.rules.node import Node, UndecidedError, meanings
from bakeoff.plan.merge.rules.python_tree import STRING, TOKEN, label_of, meaning_of
from bakeoff.plan.merge.rules.text_tree import merge_lines
from bakeoff.plan.merge.rules.three_way import Row, Sides, Span, TreeMerge

_DOCSTRING = re.compile(rf"{STRING}\s*$")
_MEMBER = re.compile(r"\w+ *= *(-?\d[\w.]*|'[^']*'|\"[^\"]*\")")
_PROSE = ("comment", "stray")
_TYPE = re.compile(r"\s*#\s*type:(?!\s*ignore)")
"""A comment that says a type: part of the statement before it, or of the definition that it stands in."""


@dataclass(slots=True)
class PythonGrammar:
    """See `Grammar`."""

    merge: TreeMerge = field(init=False)

    def __post_init__(self) -> None:
        self.merge = TreeMerge(self)

    def leaf(self, old: Node | None, our: Node, their: Node) -> Node:
        """A logical line that both changed. Raises UndecidedError: they changed one expression."""
        text = self._text(old.text if old is not None else None, our.text, their.text)
        return our.with_changes(text=text, meaning=meaning_of(text), label=label_of(text) if our.label else "")

    def _text(self, old: str | None, our: str, their: str) -> str:
        labels = {label_of(text) for text in (our, their)}
        if len(labels) == 1 and next(iter(labels)).startswith("from ") and (old is None or label_of(old) in labels):
            return merge_imports(self.merge, old, our, their)
        if old is None:
            raise UndecidedError
        if all(_DOCSTRING.fullmatch(text) for text in (old, our, their)):
            return merge_lines(old, our, their, touching=True, nested=False)
        rows = [_without_comment(text) for text in (old, our, their)]
        codes, comments = [row[0] for row in rows], [row[1] for row in rows]
        if any(comments) and comments[0] != "inside":
            comment = _pick(*comments)
            if meaning_of(codes[1]) == meaning_of(codes[2]):
                return codes[1] + comment
            said = [meaning_of(code) for code in codes]
            if said[0] in said[1:] and not any(map(_TYPE.match, comments)):
                return (codes[2] if said[1] == said[0] else codes[1]) + comment
        if re.match(r"assert\b", our):
            raise UndecidedError  # what is expected is one thing
        try:
            return merge_pieces(self.merge, old, our, their)
        except UndecidedError:
            return merge_lines(old, our, their, touching=False)

    def check_touching(self, was: Sides, now: Sides) -> None:
        """Refuse statements that use what others beside them bind.

        Raises:
            UndecidedError: they do.
        """
        _check_kinds([*now[0], *now[1]])
        ours, theirs = (Change(_effects(old), _effects(new)) for old, new in zip(was, now, strict=True))
        if ours.meets(theirs):
            raise UndecidedError
        if ours.acts and theirs.acts:
            self.merge.chosen.add("both changed what is run there: taken as if neither needs the other")

    def check_order(self, ours: Row, theirs: Row) -> bool:
        """Refuse statements that do not commute; True for definitions, imports and constants.

        Raises:
            UndecidedError: they do not.
        """
        _check_kinds([*ours, *theirs])
        if any(_TYPE.match(node.text) for node in (*ours, *theirs)):
            raise UndecidedError  # it has to come first
        mine, other = _effects(ours), _effects(theirs)
        if mine.depends(other) or mine.leaves or other.leaves or (mine.says and other.says):
            raise UndecidedError
        if any(mine.fields) and not all(other.fields):
            raise UndecidedError  # a field without a value behind one with a value
        if mine.fields or other.fields:
            return False  # their order may be that of a constructor's parameters
        members = [_members(row) for row in (ours, theirs)]
        if members[0] & members[1]:
            raise UndecidedError  # of an enumeration the second would be another name of the first
        if all(members):
            return False  # an enumeration has its members in order
        return mine.pure and other.pure and not any(node.kind in _PROSE for node in (*ours, *theirs))

    def check_context(self, base: Row, ours: Sequence[Span], theirs: Sequence[Span]) -> None:
        """What belongs together is one node."""

    def check_united(self, our: Node, their: Node) -> None:
        """Refuse two versions of a definition or a block, unless they differ in imports alone.

        Raises:
            UndecidedError: they differ in more.
        """
        rows = [[*node.heads, *(node.body or ())] for node in (our, their)]
        if our.kind == "compound":  # its branches are looked at next
            if [node.label for node in rows[0]] != [node.label for node in rows[1]]:
                raise UndecidedError
            return
        said = [set(meanings(row)) for row in rows]
        if not self.set_like([node for row in rows for node in row if node.meaning in said[0] ^ said[1]]):
            raise UndecidedError

    def set_like(self, nodes: Row) -> bool:
        """Imports alone."""
        return all(node.text.startswith(("from ", "import ")) for node in nodes)

    def first_gap(self, node: Node, before: Node) -> str:
        """Two empty lines around definitions at the top, one within classes; none elsewhere."""
        if "definition" not in (node.kind, before.kind):
            return ""
        return "\n" if node.indent else "\n\n"


def _effects(row: Row) -> Effects:
    return effects_of([node for node in row if node.kind not in _PROSE])


def _members(row: Row) -> set[str]:
    """Values of names in a block that may be the members of an enumeration."""
    found = (_MEMBER.fullmatch(_without_comment(node.text)[0].strip()) for node in row if node.indent)
    return {member[1] for member in found if member}


def _check_kinds(nodes: Row) -> None:
    """Parts of a compound statement have an order of their own.

    Raises:
        UndecidedError: there are some.
    """
    if any(node.kind in ("clause", "decorator", "head", "end") for node in nodes):
        raise UndecidedError


def _without_comment(text: str) -> tuple[str, str]:
    """A statement in one line without its comment, and that; `inside` where comments stand elsewhere in it."""
    found = [token for token in TOKEN.finditer(text) if token.lastgroup == "comment"]
    if not found:
        return text.rstrip("\n"), ""
    if len(found) > 1 or text[found[0].end() :].strip():
        return text, "inside"
    code = text[: found[0].start()].rstrip()
    return code, text[len(code) :].rstrip("\n")


def _pick(old: str, our: str, their: str) -> str:
    """The comment that one side changed, to the end of the line.

    Raises:
        UndecidedError: both did.
    """
    if "inside" in (old, our, their) or (our != their and old not in (our, their)):
        raise UndecidedError
    return (their if our == old else our) + "\n"
