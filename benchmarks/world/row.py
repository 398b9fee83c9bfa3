"""A row of the table: what was tried on a real project, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was tried.

    Attributes:
        job: what was tried.
        right: whether the result was the right one; None where the project has nothing to try it on, for the reason
            in `note`.
        seconds: wall time.
        ratio: `seconds` by the time that the same takes by hand; None where there is no such thing.
        note: what was compared, or what was wrong.
    """

    job: str
    right: bool | None
    seconds: float
    ratio: float | None = None
    note: str = ""

    def text(self) -> str:
        """The row as a line of the table."""
        verdict = {True: "right", False: "WRONG", None: "none"}[self.right]
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}x"
        return f"  {self.job:<22} {verdict:<6} {self.seconds:7.1f} s {ratio:>7}  {' '.join(self.note.split())[:300]}"
