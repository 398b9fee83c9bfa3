"""JUnit reports: how many tests ran, and which failed. Read event by event, in a reader process."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from bakeoff.judge.checks.runner_output import named

REPORT_LIMIT = 64 << 20
"""Bytes of a report that are read."""

DEPTH = 100
"""Elements inside each other; reports have five."""

LONGEST = 1000
"""Characters of a test's name that are kept."""

MOST_CASES = 500_000
"""Tests of one report."""


def read(data: bytes) -> dict[str, Any]:
    """The fields of `Tests` that a report tells.

    Raises:
        ValueError: it is no report; the text says why.
    """
    report = _Report()
    parser = expat.ParserCreate()
    parser.StartElementHandler = report.start
    parser.EndElementHandler = report.end
    parser.StartDoctypeDeclHandler = report.refuse  # no report has one, and its entities can be made to explode
    try:
        parser.Parse(data, True)
    except expat.ExpatError as failure:
        raise ValueError(f"it is no XML: {failure}") from None
    return report.found()


class _Report:
    """A report under way: counts and names that its elements have told so far."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.left_out: dict[str, None] = {}
        self.failing: list[str] = []
        self.ran = self.failed = self.skipped = 0
        self._depth = 0
        self._case = 0
        self._name = ""
        self._marks: set[str] = set()

    def refuse(self, *_: object) -> None:
        """Stop at a document type.

        Raises:
            ValueError: there is one.
        """
        raise ValueError("it has a document type, which no report has")

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """An element begins.

        Raises:
            ValueError: there are too many.
        """
        self._depth += 1
        if self._depth > DEPTH:
            raise ValueError("it is nested too deeply")
        if element == "testcase" and not self._case:
            if self.ran + self.skipped >= MOST_CASES:
                raise ValueError(f"it tells of more than {MOST_CASES} tests")
            name, owner = attributes.get("name") or "?", attributes.get("classname")
            self._name = (f"{owner}.{name}" if owner else name)[:LONGEST]
            self._case, self._marks = self._depth, set()
        elif self._depth == self._case + 1:
            self._marks.add(element)

    def end(self, element: str) -> None:
        """An element ends."""
        if self._depth == self._case:
            self._judge()
            self._case = 0
        self._depth -= 1

    def _judge(self) -> None:
        if "skipped" in self._marks:
            self.skipped += 1
            self.left_out[self._name] = None
            return
        self.ran += 1
        broken = "error" in self._marks  # a file that cannot be imported has a case of its own
        if broken or "failure" in self._marks:
            self.failed += 1
            self.failing.append(self._name)
        if not broken:
            self.names[self._name] = None

    def found(self) -> dict[str, Any]:
        """All of it."""
        return {
            "ran": self.ran,
            "failed": self.failed,
            "skipped": self.skipped,
            "failing": named(self.failing),
            "names": list(self.names),
            "left_out": list(self.left_out),
        }
