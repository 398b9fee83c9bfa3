"""Tokens of a small rule language: `discount = price * 0.1 if member and total >= 100 # note`."""

from __future__ import annotations

import re
from dataclasses import dataclass

KEYWORDS = ["if", "else", "and", "or", "not", "in"]
OPERATORS = ["==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "(", ")", "[", "]", ",", "."]
NUMBER = r"\d+(\.\d+)?"
NAME = r"[A-Za-z_]\w*"


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int
    column: int


class RuleSyntaxError(ValueError):
    pass


def tokenize(source: str) -> list[Token]:
    """Return the tokens of a source; lines and columns count from 1, comments and blanks are left out.

    Raises RuleSyntaxError, with the place, for a character that starts no token and for a string without an end.
    """
    tokens: list[Token] = []
    rest = source
    while rest:
        consumed = source[: len(source) - len(rest)]
        line = len(consumed.split("\n"))
        column = len(consumed.split("\n")[-1]) + 1
        if rest[0] in " \t\r\n":
            rest = rest[1:]
            continue
        if rest[0] == "#":
            end = rest.find("\n")
            rest = rest[end:] if end >= 0 else ""
            continue
        if rest[0] in "'\"":
            end = rest.find(rest[0], 1)
            if end < 0 or "\n" in rest[:end]:
                raise RuleSyntaxError(f"line {line}, column {column}: string without an end")
            tokens.append(Token("string", rest[1:end], line, column))
            rest = rest[end + 1 :]
            continue
        number = re.match(NUMBER, rest)
        name = re.match(NAME, rest)
        operators = sorted([op for op in OPERATORS if rest.startswith(op)], key=len)
        if number:
            tokens.append(Token("number", number.group(), line, column))
        elif name:
            kind = "keyword" if name.group() in KEYWORDS else "name"
            tokens.append(Token(kind, name.group(), line, column))
        elif operators:
            tokens.append(Token("operator", operators[-1], line, column))
        else:
            raise RuleSyntaxError(f"line {line}, column {column}: unexpected {rest[0]!r}")
        rest = rest[len(tokens[-1].text) :]
    return tokens


def names_used(source: str) -> list[str]:
    """Return the names of a source in alphabetical order."""
    return sorted({token.text for token in tokenize(source) if token.kind == "name"})
