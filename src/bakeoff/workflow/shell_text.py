"""Reads the text of a `run` as a shell would, to know between which quotes its `{{ }}` stand."""

from __future__ import annotations

import re

from bakeoff.workflow.expressions import Block, Template

PLAIN = "plain"
_BLOCK = "\ue000"
_HEREDOC = re.compile(r"""<<(-?)[ \t]*((?:'[^']*'|"[^"]*"|\\.|[^\s;&|()<>'"\\])+)""")
# The bracket that ends arithmetic, in which `<<` shifts.
_ARITHMETIC = ")arithmetic"
_WORD_START = " \t\n;&|("


def surroundings(template: Template) -> list[tuple[Block, str]]:
    """Each block with what it stands in: `plain`, or words such as `inside "..."` that say why quoting fails there."""
    parts = template.parts
    text = "".join(part if isinstance(part, str) else _BLOCK for part in parts)
    places: dict[int, Block] = {}
    offset = 0
    for part in parts:
        if isinstance(part, Block):
            places[offset] = part
        offset += len(part) if isinstance(part, str) else 1
    return _Reader(text, places).read()


class _Reader:
    """Walks the text once; `modes` is the stack of what is open: a quote, or the bracket that ends a command."""

    def __init__(self, text: str, places: dict[int, Block]) -> None:
        self.text, self.places = text, places
        self.modes: list[str] = [""]
        self.heredocs: list[tuple[str, bool]] = []
        self.found: list[tuple[Block, str]] = []

    def read(self) -> list[tuple[Block, str]]:
        place = 0
        while place < len(self.text):
            place = self._step(place, self.text[place])
        return self.found

    def _note(self, place: int, where: str) -> None:
        if place in self.places:
            self.found.append((self.places[place], where))

    def _note_all(self, start: int, end: int, where: str) -> None:
        at = self.text.find(_BLOCK, start, end)
        while at >= 0:
            self._note(at, where)
            at = self.text.find(_BLOCK, at + 1, end)

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
        self.modes.pop()
        return len(self.text) if end < 0 else end + 1

    def _double(self, place: int, sign: str) -> int:
        self._note(place, 'inside "..."')
        if sign == '"':
            self.modes.pop()
        elif self.text.startswith("$(", place):
            return self._substitution(place)
        elif sign == "`":
            self.modes.append("`")
        return place + 1

    def _substitution(self, place: int) -> int:
        if self.text.startswith("$((", place):
            self.modes += [_ARITHMETIC, _ARITHMETIC]
            return place + 3
        self.modes.append(")")
        return place + 2

    def _command(self, place: int, sign: str) -> int:
        self._note(place, PLAIN)
        if sign in "'\"":
            self.modes.append(sign)
        elif sign == self.modes[-1][:1]:
            self.modes.pop()
        elif self.text.startswith("$(", place):
            return self._substitution(place)
        elif sign == "`" or sign == "(":
            self.modes.append("`" if sign == "`" else ")")
        elif sign == "#" and (place == 0 or self.text[place - 1] in _WORD_START):
            end = self.text.find("\n", place)
            end = len(self.text) if end < 0 else end
            self._note_all(place, end, "inside a comment")
            return end
        elif sign == "<":
            return self._redirection(place)
        elif sign == "\n" and self.heredocs:
            return self._bodies(place + 1)
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
