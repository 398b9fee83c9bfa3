"""Reads the text of a `run` as a shell would, to know between which quotes its `{{ }}` stand."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection
from typing import Generic, TypeVar

from bakeoff.workflow.expressions import Block, Template
from bakeoff.workflow.programs import executor

PLAIN = "plain"
BLOCK = "\ue000"
"""Stand-in for a `{{ }}` in a text."""

_HEREDOC = re.compile(r"""<<(-?)[ \t]*((?:'[^']*'|"[^"]*"|\\.|[^\s;&|()<>'"\\])+)""")
# The bracket that ends arithmetic, in which `<<` shifts.
_ARITHMETIC = ")arithmetic"
_WORD_START = " \t\n;&|("
_COMMAND_END = ";&|\n)"
_WORD = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.DOTALL)
_QUOTED = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_NEAR = 1024
"""Characters after the beginning of a command that are split into words; more would make a long text slow."""
_LEVELS = 8
"""Substitutions around a place that are looked at; more would make a hostile text slow."""
_DOUBLE = 'inside "..."'
Mark = TypeVar("Mark")


def surroundings(template: Template) -> list[tuple[Block, str, str | None]]:
    """Each block with what it stands in, and the program that would execute it, if one would.

    What it stands in is `plain`, or words such as `inside "..."` that say why quoting fails there.
    """
    parts = template.parts
    text = with_marks(template)
    places: dict[int, Block] = {}
    offset = 0
    for part in parts:
        if isinstance(part, Block):
            places[offset] = part
        offset += len(part) if isinstance(part, str) else 1
    return _Reader(text, places).read()


def executed_variables(template: Template, names: Collection[str]) -> list[tuple[str, str]]:
    """The shell variables out of `names` whose values a command executes, each with the program that does.

    One that the text sets itself is left out.
    """
    text = with_marks(template)
    places = {
        match.start(): match[1]
        for match in _VARIABLE.finditer(text)
        if match[1] in names and not re.search(rf"(?:^|[\s;&|(]){match[1]}=", text)
    }
    found = _Reader(text, places).read() if places else ()
    return [(name, program) for name, where, program in found if program is not None and where in (PLAIN, _DOUBLE)]


def with_marks(template: Template) -> str:
    """The text with `BLOCK` for each `{{ }}`."""
    if template.is_literal:
        return str(template.source)
    return "".join(part if isinstance(part, str) else BLOCK for part in template.parts)


class _Reader(Generic[Mark]):
    """Walks the text once; `modes` is the stack of what is open: a quote, or the bracket that ends a command.

    `starts` has, for each, where the present command begins; `outer`, where a substitution stands in the command
    around it, None for what is none.
    """

    def __init__(self, text: str, places: dict[int, Mark]) -> None:
        self.text, self.places = text, places
        self.modes: list[str] = [""]
        self.starts: list[int] = [0]
        self.outer: list[int | None] = [None]
        self.heredocs: list[tuple[str, bool]] = []
        self.words: tuple[int, list[int], list[str]] = (-1, [], [])
        self.found: list[tuple[Mark, str, str | None]] = []

    def read(self) -> list[tuple[Mark, str, str | None]]:
        place = 0
        while place < len(self.text):
            place = self._step(place, self.text[place])
        return self.found

    def _note(self, place: int, where: str) -> None:
        if place in self.places:
            read = where in (PLAIN, _DOUBLE)
            self.found.append((self.places[place], where, self._executor(place) if read else None))

    def _executor(self, place: int) -> str | None:
        """The program that would execute the word at `place`, or what a substitution makes of it."""
        program = self._program(self.starts[-1], place)
        for level in range(len(self.modes) - 1, max(0, len(self.modes) - 1 - _LEVELS), -1):
            at = self.outer[level]
            if program is None and at is not None:
                program = self._program(self.starts[level - 1], at)
        return program

    def _program(self, start: int, place: int) -> str | None:
        """The program that would execute the word at `place`, by the words before it of the command at `start`."""
        if self.words[0] != start:
            text = self.text[start : start + _NEAR].replace("\\\n", "  ")
            matches = list(_WORD.finditer(text))
            words = [_QUOTED.sub(lambda quoted: "".join(quoted.groups("")), match[0]) for match in matches]
            self.words = (start, [start + match.start() for match in matches], [*words, BLOCK])
        _, offsets, words = self.words
        near = place < start + _NEAR
        return executor(words, bisect_right(offsets, place) - 1 if near else len(offsets))

    def _open(self, *modes: str, start: int | None = None, outer: int | None = None) -> None:
        for mode in modes:
            self.modes.append(mode)
            self.outer.append(outer)
            self.starts.append(self.starts[-1] if start is None else start)

    def _shut(self) -> None:
        self.modes.pop()
        self.starts.pop()
        self.outer.pop()

    def _where(self) -> str:
        """Surroundings of a command that `| sh` does not protect from."""
        if "`" in self.modes:
            return "inside `...`"
        return "inside $((...))" if _ARITHMETIC in self.modes else PLAIN

    def _note_all(self, start: int, end: int, where: str) -> None:
        at = self.text.find(BLOCK, start, end)
        while at >= 0:
            self._note(at, where)
            at = self.text.find(BLOCK, at + 1, end)

    def _step(self, place: int, sign: str) -> int:
        mode = self.modes[-1]
        if mode == "'":
            return self._single(place)
        if sign == "\\":
            self._note(place + 1, "after a backslash")
            return place + 2
        if mode == '"':
            return self._double(place, sign)
        return self._command(place, sign)

    def _single(self, place: int) -> int:
        end = self.text.find("'", place)
        self._note_all(place, len(self.text) if end < 0 else end, "inside '...'")
        self._shut()
        return len(self.text) if end < 0 else end + 1

    def _double(self, place: int, sign: str) -> int:
        self._note(place, _DOUBLE)
        if sign == '"':
            self._shut()
        elif self.text.startswith("$(", place):
            return self._substitution(place)
        elif sign == "`":
            self._open("`", start=place + 1)
        return place + 1

    def _substitution(self, place: int) -> int:
        if self.text.startswith("$((", place):
            self._open(_ARITHMETIC, _ARITHMETIC)
            return place + 3
        self._open(")", start=place + 2, outer=place)
        return place + 2

    def _command(self, place: int, sign: str) -> int:
        self._note(place, self._where())
        if sign in "'\"":
            self._open(sign)
        elif sign == self.modes[-1][:1]:
            self._shut()
        elif self.text.startswith("$(", place):
            return self._substitution(place)
        elif sign == "`" or sign == "(":
            self._open("`" if sign == "`" else ")", start=place + 1)
        elif sign == "#" and (place == 0 or self.text[place - 1] in _WORD_START):
            end = self.text.find("\n", place)
            end = len(self.text) if end < 0 else end
            self._note_all(place, end, "inside a comment")
            return end
        elif sign == "<":
            return self._redirection(place)
        elif sign in _COMMAND_END:
            after = self._bodies(place + 1) if sign == "\n" and self.heredocs else place + 1
            self.starts[-1] = after
            return after
        return place + 1

    def _redirection(self, place: int) -> int:
        if self.text.startswith("<<<", place):
            return place + 3
        match = _HEREDOC.match(self.text, place)
        if match is None or _ARITHMETIC in self.modes:
            return place + 2 if self.text.startswith("<<", place) else place + 1
        self.heredocs.append((re.sub(r"['\"\\]", "", match[2]), bool(match[1])))
        self._note_all(place, match.end(), "inside a here-document")
        return match.end()

    def _bodies(self, place: int) -> int:
        for word, indented in self.heredocs:
            tabs = r"\t*" if indented else ""
            last = re.compile(rf"^{tabs}{re.escape(word)}$", re.MULTILINE).search(self.text, place)
            end = last.end() if last else len(self.text)
            self._note_all(place, end, "inside a here-document")
            place = end
        self.heredocs.clear()
        return place
