"""Three-way merge of syntax trees (structured merge, diff3 over siblings): what commutes is merged, or nothing is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bakeoff.plan.merge.rules.align import aligned, alike, labelled
from bakeoff.plan.merge.rules.branches import check_branches
from bakeoff.plan.merge.rules.node import Meaning, Node, UndecidedError, meanings

BRANCHES = ("clause", "block")
"""Kinds of nodes whose order matters: where one is moved, that is no move but another condition."""

Row = Sequence[Node]
Sides = tuple[Row, Row]
"""What ours and theirs have, or had."""


class Grammar(Protocol):
    """What a language adds: leaves that both changed, and what may stand side by side."""

    def leaf(self, old: Node | None, our: Node, their: Node) -> Node:
        """The leaf that has both changes. Raises UndecidedError: it cannot be told."""

    def check_touching(self, was: Sides, now: Sides) -> None:
        """Refuse changes that stand side by side but depend on each other. Raises UndecidedError."""

    def check_order(self, ours: Row, theirs: Row) -> bool:
        """Refuse what both added at one place if it matters which comes first; True if it cannot. Raises the same."""

    def check_context(self, base: Row, ours: Sequence[Span], theirs: Sequence[Span]) -> None:
        """Refuse an edit that the other side's would make part of something else. Raises UndecidedError."""

    def check_united(self, our: Node, their: Node) -> None:
        """Refuse two versions of what both added, of which nothing tells the changes. Raises UndecidedError."""

    def set_like(self, nodes: Row) -> bool:
        """Whether siblings are a set, such as imports: each stands for itself, wherever it stands."""

    def first_gap(self, node: Node, before: Node) -> str:
        """The empty lines before a node that was always the first among its siblings, and is no longer."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What one side has, from `first` to `last`, instead of the base's nodes from `start` to `stop`."""

    start: int
    stop: int
    first: int
    last: int

    def meets(self, other: Edit) -> bool:
        """Whether the two change the same nodes, or add at the same place."""
        if self.start == self.stop == other.start == other.stop:
            return True
        return max(self.start, other.start) < min(self.stop, other.stop)

    def touches(self, other: Edit) -> bool:
        """Whether nothing that stayed stands between the two."""
        return self.start <= other.stop and other.start <= self.stop


@dataclass(slots=True)
class TreeMerge:
    """One merge of three trees.

    Attributes:
        grammar: of their language.
        chosen: what was chosen, in words, where the trees alone do not tell.
    """

    grammar: Grammar
    chosen: set[str] = field(default_factory=set)

    def node(self, old: Node | None, our: Node, their: Node) -> Node:
        """The merged node.

        Raises:
            UndecidedError: both changed it.
        """
        gap = _picked_gap(old, our, their)
        said = [node.with_changes(gap="").said() if node is not None else None for node in (old, our, their)]
        if said[2] in (said[0], said[1]):
            return our.with_changes(gap=gap)
        if said[1] == said[0]:
            return their.with_changes(gap=gap)
        if our.kind != their.kind or (old is not None and old.kind != our.kind):
            raise UndecidedError
        if our.body is None or their.body is None:
            if (our.body is None) != (their.body is None) or (old is not None and old.body is not None):
                raise UndecidedError
            return self._leaf(old, our, their).with_changes(gap=gap)
        return self._inner(old, our, their).with_changes(gap=gap)

    def _leaf(self, old: Node | None, our: Node, their: Node) -> Node:
        if our.meaning == their.meaning:
            return their if old is not None and old.text == our.text else our
        if old is not None and old.meaning in (our.meaning, their.meaning):
            return our if their.meaning == old.meaning else their
        return self.grammar.leaf(old, our, their)

    def _inner(self, old: Node | None, our: Node, their: Node) -> Node:
        """An inner node: its heads, then its body.

        Raises:
            UndecidedError: one of the versions is a leaf.
        """
        if our.body is None or their.body is None:
            raise UndecidedError
        if old is not None and old.body is None:
            raise UndecidedError
        if old is None:
            self.grammar.check_united(our, their)
        elif our.kind == "compound":
            check_branches(old.body or [], our.body, their.body)
        if old is None and len(our.heads) == len(their.heads) == 1:
            heads = [self.node(None, our.heads[0], their.heads[0])]
        else:
            heads = self.row(old.heads if old is not None else [], our.heads, their.heads, of_heads=True)
        body = self.row((old.body or []) if old is not None else [], our.body, their.body)
        step = _picked(old.step if old is not None else None, our.step, their.step) if our.body else their.step
        if our.body and not body:
            raise UndecidedError  # nothing would stand under the head
        return our.with_changes(heads=heads, body=body, step=step).settle()

    def row(self, base: Row, ours: Row, theirs: Row, of_heads: bool = False) -> list[Node]:
        """The merged siblings.

        Raises:
            UndecidedError: both changed the same ones.
        """
        merged = _Siblings(self, base, ours, theirs, of_heads).merged()
        for name in ("label", "meaning"):
            now, *sides = (Counter(getattr(node, name) for node in row) for row in (merged, ours, theirs))
            if any(key and count > 1 and count > max(side[key] for side in sides) for key, count in now.items()):
                raise UndecidedError  # once more than either side has it
        return self._spaced(merged, (base, ours, theirs))

    def _spaced(self, merged: list[Node], rows: Sequence[Row]) -> list[Node]:
        """The same with empty lines as they are between siblings: before the first one they belong to what is above."""
        firsts = {_key(row[0]) for row in rows if row}
        later = {_key(node): node.gap for row in rows for node in row[1:]}
        usual = {node.kind: node.gap for row in rows for node in row[1:] if node.kind in ("section", "definition")}
        for number, node in enumerate(merged):
            key = _key(node)
            gap = node.gap
            if number and key in firsts and node.kind != "end":
                gap = later.get(key) or usual.get(node.kind) or self.grammar.first_gap(node, merged[number - 1])
            elif not number and key not in firsts and key in later:
                gap = next((row[0].gap for row in rows if row), "")
            merged[number] = node.with_changes(gap=gap) if gap != node.gap else node
        return merged


@dataclass(frozen=True, slots=True)
class Span:
    """Nodes of the base that one side changed, and what it has there.

    Attributes:
        inner: whether it is one node that was changed within; else all of them are gone.
        at_start, at_end: whether what was changed is at the very start of it, or at its end.
    """

    start: int
    stop: int
    nodes: Row
    inner: bool = False
    at_start: bool = True
    at_end: bool = True


def _edge_changed(old: Node, new: Node, end: int) -> bool:
    """Whether two versions of a node differ at their start (`end` is 0) or at their end (-1)."""
    if old.meaning == new.meaning:
        return False
    if not (old.body and new.body):
        return True
    rows = [node.heads if not end and node.heads else node.body or [] for node in (old, new)]
    return _edge_changed(rows[0][end], rows[1][end], end)


class _Siblings:
    """Three versions of a row of siblings."""

    def __init__(self, merge: TreeMerge, base: Row, ours: Row, theirs: Row, of_heads: bool) -> None:
        self.merge, self.of_heads = merge, of_heads
        self.base, self.sides = base, (ours, theirs)
        self.names = labelled(base, ours, theirs)
        self.matches = [aligned(base, side, self.names) for side in self.sides]
        self.edits = [
            list(_edits(match, len(base), len(side))) for match, side in zip(self.matches, self.sides, strict=True)
        ]
        self.moved = [self._moves(number) for number in (0, 1)]

    def _moves(self, number: int) -> dict[int, int]:
        """Nodes that one side moved: by the number of each in the base, where it stands now."""
        match, side = self.matches[number], self.sides[number]
        places = {node.label: at for at, node in enumerate(side) if node.label in self.names}
        return {
            at: places[node.label]
            for at, node in enumerate(self.base)
            if at not in match and node.label in self.names and node.label in places
            if node.kind not in BRANCHES
        }

    def merged(self) -> list[Node]:
        """The siblings. Raises UndecidedError."""
        found: list[Node] = []
        at = 0
        if not self.of_heads:
            ours, theirs = (list(self._spans(number)) for number in (0, 1))
            self.merge.grammar.check_context(self.base, ours, theirs)
            self._check_neighbours(ours, theirs)
        for pair in _groups(self.edits):
            edits = [edit for side in pair for edit in side]
            start, stop = min(edit.start for edit in edits), max(edit.stop for edit in edits)
            found += (self._kept(number) for number in range(at, start))
            found += self._changed(pair[0], pair[1], start, stop)
            at = stop
        found += (self._kept(number) for number in range(at, len(self.base)))
        return found

    def _check_neighbours(self, ours: Sequence[Span], theirs: Sequence[Span]) -> None:
        """Refuse changes next to each other, one of them within a node, that depend on each other."""
        starts = {span.start: span for span in theirs}
        stops = {span.stop: span for span in theirs}
        for our in ours:
            for their, first in ((starts.get(our.stop), our), (stops.get(our.start), None)):
                if (
                    their is None
                    or (their.start, their.stop) == (our.start, our.stop)
                    or not (our.inner or their.inner)
                ):
                    continue
                one, other = (our, their) if first is our else (their, our)
                if one.at_end and other.at_start:
                    was = (self.base[our.start : our.stop], self.base[their.start : their.stop])
                    if not self.merge.grammar.set_like([*was[0], *was[1], *our.nodes, *their.nodes]):
                        self.merge.grammar.check_touching(was, (our.nodes, their.nodes))

    def _spans(self, number: int) -> Iterator[Span]:
        """All that one side changed, nodes that it changed within included."""
        side = self.sides[number]
        for edit in self.edits[number]:
            yield Span(edit.start, edit.stop, side[edit.first : edit.last])
        for at, now in self.matches[number].items():
            old, new = self.base[at], side[now]
            if old.meaning != new.meaning:
                yield Span(at, at + 1, [new], True, _edge_changed(old, new, 0), _edge_changed(old, new, -1))

    def _kept(self, at: int) -> Node:
        our, their = (side[match[at]] for side, match in zip(self.sides, self.matches, strict=True))
        return self.merge.node(self.base[at], our, their)

    def _changed(self, ours: list[Edit], theirs: list[Edit], start: int, stop: int) -> list[Node]:
        """What stands at the place of edits that touch each other, or of one alone.

        Raises:
            UndecidedError: both changed the same.
        """
        if not (ours and theirs):
            (edit,), number = (ours, 0) if ours else (theirs, 1)
            self._check_gone(edit, number)
            return [self._put(number, at) for at in range(edit.first, edit.last)]
        rows = [self._range(number, edits, start, stop) for number, edits in ((0, ours), (1, theirs))]
        if meanings(rows[0]) == meanings(rows[1]):
            return [self.merge.node(None, *pair) for pair in zip(*rows, strict=True)]
        for number in (0, 1):
            if self._contains(number, (ours, theirs)):
                return list(rows[number])
        nodes = [*self.base[start:stop], *rows[0], *rows[1]]
        if self.merge.grammar.set_like(nodes) and not self.of_heads:
            return _as_sets(self.merge, self.base[start:stop], *rows)
        if any(our.meets(their) for our in ours for their in theirs):
            if start == stop:
                return self._both_added(*rows)
            raise UndecidedError
        return self._side_by_side(ours, theirs, start, stop)

    def _check_gone(self, edit: Edit, number: int) -> None:
        """Refuse that one side takes out, without moving it, what the other one changed.

        Raises:
            UndecidedError: it did.
        """
        other = 1 - number
        for at in range(edit.start, edit.stop):
            now = self.matches[other].get(at)
            if now is None or at in self.moved[number]:
                continue
            if self.sides[other][now].meaning != self.base[at].meaning:
                raise UndecidedError

    def _put(self, number: int, at: int) -> Node:
        """A node that one side added or moved there; what it moved has the other's changes.

        Raises:
            UndecidedError: it cannot be told what it has become.
        """
        node, other = self.sides[number][at], 1 - number
        came = next((old for old, now in self.moved[number].items() if now == at), None)
        if came is None:
            return node
        now = self.matches[other].get(came)
        if now is None:
            if self.moved[other].get(came) is not None or node.meaning != self.base[came].meaning:
                raise UndecidedError
            raise UndecidedError  # moved here, taken out there
        if node.meaning != self.base[came].meaning != self.sides[other][now].meaning:
            raise UndecidedError  # moved and changed, and changed where it was: too much to be told
        return self.merge.node(self.base[came], node, self.sides[other][now])

    def _range(self, number: int, edits: list[Edit], start: int, stop: int) -> Row:
        """What one side has at the base's nodes from `start` to `stop`, its edits there included."""
        side, match = self.sides[number], self.matches[number]
        first = edits[0].first if edits[0].start == start else match[start]
        last = edits[-1].last if edits[-1].stop == stop else match[stop - 1] + 1
        return side[first:last]

    def _contains(self, number: int, edits: Sequence[list[Edit]]) -> bool:
        """Whether all that the other side did there, this one did too."""
        mine, others = edits[number], edits[1 - number]
        gone = {at for edit in mine for at in range(edit.start, edit.stop)}
        if not all(at in gone for edit in others for at in range(edit.start, edit.stop)):
            return False
        match = self.matches[1 - number]
        span = range(min(edit.start for edit in mine), max(edit.stop for edit in mine))
        if any(at in match and self.sides[1 - number][match[at]].meaning != self.base[at].meaning for at in span):
            return False
        added = [self.sides[1 - number][at].meaning for edit in others for at in range(edit.first, edit.last)]
        mine_added = iter([self.sides[number][at].meaning for edit in mine for at in range(edit.first, edit.last)])
        return bool(added) and all(meaning in mine_added for meaning in added)

    def _both_added(self, ours: Row, theirs: Row) -> list[Node]:
        """What both added at one place: equal things once, then ours before theirs.

        Raises:
            UndecidedError: they are two versions of one thing.
        """
        if self.of_heads:
            raise UndecidedError
        names = labelled(ours, theirs)
        match = aligned(ours, theirs, names)
        mine = [node for number, node in enumerate(ours) if number not in match]
        others = [node for number, node in enumerate(theirs) if number not in match.values()]
        if mine and others:
            self._check_added(mine, others)
        found: list[Node] = []
        start = at = 0
        for our, their in [*match.items(), (len(ours), len(theirs))]:
            found += _in_order(ours[start:our], theirs[at:their])
            if our < len(ours):
                found.append(self.merge.node(None, ours[our], theirs[their]))
            start, at = our + 1, their + 1
        return found

    def _check_added(self, ours: Row, theirs: Row) -> None:
        """Refuse two versions of one thing, and things whose order matters.

        Raises:
            UndecidedError: they are.
        """
        for our in ours:
            for their in theirs:
                if our.label == their.label and alike(our, their):
                    raise UndecidedError
        if not self.merge.grammar.check_order(ours, theirs):
            self.merge.chosen.add("both added there: ours stands first")

    def _side_by_side(self, ours: list[Edit], theirs: list[Edit], start: int, stop: int) -> list[Node]:
        """Edits that touch but do not meet: each is done."""
        was: tuple[list[Node], list[Node]] = ([], [])
        now: tuple[list[Node], list[Node]] = ([], [])
        for number, edits in ((0, ours), (1, theirs)):
            for edit in edits:
                self._check_gone(edit, number)
                was[number].extend(self.base[edit.start : edit.stop])
                now[number].extend(self.sides[number][edit.first : edit.last])
        self.merge.grammar.check_touching(was, now)
        changes = [(edit, number) for number, edits in ((0, ours), (1, theirs)) for edit in edits]
        found, at = [], start
        # What is added before a node comes before what stands instead of that node.
        for edit, number in sorted(changes, key=lambda change: (change[0].start, change[0].stop)):
            found += [self._kept(kept) for kept in range(at, edit.start)]
            found += [self._put(number, each) for each in range(edit.first, edit.last)]
            at = max(at, edit.stop)
        return found + [self._kept(kept) for kept in range(at, stop)]


def _in_order(ours: Row, theirs: Row) -> list[Node]:
    """Ours before theirs, but where ours ends in a comment: that is about what follows.

    Raises:
        UndecidedError: both end in one.
    """
    open_end = [bool(row) and row[-1].kind == "comment" for row in (ours, theirs)]
    if theirs and open_end[0]:
        if open_end[1]:
            raise UndecidedError
        return [*theirs, *ours]
    return [*ours, *theirs]


def _as_sets(merge: TreeMerge, base: Row, ours: Row, theirs: Row) -> list[Node]:
    """Siblings whose order is of no matter: gone is what either took out, in what either added.

    Raises:
        UndecidedError: one took out what the other changed.
    """
    old, our, their = (_by_name(row) for row in (base, ours, theirs))
    found = {}
    for name in {**our, **their}:
        before, mine, other = old.get(name), our.get(name), their.get(name)
        if mine is not None and other is not None:
            found[name] = merge.node(before, mine, other)
            continue
        (alone,) = [node for node in (mine, other) if node is not None]
        if before is None:
            found[name] = alone
        elif alone.meaning != before.meaning:
            raise UndecidedError
    order = [name for name in our if name in found]
    at = 0
    for name in their:
        if name in order:
            at = order.index(name) + 1
        elif name in found:
            while at < len(order) and order[at] not in their:
                at += 1
            order.insert(at, name)
            at += 1
    return [found[name] for name in order]


def _by_name(row: Row) -> dict[Meaning, Node]:
    """Siblings by their labels, or meanings.

    Raises:
        UndecidedError: two have the same.
    """
    found = {_key(node): node for node in row}
    if len(found) < len(row):
        raise UndecidedError
    return found


def _edits(match: Mapping[int, int], base: int, side: int) -> Iterator[Edit]:
    """What stands between the pairs of an alignment of rows that are `base` and `side` long."""
    start = first = 0
    for at, now in [*sorted(match.items()), (base, side)]:
        if start < at or first < now:
            yield Edit(start, at, first, now)
        start, first = at + 1, now + 1


def _groups(edits: Sequence[list[Edit]]) -> Iterator[tuple[list[Edit], list[Edit]]]:
    """Edits of both sides that touch each other, each such group for itself, in order."""
    left = [list(side) for side in edits]
    while any(left):
        group: tuple[list[Edit], list[Edit]] = ([], [])
        number = min((n for n in (0, 1) if left[n]), key=lambda n: left[n][0].start)
        group[number].append(left[number].pop(0))
        grown = True
        while grown:
            grown = False
            for n in (0, 1):
                while left[n] and any(left[n][0].touches(edit) for edit in group[1 - n]):
                    group[n].append(left[n].pop(0))
                    grown = True
        yield group


def _key(node: Node) -> Meaning:
    return node.label or node.meaning


def _picked(old: str | None, our: str, their: str) -> str:
    return their if our == old else our


def _picked_gap(old: Node | None, our: Node, their: Node) -> str:
    """The empty lines that one side changed; where both did, the more."""
    if old is not None and our.gap == old.gap:
        return their.gap
    if old is not None and their.gap == old.gap:
        return our.gap
    return max(our.gap, their.gap, key=len)
