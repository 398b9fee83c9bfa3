"""Python by definition: functions, classes, methods, imports and assignments are merged each for itself."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules.imports import merge_imports, module_of

if TYPE_CHECKING:
    import libcst as cst

Key = tuple[str, str, int]
"""What a statement is known by: its sort, its name, and its number among equal ones."""


class _CannotTellError(Exception):
    """Both changed the same definition, or the order of statements."""


def merge_definitions(texts: Texts) -> bytes | None:
    """The merged module; None where both changed the same definition, or one of the versions is no Python."""
    import ast

    import libcst as cst

    try:
        for text in (texts.base, texts.ours, texts.theirs):
            ast.parse(text)  # refuses what nests so deeply that it would end the process in libcst
        base, ours, theirs = (cst.parse_module(text) for text in (texts.base, texts.ours, texts.theirs))
        merged = _Bodies(base, ours, theirs).module()
        ast.parse(merged)
    except (
        _CannotTellError,
        cst.ParserSyntaxError,
        UnicodeDecodeError,
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):
        return None
    return merged


class _Bodies:
    """Three versions of a module."""

    def __init__(self, base: cst.Module, ours: cst.Module, theirs: cst.Module) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs

    def module(self) -> bytes:
        """The merged module."""
        import libcst as cst

        ends = {}
        for name in ("header", "footer"):
            versions = [getattr(module, name) for module in (self.base, self.ours, self.theirs)]
            said = ["".join(cst.Module([]).code_for_node(line) for line in lines) for lines in versions]
            ends[name] = versions[1 + _pick(*said)]
        body = self._merged(self.base.body, self.ours.body, self.theirs.body, gap=2)
        return self.ours.with_changes(body=body, **ends).bytes

    def _merged(
        self, base: Sequence[cst.CSTNode], ours: Sequence[cst.CSTNode], theirs: Sequence[cst.CSTNode], gap: int
    ) -> list[cst.CSTNode]:
        """The statements of a merged body, in our order; what they added stands behind what it follows there.

        `gap` is how many empty lines stand around a definition, where no version says.

        Raises:
            _CannotTellError: it cannot be told what they are, or in which order.
        """
        old, our, their = (dict(self._keyed(body)) for body in (base, ours, theirs))
        stayed = [key for key in their if key in old]
        if stayed != [key for key in old if key in their]:
            raise _CannotTellError
        if _rewrote_the_same(old, our, their) or self._mixed_up(old, our, their):
            raise _CannotTellError
        kept: dict[Key, cst.CSTNode] = {}
        for key in {**our, **their}:
            node = self._statement(old.get(key), our.get(key), their.get(key))
            if node is not None:
                kept[key] = node
        order = [key for key in our if key in kept]
        at = _behind(order, 0, {*old, *their})
        for key in their:
            if key in order:
                at = _behind(order, order.index(key) + 1, {*old, *their})
            elif key in kept:
                order.insert(at, key)
                at += 1
        return _spaced([(key, kept[key]) for key in order], (old, our, their), gap)

    def _mixed_up(self, *versions: Mapping[Key, cst.CSTNode]) -> bool:
        """Whether both changed what a name that is defined several times (overloads, properties) stands for."""
        for name in {key[:2] for version in versions for key in version if key[2] and key[0] == "definition"}:
            said = [[self._text(node) for key, node in version.items() if key[:2] == name] for version in versions]
            if said[0] not in said[1:] and said[1] != said[2]:
                return True
        return False

    def _statement(
        self, old: cst.CSTNode | None, our: cst.CSTNode | None, their: cst.CSTNode | None
    ) -> cst.CSTNode | None:
        import libcst as cst

        try:
            return (our, their)[_pick(self._text(old), self._text(our), self._text(their))]
        except _CannotTellError:
            if any(isinstance(each, cst.ClassDef) for each in (old, our, their)):
                return self._class(old, our, their)
            return merge_imports(old, our, their)

    def _class(self, old: cst.CSTNode | None, our: cst.CSTNode | None, their: cst.CSTNode | None) -> cst.CSTNode:
        """A class that both changed: its head for itself, then its body like a module's.

        Raises:
            _CannotTellError: it is none in one of the versions, or stands on one line.
        """
        import libcst as cst

        if not (isinstance(old, cst.ClassDef) and isinstance(our, cst.ClassDef) and isinstance(their, cst.ClassDef)):
            raise _CannotTellError
        if not all(isinstance(each.body, cst.IndentedBlock) for each in (old, our, their)):
            raise _CannotTellError
        nothing = [cst.SimpleStatementLine([cst.Pass()])]
        heads = [self._text(each.with_changes(body=each.body.with_changes(body=nothing))) for each in (old, our, their)]
        head: Any = (our, their)[_pick(*heads)]
        body = self._merged(old.body.body, our.body.body, their.body.body, gap=1)
        merged: cst.ClassDef = head.with_changes(body=head.body.with_changes(body=body))
        return merged

    def _keyed(self, body: Sequence[cst.CSTNode]) -> Iterator[tuple[Key, cst.CSTNode]]:
        seen: dict[tuple[str, str], int] = {}
        for node in body:
            sort, name = self._name(node)
            number = seen[sort, name] = seen.get((sort, name), -1) + 1
            yield (sort, name, number), node

    def _name(self, node: cst.CSTNode) -> tuple[str, str]:
        import libcst as cst

        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            return "definition", node.name.value
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
            small = node.body[0]
            if isinstance(small, cst.ImportFrom):
                return "import", module_of(small)
            if isinstance(small, cst.Import):
                return "import", self._text(small) or ""
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                target: cst.BaseExpression = small.targets[0].target
            elif isinstance(small, cst.AnnAssign):
                target = small.target
            else:
                return "statement", self._text(node) or ""
            if isinstance(target, cst.Name):
                return "definition", target.value
        return "statement", self._text(node) or ""

    def _text(self, node: cst.CSTNode | None) -> str | None:
        """A statement without the empty lines before it, which belong to what stands there."""
        return None if node is None else self.ours.code_for_node(node).lstrip("\r\n")


def _behind(order: Sequence[Key], at: int, known: Collection[Key]) -> int:
    """Place for what they added there: what we added comes first."""
    while at < len(order) and order[at] not in known:
        at += 1
    return at


def _spaced(
    body: Sequence[tuple[Key, cst.CSTNode]], versions: Sequence[Mapping[Key, cst.CSTNode]], gap: int
) -> list[cst.CSTNode]:
    """The statements with the empty lines before each merged for themselves: they belong to the place, not to it."""
    found = []
    for number, (key, node) in enumerate(body):
        lines = getattr(node, "leading_lines", ())
        own = _empty(lines)
        if number:
            wanted = _merged_gap(key, versions)
            if wanted is None:  # each version that has it begins with it
                around = any(not _is_simple(each) for each in (node, body[number - 1][1]))
                wanted = _lines(gap if around else 0)
            node = node.with_changes(leading_lines=[*wanted, *lines[len(own) :]])
        elif any(key in version and key != next(iter(version)) for version in versions):  # it was not always the first
            node = node.with_changes(leading_lines=lines[len(own) :])
        found.append(node)
    return found


def _merged_gap(key: Key, versions: Sequence[Mapping[Key, cst.CSTNode]]) -> Sequence[cst.EmptyLine] | None:
    """The empty lines before a statement: what one side changed, the more of two; None where it is always the first."""
    old, our, their = (
        _empty(getattr(version[key], "leading_lines", ())) if key in version and key != next(iter(version)) else None
        for version in versions
    )
    if our is None or their is None:
        return our if their is None else their
    if old is not None and len(our) == len(old):
        return their
    return our if (old is not None and len(their) == len(old)) or len(our) >= len(their) else their


def _empty(lines: Sequence[cst.EmptyLine]) -> Sequence[cst.EmptyLine]:
    """The empty ones at the beginning."""
    return list(itertools.takewhile(lambda line: line.comment is None, lines))


def _lines(count: int) -> Sequence[cst.EmptyLine]:
    import libcst as cst

    return [cst.EmptyLine(indent=False)] * count


def _is_simple(node: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(node, cst.SimpleStatementLine)


def _pick(old: str | None, our: str | None, their: str | None) -> int:
    """Side that stands: ours (0) or theirs (1).

    Raises:
        _CannotTellError: both changed it.
    """
    if their in (old, our):
        return 0
    if our == old:
        return 1
    raise _CannotTellError


def _rewrote_the_same(old: Mapping[Key, object], our: Mapping[Key, object], their: Mapping[Key, object]) -> bool:
    """Whether both replaced a statement that is known by its text alone: then both new ones would stand there."""
    gone = [key for key in old if key[0] == "statement" and key not in our and key not in their]
    return bool(gone) and all(any(key[0] == "statement" and key not in old for key in side) for side in (our, their))
