"""Replacements carried out with libcst, which keeps indentation, comments and whatever else is not replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from bakeoff.optimize.sources.rules.rule import Replacement

if TYPE_CHECKING:
    import libcst as cst

    Block = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite


class UnfitError(Exception):
    """The replacements cannot be carried out together; the proposal is dropped."""


@dataclass
class _Place:
    """Which small or compound statement of which block is which statement of the syntax tree."""

    block: Block
    index: int


@dataclass
class _Edits:
    """Edits of one block: first and last statement to replace, and the new ones."""

    spans: list[tuple[int, int, str]] = field(default_factory=list)


def rewritten(text: str, tree: ast.Module, replacements: Iterable[Replacement]) -> str:
    """The text of a module with statements of its syntax tree replaced.

    Raises:
        UnfitError: replacements overlap, or one is of an `elif`.
    """
    import libcst as cst

    module = cst.parse_module(text)
    places: dict[int, _Place] = {}
    _pair(tree.body, module, places)
    blocks: dict[int, _Edits] = {}
    for statements, new in replacements:
        found = [places.get(id(each)) for each in statements]
        if not found or None in found:
            raise UnfitError
        first, last = found[0], found[-1]
        assert first is not None
        assert last is not None
        if first.block is not last.block:
            raise UnfitError
        blocks.setdefault(id(first.block), _Edits()).spans.append((first.index, last.index, new))
    for edits in blocks.values():
        edits.spans.sort()
        if any(one[1] >= other[0] for one, other in pairwise(edits.spans)):
            raise UnfitError
    return module.visit(_transformer(module, blocks)).code


def _transformer(module: cst.Module, blocks: dict[int, _Edits]) -> cst.CSTTransformer:
    import libcst as cst

    class Transformer(cst.CSTTransformer):
        def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
            return cast(cst.Module, self._edited(original_node, updated_node))

        def leave_IndentedBlock(
            self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
        ) -> cst.BaseSuite:
            return cast(cst.BaseSuite, self._edited(original_node, updated_node))

        def leave_SimpleStatementSuite(
            self, original_node: cst.SimpleStatementSuite, updated_node: cst.SimpleStatementSuite
        ) -> cst.BaseSuite:
            if id(original_node) not in blocks:
                return updated_node
            line = cst.SimpleStatementLine(updated_node.body, trailing_whitespace=updated_node.trailing_whitespace)
            return cast(cst.BaseSuite, self._edited(original_node, cst.IndentedBlock([line])))

        def _edited(self, original: Any, updated: Any) -> Any:
            edits = blocks.get(id(original))
            if edits is None:
                return updated
            units = _units(updated.body)
            for first, last, new in reversed(edits.spans):
                units[first : last + 1] = _statements(module, units[first : last + 1], new)
            return updated.with_changes(body=units or _statements(module, [], "pass"))

    return Transformer()


def _units(body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The statements of a block with one statement a line."""
    import libcst as cst

    units: list[cst.BaseStatement] = []
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) > 1:
            for at, small in enumerate(statement.body):
                line = cst.SimpleStatementLine([small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
                if at == 0:
                    line = line.with_changes(leading_lines=statement.leading_lines)
                if at == len(statement.body) - 1:
                    line = line.with_changes(trailing_whitespace=statement.trailing_whitespace)
                units.append(line)
        else:
            units.append(statement)
    return units


def _statements(module: cst.Module, old: Sequence[cst.BaseStatement], text: str) -> list[cst.BaseStatement]:
    """New statements that keep the comments of the old ones above them.

    Raises:
        UnfitError: the text is none of Python.
    """
    import libcst as cst
    from libcst import matchers

    try:
        new = list(cst.parse_module(text + "\n", module.config_for_parsing).body)
    except cst.ParserSyntaxError as error:
        raise UnfitError from error
    if not new:
        return []
    lines: list[cst.EmptyLine] = []
    for statement in old:
        above = getattr(statement, "leading_lines", ())
        for comment in matchers.findall(statement, matchers.Comment()):
            assert isinstance(comment, cst.Comment)
            known = comment.value in text or any(each.comment and each.comment.value == comment.value for each in above)
            if not known:
                lines.append(cst.EmptyLine(comment=comment))
        if statement is old[0]:
            lines[:0] = above
        else:
            lines += [each for each in above if each.comment and each.comment.value not in text]
    return [new[0].with_changes(leading_lines=lines), *new[1:]]


def _pair(statements: Sequence[ast.stmt], block: Block, places: dict[int, _Place]) -> None:
    """Find the statements of a syntax tree in libcst's: both hold them in the same order."""
    import libcst as cst

    flat: list[cst.CSTNode] = []
    if isinstance(block, cst.SimpleStatementSuite):
        flat = list(block.body)
    else:
        for each in block.body:
            flat += each.body if isinstance(each, cst.SimpleStatementLine) else [each]
    for index, (statement, node) in enumerate(zip(statements, flat, strict=True)):
        places[id(statement)] = _Place(block, index)
        _pair_inside(statement, node, places)


def _pair_inside(statement: ast.stmt, node: cst.CSTNode, places: dict[int, _Place]) -> None:
    import libcst as cst

    if isinstance(statement, ast.Match):
        assert isinstance(node, cst.Match)
        for case, theirs in zip(statement.cases, node.cases, strict=True):
            _pair(case.body, theirs.body, places)  # type: ignore[arg-type]
        return
    body = getattr(statement, "body", None)
    if not body:
        return
    _pair(body, node.body, places)  # type: ignore[attr-defined]
    for handler, theirs in zip(getattr(statement, "handlers", ()), getattr(node, "handlers", ()), strict=True):
        _pair(handler.body, theirs.body, places)
    orelse = getattr(node, "orelse", None)
    if isinstance(orelse, cst.If):
        _pair_inside(statement.orelse[0], orelse, places)  # type: ignore[attr-defined]
    elif orelse is not None:
        _pair(statement.orelse, orelse.body, places)  # type: ignore[attr-defined]
    final = getattr(node, "finalbody", None)
    if final is not None:
        _pair(statement.finalbody, final.body, places)  # type: ignore[attr-defined]
