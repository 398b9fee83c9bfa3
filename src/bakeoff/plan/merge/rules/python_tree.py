"""Python as a tree of logical lines: blocks by indentation, decorators with what they decorate, comments as they stand.

It needs no parser, so it reads any Python, old ones too.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from bakeoff.plan.merge.rules.node import Meaning, Node, UndecidedError

STRING = (
    r"(?i:[rbuf]{0,2})"
    r"(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
)

TOKEN = re.compile(
    rf"(?P<string>{STRING})|(?P<comment>\#[^\n]*)|(?P<blank>\s+|\\\n)|(?P<word>\w+)"
    r"|(?P<sign>->|:=|\.\.\.|\*\*=?|//=?|>>=?|<<=?|[-+*/%&|^@=<>!]=|.)",
    re.DOTALL,
)
"""The words of Python, near enough to compare two texts by."""

_BREAK = re.compile(rf"{STRING}|\#[^\n]*|\\\n|[\[({{\])}}\n]", re.DOTALL)

_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b")
_MAY_CONTINUE = re.compile(r"(?:if|for|while|try|async\s+for)\b")
_DEFINITION = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")
_FROM = re.compile(r"from\s+([.\w]+)\s+import\b")
_IMPORT = re.compile(r"import\s+(\w[\w.]*)\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?::[^=\n]+)?=(?!=)")


@dataclass(slots=True)
class _Line:
    """One logical line, or one of comment alone."""

    gap: str
    indent: str
    text: str
    comment: bool


def _lines(text: str) -> Iterator[_Line]:
    """Logical lines with the empty ones before each; the last one is empty.

    Raises:
        UndecidedError: it ends within brackets.
    """
    start, depth, gap, position = 0, 0, "", 0
    while position < len(text):
        found = _BREAK.search(text, position)
        if found is None:
            raise UndecidedError
        position = found.end()
        match found[0]:
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth = max(0, depth - 1)
            case "\n":
                if depth:
                    continue
                line = text[start:position]
                start = position
                stripped = line.lstrip(" \t\f")
                if stripped == "\n":
                    gap += line
                    continue
                yield _Line(gap, line[: len(line) - len(stripped)], stripped, stripped.startswith("#"))
                gap = ""
    if start < len(text):
        raise UndecidedError  # within brackets
    yield _Line(gap, "", "", False)


class _Reader:
    """Builds the tree."""

    def leaf(self, line: _Line, kind: str = "leaf") -> Node:
        return Node(line.gap, line.indent, line.text, meaning_of(line.text), label_of(line.text), kind)

    def module(self, text: str) -> Node:
        lines = list(_lines(text))
        end = lines.pop()
        body, at = self.block(_Block(lines), "", 0)
        if at < len(lines):
            raise UndecidedError
        last = Node(end.gap, label="end of file", kind="end", meaning="end")
        return Node(kind="module", body=[*body, last]).settle()

    def block(self, block: _Block, indent: str, at: int) -> tuple[list[Node], int]:
        """Siblings indented by `indent` from line `at` on, and the line behind them.

        Raises:
            UndecidedError: its indentation is irregular.
        """
        found: list[Node] = []
        decorators: list[Node] = []
        lines = block.lines
        while at < len(lines):
            line = lines[at]
            if line.comment:
                if not block.holds_comment(at, indent):
                    break
                regular = line.indent == indent
                node = self.leaf(line, "comment" if regular else "stray")
                (decorators if decorators else found).append(node)
                at += 1
                continue
            if line.indent != indent:
                if len(line.indent) > len(indent):
                    raise UndecidedError
                break
            leaf = self.leaf(line)
            at += 1
            if line.text.startswith("@"):
                decorators.append(leaf.with_changes(kind="decorator", label=""))
                continue
            at = self.statement(block, leaf, decorators, found, at)
            decorators = []
        if decorators:
            raise UndecidedError
        return found, at

    def statement(self, block: _Block, leaf: Node, decorators: list[Node], found: list[Node], at: int) -> int:
        """Put the statement that `leaf` begins among its siblings; the line behind it.

        Raises:
            UndecidedError: it continues nothing.
        """
        inner = block.inner(at)
        body: list[Node] | None = None
        if inner is not None and len(inner) > len(leaf.indent) and inner.startswith(leaf.indent):
            body, at = self.block(block, inner, at)
        continues, may = _CONTINUES.match(leaf.text), _MAY_CONTINUE.match(leaf.text)
        if body is None and not decorators and not continues and not may:
            found.append(leaf)
            return at
        definition = _DEFINITION.match(leaf.text)
        label = f"definition {definition[1]}" if definition else _branch(leaf.text)
        first = decorators[0] if decorators else leaf
        heads = [*decorators, leaf.with_changes(label="", kind="head")]
        heads[0] = heads[0].with_changes(gap="")
        step = inner.removeprefix(leaf.indent) if body and inner is not None else ""
        kind = "definition" if definition else "clause" if may or continues else "block"
        node = Node(first.gap, leaf.indent, kind=kind, label=label, heads=heads, body=body or [], step=step).settle()
        if continues:
            if not found or found[-1].kind != "compound":
                raise UndecidedError
            assert found[-1].body is not None
            found[-1].body.append(node)
            found[-1].settle()
        elif may:
            inside = node.with_changes(gap="")
            found.append(Node(node.gap, leaf.indent, kind="compound", body=[inside]).settle())
        else:
            found.append(node)
        return at


def _branch(text: str) -> str:
    """What a branch of a compound statement is known by: its condition, the same for `if` and `elif`."""
    found = meaning_of(text.removeprefix("el") if re.match(r"elif\b", text) else text)
    words = str(found).partition("\0#")[0].split("\0")
    return f"branch {' '.join(words).removesuffix(' :')}"


@dataclass(slots=True)
class _Block:
    """Lines, with a look ahead."""

    lines: list[_Line]

    def inner(self, at: int) -> str | None:
        """Indentation of the next line that is no comment."""
        after = self._after(at)
        return None if after is None else after.indent

    def holds_comment(self, at: int, indent: str) -> bool:
        """Whether a comment belongs to the block that is indented so: by its own place, or before what follows."""
        line = self.lines[at]
        after = self._after(at)
        if after is None:
            return len(line.indent) >= len(indent)
        if len(after.indent) >= len(indent):
            return True
        if _CONTINUES.match(after.text) and len(line.indent) <= len(after.indent):
            return True  # it would part `else` from its `if`
        return len(line.indent) >= len(indent)

    def _after(self, at: int) -> _Line | None:
        """The first line from there on that is no comment."""
        while at < len(self.lines) and self.lines[at].comment:
            at += 1
        return self.lines[at] if at < len(self.lines) else None


@lru_cache(maxsize=1 << 16)
def meaning_of(text: str) -> Meaning:
    """The words of a statement, without blanks and commas before a closing bracket, and its comments."""
    words: list[str] = []
    comments: list[str] = []
    for token in TOKEN.finditer(text):
        word = token[0]
        match token.lastgroup:
            case "blank":
                continue
            case "comment":
                comments.append(word.rstrip())
                continue
            case "string":
                word = _plain_string(word)
        if word in (")", "]", "}") and words[-1:] == [","] and _is_trailing(words, word):
            words.pop()
        words.append(word)
    return "\0".join(words) + ("\0#" + "\0".join(comments) if comments else "")


def _plain_string(word: str) -> str:
    """The string in double quotes, where that is the same string."""
    quote = word[-1]
    if quote == "'" and not word.endswith("'''") and '"' not in word and "\\" not in word:
        return word.replace("'", '"')
    return word


def _is_trailing(words: list[str], closing: str) -> bool:
    """Whether the last comma says nothing: in `(x,)` it makes a tuple."""
    if closing != ")":
        return closing == "}" or not _is_subscript(words)
    depth, commas = 0, 0
    for number in range(len(words) - 2, -1, -1):
        word = words[number]
        if word in (")", "]", "}"):
            depth += 1
        elif word in ("(", "[", "{"):
            if not depth:
                before = words[number - 1] if number else ""
                called = before in (")", "]") or (before[:1].isidentifier() and before not in _KEYWORDS)
                return called or commas > 0 or before == "import"
            depth -= 1
        elif word == "," and not depth:
            commas += 1
    return False


def _is_subscript(words: list[str]) -> bool:
    depth = 0
    for number in range(len(words) - 1, -1, -1):
        if words[number] in (")", "]", "}"):
            depth += 1
        elif words[number] in ("(", "[", "{"):
            if not depth:
                before = words[number - 1] if number else ""
                return before in (")", "]") or (before[:1].isidentifier() and before not in _KEYWORDS)
            depth -= 1
    return True


_KEYWORDS = frozenset({*keyword.kwlist, "print"} - {"None", "True", "False"})


def label_of(text: str) -> str:
    """What a simple statement is known by: the module it imports from, the name it binds."""
    if found := _FROM.match(text):
        return f"from {found[1]}"
    if found := _IMPORT.match(text):
        return f"import {found[1]}"
    if found := _ASSIGNED.match(text):
        return f"= {found[1]}"
    return ""


def parse_python(text: str) -> Node:
    """The tree of a module, each line of which ends in a line feed.

    Raises:
        UndecidedError: it has no such tree.
    """
    tree = _Reader().module(text)
    if tree.said() != text:
        raise UndecidedError
    return tree
