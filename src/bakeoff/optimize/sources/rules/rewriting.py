"""Statements of a text replaced by others; what else stands there stays as it is, and so do comments."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from itertools import pairwise

from bakeoff.optimize.source_code.definitions import blocks, statement_start
from bakeoff.optimize.source_code.indentation import lines_in_strings, reindented
from bakeoff.optimize.source_code.python_file import PythonFile, parse
from bakeoff.optimize.sources.rules.rule import Replacement

Span = tuple[int, int, str]
"""First and last statement of a block, by number, and the text in their place."""


class UnfitError(Exception):
    """The replacements cannot be carried out together; the proposal is dropped."""


def rewritten(file: PythonFile, replacements: Iterable[Replacement]) -> str:
    """The text of a file with statements of its syntax tree replaced.

    Raises:
        UnfitError: replacements overlap, are not of one block, or one is of an `elif`; or the result is no Python.
    """
    every = [file.tree.body, *(block for each in ast.walk(file.tree) for block in _blocks(each))]
    places = {id(each): (number, at) for number, block in enumerate(every) for at, each in enumerate(block)}
    spans: dict[int, list[Span]] = {}
    for statements, new in replacements:
        found = [places.get(id(each)) for each in statements]
        if not found or found[0] is None or found[-1] is None or found[0][0] != found[-1][0]:
            raise UnfitError
        spans.setdefault(found[0][0], []).append((found[0][1], found[-1][1], new))
    edits = sorted(edit for number, mine in spans.items() for edit in _edits(file, every[number], sorted(mine)))
    if any(one[1] > other[0] for one, other in pairwise(edits)):
        raise UnfitError
    result = file.edited(edits).text
    try:
        parse(result)
    except SyntaxError as failure:
        raise UnfitError from failure
    return result


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    return blocks(node) if isinstance(node, ast.stmt) else iter(())


def _edits(file: PythonFile, block: list[ast.stmt], spans: list[Span]) -> Iterator[Span]:
    """Offsets and new text for each row of statements that share lines with replaced ones.

    Raises:
        UnfitError: replacements overlap.
    """
    if any(one[1] >= other[0] for one, other in pairwise(spans)):
        raise UnfitError
    while spans:
        first, last, _ = spans[0]
        while first and block[first - 1].end_lineno == block[first].lineno:
            first -= 1
        while last + 1 < len(block) and (
            block[last + 1].lineno == block[last].end_lineno or any(one <= last + 1 <= two for one, two, _ in spans)
        ):
            last += 1
        mine = [each for each in spans if each[0] <= last]
        spans = spans[len(mine) :]
        yield _edit(file, block, (first, last), mine)


def _edit(file: PythonFile, block: list[ast.stmt], row: tuple[int, int], spans: list[Span]) -> Span:
    """Offsets and new text of one row, each statement on a line of its own.

    Raises:
        UnfitError: it is an `elif`.
    """
    start, end = statement_start(file, block[row[0]]), file.span(block[row[1]])[1]
    begin = file.line_start(file.line_of(start))
    lead, (tail, _, _) = file.text[begin:start], file.text[end:].partition("\n")
    if file.text.startswith("elif", start):
        raise UnfitError
    indentation, prefix = lead, ""
    if lead.strip():  # `if x: return`
        header = lead[: len(lead) - len(lead.lstrip(" \t"))]
        indentation = header + ("\t" if header.startswith("\t") else "    ")
        start, prefix = begin + len(lead.rstrip()), f"\n{indentation}"
    stop = end + len(tail)
    pieces = {at: file.text[slice(*file.span(block[at]))] for at in range(row[0], row[1] + 1)}
    comments = _comments(file)
    for first, last, new in spans:
        place = range(file.span(block[first])[0], stop if last == row[1] else file.span(block[last])[1])
        kept = [text for at, text in comments if at in place and text not in new] if new else []
        text = "\n".join([*kept, new])
        pieces |= dict.fromkeys(range(first, last + 1), "")
        pieces[first] = reindented(text, "", indentation, lines_in_strings(f"{text}\n"))
    lines = [each for each in pieces.values() if each]
    if not lines and row != (0, len(block) - 1):
        return begin, min(stop + 1, len(file.text)), ""
    if all(last < row[1] for _, last, _ in spans):
        stop = end  # what stands behind the last one stays
    return start, stop, prefix + f"\n{indentation}".join(lines or ["pass"])


def _comments(file: PythonFile) -> list[tuple[int, str]]:
    """All comments with their offsets."""
    tokens = tokenize.generate_tokens(io.StringIO(file.text).readline)
    found = [each for each in tokens if each.type == tokenize.COMMENT]
    return [(file.line_start(each.start[0]) + each.start[1], each.string) for each in found]
