"""A file of Python as text with offsets, such that what is not edited stays the same bytes."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line with its end, as Python's tokenizer sees lines; `str.splitlines` splits at form feeds, too."""


@dataclass(frozen=True)
class PythonFile:
    """The source of a module.

    Attributes:
        text: decoded, with its own line ends and without a byte order mark.
        encoding: as its cookie or byte order mark says.
        mark: the byte order mark, or nothing.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @classmethod
    def read(cls, source: bytes) -> PythonFile:
        """Decode `source`.

        Raises:
            SyntaxError: its encoding is unknown, or its bytes are not of it.
        """
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        mark = codecs.BOM_UTF8 if source.startswith(codecs.BOM_UTF8) else b""
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        try:
            file = cls(source[len(mark) :].decode(encoding), encoding, mark)
            same = file.encoded() == source
        except UnicodeError as failure:
            raise SyntaxError(f"the file is not {encoding}: {failure}") from None
        if not same:
            raise SyntaxError(f"decoding the file as {encoding} and encoding it again gives other bytes")
        return file

    def encoded(self) -> bytes:
        """The bytes of the file; fails with UnicodeEncodeError where the encoding has no such characters."""
        return self.mark + self.text.encode(self.encoding)

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree. Passes on SyntaxError, also for what is nested too deeply."""
        return parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """Its lines with their ends."""
        return LINE.findall(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def line_start(self, line: int) -> int:
        """The offset in `text` at which a line (from 1) starts; that of the end for the line after the last."""
        return self._starts[min(line - 1, len(self._starts) - 1)]

    def line_of(self, offset: int) -> int:
        """The line (from 1) that the offset stands in."""
        return max(1, min(bisect_right(self._starts, offset), len(self.lines)))

    def offset(self, line: int, column: int) -> int:
        """The offset in `text` of a position as syntax trees give it: columns are bytes of UTF-8."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return self.line_start(line) + (column if text.isascii() else len(text.encode()[:column].decode()))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Offsets in `text` of a node's begin and end; decorators are not part of it."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def byte_offset(self, offset: int) -> int:
        """The same place in the encoded file."""
        return len(self.mark) + len(self.text[:offset].encode(self.encoding))

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses most; a newline where it has none."""
        ends = re.findall(r"\r\n|\r|\n", self.text)
        return max(("\n", "\r\n", "\r"), key=ends.count)

    def edited(self, edits: Iterable[tuple[int, int, str]]) -> PythonFile:
        """A copy with spans of `text` replaced; they must not overlap, and are given in any order."""
        text, end = self.text, len(self.text) + 1
        for start, stop, new in sorted(edits, reverse=True):
            assert start <= stop <= end
            text, end = text[:start] + new + text[stop:], start
        return PythonFile(text, self.encoding, self.mark)


def parse(text: str | bytes) -> ast.Module:
    """A syntax tree, whatever the text warns of; of bytes by the encoding that they declare.

    Raises:
        SyntaxError: it is no Python, or nested too deeply for this interpreter.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as failure:
        raise SyntaxError(str(failure) or type(failure).__name__) from None
