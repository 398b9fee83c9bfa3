"""Items between brackets, merged each for itself: lists, dictionaries, arguments, parameters, imported names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bakeoff.plan.merge.rules.node import Node, UndecidedError
from bakeoff.plan.merge.rules.python_tree import TOKEN, meaning_of
from bakeoff.plan.merge.rules.three_way import Row, Sides, Span, TreeMerge

_IMPORTED = re.compile(r"(from\s+[.\w]+\s+import\s+)([^(#]*?)(\s*(?:#[^\n]*)?\n?)$", re.DOTALL)
_KEYWORD = re.compile(r"\*{0,2}\s*([A-Za-z_]\w*)\s*(?::[^=]*)?(=(?!=))?")
_DICT_KEY = re.compile(r"(\"[^\"\\\n]*\"|'[^'\\\n]*'|[\w.]+)\s*:")
_NAMES_ITSELF = re.compile(r"[A-Za-z_][\w.]*|\"[^\"\\\n]*\"|'[^'\\\n]*'")
_NUMBER = re.compile(r"[-+.\w]*\d[\w.]*|True|False|None")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Group:
    """What stands between two brackets.

    Attributes:
        sort: `display` for a list and the like, `call`, `parameters`, or `import`.
        opening, closing: the brackets; empty around names that are imported without any.
        items: in order; the `gap` of each is what stands before it.
        tail: what stands behind the last one, the comma included.
    """

    sort: str
    opening: str
    closing: str
    items: tuple[Node, ...] = field(compare=False)
    tail: str = field(compare=False)

    @property
    def spread(self) -> bool:
        """Whether it goes over several lines."""
        return "\n" in self.tail or any("\n" in item.gap for item in self.items)


Piece = str | Group


def pieces(text: str) -> list[Piece]:
    """A statement cut into its outermost brackets and what stands around them.

    Raises:
        UndecidedError: its brackets do not match.
    """
    if (found := _IMPORTED.match(text)) and found[2]:
        return [found[1], _group("import", "", found[2], ""), found[3]]
    parts: list[Piece] = []
    depth = start = 0
    opened = -1
    for token in TOKEN.finditer(text):
        word = token[0]
        if token.lastgroup != "sign":
            continue
        if word in _PAIRS:
            if not depth:
                parts.append(text[start : token.start()])
                opened = token.end()
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                raise UndecidedError
            if not depth:
                opening = text[opened - 1]
                parts.append(_group(_sort(opening, str(parts[-1])), opening, text[opened : token.start()], word))
                start = token.end()
    if depth:
        raise UndecidedError
    return [*parts, text[start:]]


def _sort(opening: str, before: str) -> str:
    before = before.rstrip()
    if re.match(r"from\b.*\bimport$", before, re.DOTALL):
        return "import"
    if re.match(r"(async\s+)?def\b", before):
        return "parameters"
    called = re.search(r"(\w+)$", before)
    if opening == "(" and (before.endswith(("]", ")")) or (called and called[1] not in ("return", "in", "and", "or"))):
        return "call"
    return "display" if opening != "[" or not (called or before.endswith(("]", ")"))) else "subscript"


def _group(sort: str, opening: str, inner: str, closing: str) -> Group:
    """The items of `inner`.

    Raises:
        UndecidedError: what they are is not plain to see.
    """
    items: list[Node] = []
    depth = start = 0
    for token in TOKEN.finditer(inner):
        word = token[0]
        if token.lastgroup == "word" and not depth and word in ("lambda", "for"):
            raise UndecidedError
        if token.lastgroup != "sign":
            continue
        if word in _PAIRS:
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
        elif word == "," and not depth:
            items.append(_item(sort, opening, inner[start : token.start()]))
            start = token.end()
    rest = inner[start:]
    if rest.strip():
        items.append(_item(sort, opening, rest.rstrip()))
        return Group(sort, opening, closing, tuple(items), rest[len(rest.rstrip()) :])
    return Group(sort, opening, closing, tuple(items), "," + rest if items else rest)


def _item(sort: str, opening: str, text: str) -> Node:
    stripped = text.strip(" \t\n\\")
    if not stripped or "#" in meaning_of(stripped).partition("\0#")[1]:  # type: ignore[union-attr]
        raise UndecidedError  # a comment, which may belong to what stands before or behind it
    label = ""
    if sort in ("call", "parameters"):
        found = _KEYWORD.match(stripped)
        if found and (sort == "parameters" or found[2]):
            label = f"= {found[1]}"
    elif sort == "display" and opening == "{" and (found := _DICT_KEY.match(stripped)):
        label = f"key {meaning_of(found[1])}"
    if not label and _NAMES_ITSELF.fullmatch(stripped):
        label = f"item {meaning_of(stripped)}"
    gap = text[: len(text) - len(text.lstrip(" \t\n\\"))]
    return Node(gap=gap, text=stripped, meaning=meaning_of(stripped), label=label, kind="item")


@dataclass(frozen=True, slots=True)
class _Items:
    """What items may do; see `Grammar`."""

    merge: TreeMerge
    sort: str
    placed: bool
    """Whether items of a display stand for their places, as in a tuple."""

    def leaf(self, old: Node | None, our: Node, their: Node) -> Node:
        """An item that both changed: what stands in its own brackets.

        Raises:
            UndecidedError: they changed one expression.
        """
        if old is None:
            raise UndecidedError
        text = merge_pieces(self.merge, old.text, our.text, their.text)
        return our.with_changes(text=text, meaning=meaning_of(text))

    def check_touching(self, was: Sides, now: Sides) -> None:
        """Those that stand for a place cannot be told apart by anything else. Raises UndecidedError."""
        self._check_named([node for row in (*was, *now) for node in row])

    def check_order(self, ours: Row, theirs: Row) -> bool:
        """The same; only the order of imported names is of no matter at all."""
        self._check_named([*ours, *theirs])
        return self.sort == "import"

    def _check_named(self, items: Row) -> None:
        if any(_NUMBER.fullmatch(item.text) for item in items):
            raise UndecidedError
        if self.sort == "subscript" or (self.sort == "call" and not all(item.label.startswith("= ") for item in items)):
            raise UndecidedError
        if self.sort == "parameters" and not all("=" in item.text for item in items):
            raise UndecidedError

    def check_context(self, base: Row, ours: Sequence[Span], theirs: Sequence[Span]) -> None:
        """Refuse items that stand for a place, where both sides changed some and one of them how many there are.

        Numbers that stand for a place are one value, as those of a version.

        Raises:
            UndecidedError: there are such.
        """
        if self.sort == "import":
            return
        changed = [[span for span in spans if not self._by_name(base, span)] for spans in (ours, theirs)]
        if not all(changed):
            return
        spans = [span for side in changed for span in side]
        if any(len(span.nodes) != span.stop - span.start for span in spans):
            raise UndecidedError
        if all(any(_NUMBER.fullmatch(node.text) for span in side for node in span.nodes) for side in changed):
            raise UndecidedError

    def _by_name(self, base: Row, span: Span) -> bool:
        """Whether all that was changed there is known by something else than its place."""
        nodes = (*base[span.start : span.stop], *span.nodes)
        match self.sort:
            case "display":
                return not self.placed
            case "call":
                return all(node.label.startswith("= ") for node in nodes)
            case "parameters":
                return all("=" in node.text for node in nodes)
        return False

    def set_like(self, nodes: Row) -> bool:
        """Imported names."""
        return self.sort == "import"

    def check_united(self, our: Node, their: Node) -> None:
        """Items are leaves."""

    def first_gap(self, node: Node, before: Node) -> str:
        """Set when the group is written."""
        return node.gap


def merge_pieces(merge: TreeMerge, old: str, our: str, their: str) -> str:
    """A statement of which both changed what stands in brackets, item by item.

    Raises:
        UndecidedError: they changed the same item, or what stands around the brackets.
    """
    rows = [pieces(text) for text in (old, our, their)]
    if len({len(row) for row in rows}) > 1:
        raise UndecidedError
    found = []
    head = re.match(r"(async\s+)?def\b", our) is not None
    changed_by: set[int] = set()
    for before, mine, other in zip(*rows, strict=True):
        if isinstance(before, str) and isinstance(mine, str) and isinstance(other, str):
            said = [meaning_of(text) for text in (before, mine, other)]
            if said[1] != said[2] and said[0] not in said[1:]:
                raise UndecidedError
            changed_by |= {number for number in (1, 2) if said[number] != said[0]}
            found.append(other if said[1] == said[0] != said[2] else mine)
        elif isinstance(before, Group) and isinstance(mine, Group) and isinstance(other, Group):
            found.append(_merge_group(merge, before, mine, other))
        else:
            raise UndecidedError
    if changed_by and not head:
        raise UndecidedError  # what is called, say, and how it is called: one expression
    return "".join(found)


def merge_imports(merge: TreeMerge, old: str | None, our: str, their: str) -> str:
    """`from m import ...` that both have, by its names; `old` is None where both added it.

    Raises:
        UndecidedError: both changed the same name.
    """
    mine, other = pieces(our), pieces(their)
    before = pieces(old) if old is not None else [mine[0], replace(_names(mine), items=()), "\n"]
    ends = [str(row[2]).strip() for row in (before, mine, other)]
    if ends[1] != ends[2] and ends[0] not in ends[1:]:
        raise UndecidedError
    end = other[2] if ends[1] == ends[0] else mine[2]
    group = _merge_group(merge, _names(before), _names(mine), _names(other))
    names = [item.text for item in _names(pieces(f"{mine[0]}{group}\n")).items]
    bound = {re.split(r"\s+as\s+", name)[-1] for name in names}
    if len(bound) < len(names) or ("*" in names and len(names) > 1):
        raise UndecidedError
    return f"{mine[0]}{group}{end}"


def _names(row: Sequence[Piece]) -> Group:
    if len(row) != 3 or not isinstance(row[1], Group):
        raise UndecidedError
    return row[1]


def _merge_group(merge: TreeMerge, old: Group, our: Group, their: Group) -> str:
    """The merged group, laid out as ours is, or as theirs where only that is spread over lines.

    Raises:
        UndecidedError: both changed the same item.
    """
    brackets = {(group.sort, group.opening if group.sort != "import" else "") for group in (old, our, their)}
    if len(brackets) > 1:
        raise UndecidedError
    inner = TreeMerge(_Items(merge, our.sort, our.opening == "("))
    items = inner.row(old.items, our.items, their.items)
    merge.chosen |= inner.chosen
    if our.sort == "import" and not items:
        raise UndecidedError
    items = _sorted(items, (our.items, their.items)) if our.sort in ("import", "display") else items
    frame = their if their.spread and not our.spread and their.items else our
    return _written(frame, items)


def _sorted(items: list[Node], sides: Sequence[Sequence[Node]]) -> list[Node]:
    """In alphabetical order, where both sides keep one."""
    for key in (str, str.casefold):
        if all(len(side) > 1 and [key(i.text) for i in side] == sorted(key(i.text) for i in side) for side in sides):
            return sorted(items, key=lambda item: key(item.text))
    return items


def _written(frame: Group, items: Sequence[Node]) -> str:
    gaps = {item.meaning: item.gap for item in frame.items[1:]}
    first = frame.items[0].gap if frame.items else ""
    one_each = frame.spread and all("\n" in item.gap for item in frame.items)
    plain = frame.items[-1].gap if one_each and frame.items else " "
    parts = []
    for number, item in enumerate(items):
        if "\n" in item.text and not frame.spread:
            raise UndecidedError
        gap = gaps.get(item.meaning, plain) if number else first
        parts.append(gap + item.text)
    return frame.opening + ",".join(parts) + (frame.tail if items else "") + frame.closing
