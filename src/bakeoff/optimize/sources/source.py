"""Protocol of a source of candidates, and the context that it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.target import Target


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line of a line profile.

    Attributes:
        line: its number in the file, from 1.
        hits: how often it ran.
        seconds: how long that took together.
        text: the line.
    """

    line: int
    hits: int
    seconds: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """Context of the target; all but the first two may be unknown.

    Attributes:
        target: what is optimised.
        source: the bytes of its file.
        definition: its text.
        helpers: texts of definitions of its module that it uses, by qualified name.
        callers: texts of functions of the project that call it.
        tests: what its tests do, as text.
        profile: where its time goes.
        argument_types: types that were seen for each parameter: `{"xs": ("list[int]",)}`.
        bench: the command that is timed; empty where the target itself is.
        speeds: how fast candidates are that were measured, in words, by their id.
    """

    target: Target
    source: bytes
    definition: str = ""
    helpers: Mapping[str, str] = field(default_factory=dict)
    callers: Sequence[str] = ()
    tests: str = ""
    profile: Sequence[ProfileLine] = ()
    argument_types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bench: str = ""
    speeds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """A candidate that behaves otherwise, and how.

    Attributes:
        candidate: what was judged.
        differences: what the judge saw, never empty: nothing is repaired where there is nothing to show.
    """

    candidate: Candidate
    differences: Sequence[Any]


class Source(Protocol):
    """Gives candidates as they come, so that whoever asks judges the first while a slow model writes the last.

    Every method is an async generator, and may give nothing. Closing it, or cancelling the one who awaits it, ends
    whatever it has begun. Failures that are the source's own are raised as BakeoffError; the candidates that came
    before count all the same.

    Attributes:
        name: stands on the record.
        reads: what of the context it waits for: `profile`; `calls` (`tests`, `argument_types`); `code` (`helpers`,
            `callers`).
    """

    name: str
    reads: frozenset[str]

    def propose(self, context: Context) -> AsyncIterator[Candidate]:
        """First candidates."""
        ...

    def repair(self, context: Context, failures: Sequence[Failure]) -> AsyncIterator[Candidate]:
        """Others in place of those that failed, asked for together; each names its `parent`."""
        ...

    def refine(
        self, context: Context, winners: Sequence[Candidate], profile: Sequence[ProfileLine]
    ) -> AsyncIterator[Candidate]:
        """Better ones than those that were found faster; `profile` is of the best of them."""
        ...

    def adapt(self, context: Context, lineage: Sequence[Candidate]) -> AsyncIterator[Candidate]:
        """Another one at the end of a line of refinements, the oldest first."""
        ...
