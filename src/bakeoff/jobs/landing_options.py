"""Options of landing: what is done with the result of a session."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bakeoff.errors import BakeoffError


@dataclass(frozen=True, slots=True)
class LandingOptions:
    """Options of one session's landing.

    Attributes:
        apply: its changes are written into the user's files.
        branch: a branch of this name is made of it.
        with_tests: with its own changes to tests.
        diff: its diff is printed however long it is.
        patch: its diff is written to this file.
        markdown: a report is written to this file, also where there is no result.
    """

    apply: bool = False
    branch: str | None = None
    with_tests: bool = False
    diff: bool = False
    patch: Path | None = None
    markdown: Path | None = None

    @property
    def takes(self) -> bool:
        """Whether files or a branch are written."""
        return self.apply or bool(self.branch)

    def check(self) -> None:
        """See that files can be written there, before anything is done.

        Raises:
            BakeoffError: one cannot.
        """
        for option, path in (("--patch", self.patch), ("--markdown", self.markdown)):
            if path is None:
                continue
            if path.is_dir():
                raise BakeoffError(f"{option} {path}: it is a folder: name a file")
            if not path.parent.is_dir():
                raise BakeoffError(f"{option} {path}: there is no folder {path.parent}")
            if not os.access(path if path.exists() else path.parent, os.W_OK):
                raise BakeoffError(f"{option} {path}: it cannot be written")
