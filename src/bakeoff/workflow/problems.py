"""Problems that validation finds, each with a place in the file, and the words they are told in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from bakeoff.errors import BakeoffError

Path: TypeAlias = tuple[str | int, ...]
"""Place in a document: keys, and indices in lists."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a workflow file.

    Attributes:
        severity: `error` or `warning`.
        message: what is wrong and what to do, without the place.
        line: from 1; 0 where the file could not be read at all.
        column: from 1.
        path: where it stands in the document, as in `steps[3].then[0].run`.
    """

    severity: str
    message: str
    line: int = 0
    column: int = 0
    path: str = ""

    def render(self, name: str) -> str:
        """One line for a person, for the file called `name`; what is no error says so."""
        where = f"{name}: line {self.line}, column {self.column}" if self.line else name
        what = "" if self.severity == "error" else f"{self.severity}: "
        return f"{where}: {what}{self.path + ': ' if self.path else ''}{self.message}"


class InvalidWorkflowError(BakeoffError):
    """A workflow file cannot be used; the text lists every problem."""

    def __init__(self, name: str, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        errors_first = sorted(self.problems, key=lambda problem: problem.severity != "error")
        super().__init__("\n".join(problem.render(name) for problem in errors_first))


def show_path(path: Path) -> str:
    """The path as people write it: `steps[3].then[0].run`."""
    text = ""
    for place, part in enumerate(path):
        if isinstance(part, int) and not isinstance(part, bool):
            text += f"[{part}]"
        else:
            name = key_name(path[: place + 1])
            text += f".{name}" if text else name
    return text


def key_name(path: Path) -> str:
    """The last key of a path as it was written: YAML 1.1 reads the bare `on` of a `retry` as the boolean true."""
    return "on" if path[-1] is True and path[-2:-1] == ("retry",) else str(path[-1])


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` for a word that is close to a known one, else nothing."""
    near = (name for name in known if abs(len(name) - len(word)) <= 3)
    close = difflib.get_close_matches(word[:100], list(islice(near, 200)), 1, 0.6)
    return f"; did you mean `{close[0]}`?" if close else ""


def quoting(value: Any) -> str:
    """Advice to quote a value that YAML does not take for text; nothing where quotes would not help."""
    if isinstance(value, bool):
        return "; put it in quotes (YAML reads a bare yes, no, on or off as a boolean)"
    return "; put it in quotes" if isinstance(value, int | float) else ""


def shown(value: Any) -> str:
    """A value as a person would name it, short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f'the text "{value if len(value) <= 40 else value[:37] + "..."}"' if value else "empty text"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"the number {value}" if len(str(value)) <= 40 else "a long number"
