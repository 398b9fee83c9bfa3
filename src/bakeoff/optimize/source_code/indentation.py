"""Indentation of a piece of Python changed without touching what stands inside its strings."""

from __future__ import annotations

import io
import textwrap
import tokenize

from bakeoff.optimize.source_code.python_file import parse


def lines_in_strings(text: str) -> set[int]:
    """The lines (from 1) that begin inside a string, of a text with plain newlines.

    Raises:
        SyntaxError: it is no Python.
    """
    inside: set[int] = set()
    begins: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
            elif name in ("FSTRING_START", "TSTRING_START"):
                begins.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END"):
                inside.update(range(begins.pop() + 1, token.end[0] + 1))
    except tokenize.TokenError as failure:
        raise SyntaxError(str(failure)) from None
    return inside


def reindented(text: str, old: str, new: str, inside: set[int], first_line: int = 1) -> str:
    """The lines of `text` with the indentation `new` in place of `old`; its first line has none and gets none.

    Args:
        text: lines with plain newlines.
        old: what lines are indented by, at least, besides comments.
        new: what they shall be.
        inside: lines that begin inside a string: they stay.
        first_line: the number that the first line of `text` has in `inside`.
    """
    lines = text.split("\n")
    for at, line in enumerate(lines[1:], 1):
        if first_line + at in inside or not line.strip():
            continue
        lines[at] = new + (line[len(old) :] if line.startswith(old) else line.lstrip(" \t\f"))
    return "\n".join(lines)


def dedented(text: str) -> str:
    """A piece of Python, perhaps cut out of a class, with plain newlines and no common indentation.

    Raises:
        SyntaxError: it is no Python at any depth.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if not text.endswith("\n"):
        text += "\n"
    try:
        parse(text)
    except SyntaxError:
        body = text.lstrip("\n")
        old = body[: len(body) - len(body.lstrip(" \t"))]
        if not old:
            raise
        wrapped = "if 1:\n" + text
        parse(wrapped)
        inside = {line - 1 for line in lines_in_strings(wrapped)}
        text = reindented("\n" + text, old, "", {line + 1 for line in inside})[1:]
        try:
            parse(text)
        except SyntaxError:  # comments to the left of it all
            text = textwrap.dedent(text)
            parse(text)
    return text
