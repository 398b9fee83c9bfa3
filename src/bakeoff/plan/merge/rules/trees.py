"""Files merged as trees: Python by statement, prose by section and paragraph, lists by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bakeoff.plan.merge.hunks import Texts
from bakeoff.plan.merge.rules.guards import check_python, check_words
from bakeoff.plan.merge.rules.node import Node, UndecidedError
from bakeoff.plan.merge.rules.python_grammar import PythonGrammar
from bakeoff.plan.merge.rules.python_tree import parse_python
from bakeoff.plan.merge.rules.text_tree import TextGrammar, parse_lines, parse_prose

_MARKER = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A merged text.

    Attributes:
        content: the file.
        chosen: what was chosen, in words, where the trees alone do not tell; empty where they commute.
    """

    content: bytes
    chosen: tuple[str, ...] = ()


def merge_tree(form: str, texts: Texts) -> Outcome | None:
    """The merged file of the form `python`, `prose`, `list` or `lines`; None where both changed the same thing."""
    try:
        raw = [text.decode() for text in (texts.base, texts.ours, texts.theirs)]
        plain, ending = _plain(raw)
        text, chosen = _merged(form, plain)
        if _MARKER.search(text):
            return None  # it stood in the base, as where people merged several ways before
    except (UndecidedError, ValueError, RecursionError, MemoryError):
        return None
    return Outcome(ending(text).encode(), tuple(sorted(chosen)))


def _merged(form: str, texts: list[str]) -> tuple[str, set[str]]:
    parse, grammar = _language(form)
    if form in ("prose", "list") and not texts[0].strip():
        raise UndecidedError  # two texts of one name
    base, ours, theirs = (parse(text) for text in texts)
    found = grammar.merge.node(base, ours, theirs)
    merged = found.said()
    check_words(texts, merged)
    chosen = set(check_python((base, ours, theirs), found)) if form == "python" else set()
    return merged, grammar.merge.chosen | chosen


def _language(form: str) -> tuple[Callable[[str], Node], PythonGrammar | TextGrammar]:
    match form:
        case "python":
            return parse_python, PythonGrammar()
        case "prose":
            return parse_prose, TextGrammar(touching=True, union=True)
        case "list":
            return parse_lines, TextGrammar(touching=True, union=True, listed=True)
        case _:
            return parse_lines, TextGrammar(touching=True, union=False)


def _plain(texts: list[str]) -> tuple[list[str], Callable[[str], str]]:
    """Texts with line feeds alone, the last line too, and what puts back how lines ended. Raises UndecidedError."""
    ends = [_ending(text) for text in texts]
    open_end = [bool(text) and not text.endswith("\n") for text in texts]
    old, our, their = ends
    end = their if our == old else our
    last = open_end[2] if open_end[1] == open_end[0] else open_end[1]
    plain = [
        text.replace("\r\n", "\n") + ("\n" if unfinished else "")
        for text, unfinished in zip(texts, open_end, strict=True)
    ]
    return plain, partial(_as_it_was, end, last)


def _as_it_was(end: str, unfinished: bool, text: str) -> str:
    return (text.removesuffix("\n") if unfinished else text).replace("\n", end)


def _ending(text: str) -> str:
    """How its lines end.

    Raises:
        UndecidedError: some in one way, some in another.
    """
    carriage = text.count("\r")
    if not carriage:
        return "\n"
    if carriage != text.count("\r\n") or carriage != text.count("\n"):
        raise UndecidedError
    return "\r\n"
