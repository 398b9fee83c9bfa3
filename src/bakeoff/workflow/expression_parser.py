"""Expression parser: a text into a tree, in one pass and with bounded depth."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from typing import NamedTuple

from bakeoff.workflow import filters
from bakeoff.workflow.expression_nodes import (
    COMPARISONS,
    AllOf,
    AnyOf,
    Compare,
    ExpressionError,
    Filtered,
    Items,
    Literal,
    Node,
    Not,
    Path,
)

MAX_DEPTH = 64
"""Most depth of an expression; brackets, arguments, `not`s, chained comparisons and filters count."""

MAX_LENGTH = 100_000
"""Characters that one expression may have."""

_TOKEN = re.compile(
    r"""(?P<quote>'[^']*'|"[^"]*")
    |(?P<stray>['"])
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<sign>\||,|!=|==|>=|<=|>|<)
    |(?<=\s)(?P<word>or|and|not\s+in|in)(?=\s)""",
    re.VERBOSE,
)
_DIGITS = re.compile(r"[+-]?\d+")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_INDEXED = re.compile(r"([\w-]+)\[(-?\d{1,18})\]")
_CALL = re.compile(r"(\w+)\((.+)\)", re.DOTALL)


class _Token(NamedTuple):
    kind: str
    start: int
    end: int
    partner: int  # for an opening bracket: the place of its closing one in the list of tokens


def parse(text: str) -> Node:
    """The tree of an expression (the text between `{{` and `}}`).

    Raises:
        ExpressionError: it does not parse, is too long or nests too deeply.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression has {len(text):,} characters; {MAX_LENGTH:,} is the limit", text)
    return _Parser(text).range(0, len(text), 0)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._scan()
        self.starts = [token.start for token in self.tokens]

    def _scan(self) -> list[_Token]:
        tokens: list[_Token] = []
        opened: list[int] = []
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup or ""
            start, end = match.span()
            if kind == "stray":
                raise self._error("a quote is opened and never closed", start)
            if kind == "close":
                if not opened or _PAIRS[tokens[opened[-1]].kind] != match.group():
                    raise self._error(f"`{match.group()}` closes nothing", start)
                first = opened.pop()
                tokens[first] = tokens[first]._replace(partner=len(tokens))
            elif kind == "open":
                opened.append(len(tokens))
                if len(opened) > MAX_DEPTH:
                    raise self._error(f"brackets are nested more than {MAX_DEPTH} deep", start)
            tokens.append(
                _Token(kind if kind in {"quote", "close"} else " ".join(match.group().split()), start, end, -1)
            )
        if opened:
            token = tokens[opened[-1]]
            raise self._error(f"`{token.kind}` is never closed", token.start)
        return tokens

    def _error(self, reason: str, position: int) -> ExpressionError:
        return ExpressionError(reason, self.text, position)

    def _strip(self, low: int, high: int) -> tuple[int, int]:
        text = self.text
        while low < high and text[low].isspace():
            low += 1
        while high > low and text[high - 1].isspace():
            high -= 1
        return low, high

    def _top(self, low: int, high: int) -> list[_Token]:
        """The tokens of a range that stand outside its brackets and quotes."""
        found = []
        place, tokens = bisect_left(self.starts, low), self.tokens
        while place < len(tokens) and tokens[place].start < high:
            token = tokens[place]
            # A word operator needs something before it: at the start of a range the same letters are a name.
            if token.kind != "quote" and not (token.start == low and token.kind[0].isalpha()):
                found.append(token)
            place = token.partner + 1 if token.partner >= 0 else place + 1
        return found

    def _split(self, low: int, high: int, marks: list[_Token]) -> list[tuple[int, int]]:
        bounds = [low, *(edge for mark in marks for edge in (mark.start, mark.end)), high]
        return list(zip(bounds[::2], bounds[1::2], strict=True))

    def range(self, low: int, high: int, depth: int) -> Node:
        """The tree of one range of the text, operators in the order in which the language splits at them."""
        low, high = self._strip(low, high)
        if depth > MAX_DEPTH:
            raise self._error(f"the expression is nested more than {MAX_DEPTH} deep", low)
        if low == high:
            raise self._error("something is missing here", low)
        text = self.text
        if text[low] in "'\"" and text.find(text[low], low + 1) == high - 1:
            return Literal(text[low + 1 : high - 1])
        top = self._top(low, high)
        whole = len(top) == 1 and top[0].start == low and self._closes(top[0], high)
        if whole and top[0].kind == "(":
            return self.range(low + 1, high - 1, depth + 1)
        return self._operators(low, high, depth, top) or self._single(low, high, depth, whole)

    def _closes(self, token: _Token, high: int) -> bool:
        return token.partner >= 0 and self.tokens[token.partner].end == high

    def _operators(self, low: int, high: int, depth: int, top: list[_Token]) -> Node | None:
        for sign, make in (("|", None), ("or", AnyOf), ("and", AllOf)):
            marks = [token for token in top if token.kind == sign]
            if not marks:
                continue
            ranges = self._split(low, high, marks)
            if make is None:
                return self._filters(ranges, depth, [token for token in top if token.start < marks[0].start])
            return make(tuple(self.range(*part, depth + 1) for part in ranges))
        if self._is_not(low, high):
            return Not(self.range(low + 3, high, depth + 1))
        for sign in COMPARISONS:
            mark = next((token for token in top if token.kind == sign), None)
            if mark is not None:
                return Compare(sign, self.range(low, mark.start, depth + 1), self.range(mark.end, high, depth + 1))
        return None

    def _is_not(self, low: int, high: int) -> bool:
        return self.text.startswith("not", low) and low + 3 < high and self.text[low + 3].isspace()

    def _filters(self, ranges: list[tuple[int, int]], depth: int, head: list[_Token]) -> Node:
        low, high = self._strip(*ranges[0])
        sign = next((t.kind for t in head if t.kind in COMPARISONS or t.kind in {"or", "and"}), None)
        sign = "not" if self._is_not(low, high) else sign
        if sign is not None:
            reason = f"it is ambiguous whether the filter applies to an operand of `{sign}` or to its result"
            raise self._error(f"{reason}; put brackets around the part that is meant", ranges[1][0] - 1)
        if len(ranges) > MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} filters follow each other", low)
        node = self.range(low, high, depth + 1)
        for part in ranges[1:]:
            node = self._filter(node, *self._strip(*part), depth)
        return node

    def _filter(self, node: Node, low: int, high: int, depth: int) -> Node:
        segment = self.text[low:high]
        call = _CALL.fullmatch(segment)
        if segment in filters.PLAIN:
            return Filtered(segment, filters.PLAIN[segment], node, None, self.text, low)
        if call and call[1] in filters.WITH_ARGUMENT:
            inner = low + call.start(2), low + call.end(2)
            if not any(token.kind in {",", "close"} for token in self._top(*inner)):
                argument = self.range(*inner, depth + 1)
                return Filtered(call[1], filters.WITH_ARGUMENT[call[1]], node, argument, self.text, low)
        raise self._error(_filter_complaint(segment), low)

    def _single(self, low: int, high: int, depth: int, whole: bool) -> Node:
        text = " ".join(self.text[low:high].split())
        number = _number(text)
        if number is not None:
            return Literal(number)
        if _DIGITS.fullmatch(text):
            raise self._error("the number has too many digits", low)
        if text.lower() in _WORDS:
            return Literal(_WORDS[text.lower()])
        if whole and self.text[low] == "[":
            commas = [token for token in self._top(low + 1, high - 1) if token.kind == ","]
            ranges = [self._strip(*part) for part in self._split(low + 1, high - 1, commas)]
            return Items(tuple(self.range(*part, depth + 1) for part in ranges if part[0] < part[1]))
        return _path(text, low)


_WORDS = {"true": True, "false": False, "none": None, "null": None}


def _number(text: str) -> int | float | None:
    if text[0] not in "+-." and not text[0].isdigit():
        return None
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return None


def _path(text: str, position: int) -> Path:
    name, *rest = text.split(".")
    steps: list[str | int] = []
    indexed = _INDEXED.fullmatch(name)
    if indexed:
        name = indexed[1]
        steps.append(int(indexed[2]))
    for part in rest:
        indexed = _INDEXED.fullmatch(part)
        steps.extend((indexed[1], int(indexed[2])) if indexed else (part,))
    return Path(text, name, tuple(steps), position)


def _filter_complaint(segment: str) -> str:
    name = re.match(r"\w*", segment)[0]  # type: ignore[index]
    if name in filters.WITH_ARGUMENT:
        optional = " or no argument" if name in filters.PLAIN else ""
        return f"the filter `{name}` takes one argument{optional}, and nothing may follow: `| {segment[:40]}`"
    if name in filters.PLAIN:
        return f"the filter `{name}` takes no argument, and nothing may follow it: `| {segment[:40]}`"
    close = difflib.get_close_matches(name, filters.NAMES, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(filters.NAMES)}"
    return f"unknown filter `{name or segment[:40]}`; {hint}"
