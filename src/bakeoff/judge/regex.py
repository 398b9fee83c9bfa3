"""Requirements that are regular expressions; one that runs wild is killed."""

from __future__ import annotations

import re

from bakeoff.judge.matching import match
from bakeoff.judge.requirement import Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import ValidationResult
from bakeoff.reader.reading import UnreadError, read

MATCH_SECONDS = 2.0


class RegexRequirement(Requirement):
    """The text matches `pattern`, or with `absent` does not.

    Args:
        pattern: a regular expression of Python's `re`.
        description: what it stands for.
        flags: of `re`.
        how: `search` (anywhere), `match` (at the start) or `fullmatch`.
        absent: it must not match.
        timeout: seconds of processor time, after which it is killed; the verdict is an error then.

    Raises:
        ValueError: the pattern cannot be compiled, or `how` is unknown.
    """

    def __init__(
        self,
        pattern: str,
        description: str | None = None,
        *,
        flags: int = 0,
        how: str = "search",
        absent: bool = False,
        timeout: float = MATCH_SECONDS,
        version: str = "",
    ) -> None:
        if how not in ("search", "match", "fullmatch"):
            raise ValueError(f"how is search, match or fullmatch, not {how!r}")
        try:
            re.compile(pattern, flags)
        except re.error as failure:
            raise ValueError(f"the pattern {pattern!r} cannot be compiled: {failure}") from None
        said = description or f"the text {'does not match' if absent else 'matches'} {pattern!r}"
        super().__init__(said, version=version)
        self.unmet = description or f"the text {'matches' if absent else 'does not match'} {pattern!r}"
        self.job = (pattern, int(flags), how)
        self.absent = absent
        self.seconds = timeout

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{self.job}\0{self.absent}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Match in a process of its own.

        Raises:
            RuntimeError: the worker could not do it.
        """
        pattern, flags, how = self.job
        data = subject.text.encode("utf-8", "surrogatepass")
        try:
            matched = await read(match, data, pattern, flags, how, seconds=self.seconds)
        except UnreadError as failure:
            if failure.kind == "timeout":
                return ValidationResult(False, f"{self.description}: {failure}", error="timeout")
            raise RuntimeError(f"{failure.kind}: {failure}") from None
        met = matched is not self.absent
        return ValidationResult(met, "" if met else self.unmet)
