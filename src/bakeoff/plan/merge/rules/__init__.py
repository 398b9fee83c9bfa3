"""Rules by kind of file, tried before a clash counts as a conflict; each may say that it cannot tell."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.judge.checks.protected import glob_pattern
from bakeoff.plan.merge.hunks import Texts, favoured
from bakeoff.plan.merge.rules.resolution import CHOSEN, Resolution
from bakeoff.plan.merge.rules.structured import form_of, merge_structured

MOST_BYTES = 1 << 20
"""Of a file that is merged by its structure: the parsers take seconds for each megabyte."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that are tried: union of lines, lockfiles made anew, merging by structure.

    Attributes:
        union: globs of files, such as changelogs and lists of exports, whose lines may come from both sides.
        lockfiles: globs of lockfiles, each with the shell command that makes it anew.
        structured: merge files by their structure.
    """

    union: tuple[str, ...] = ()
    lockfiles: tuple[tuple[str, str], ...] = ()
    structured: bool = True

    def lockfile_command(self, path: str) -> str | None:
        """The command that makes the lockfile at `path`; None where it is none."""
        return next((command for glob, command in self.lockfiles if glob_pattern(glob).fullmatch(path)), None)

    def resolve(self, path: str, texts: Texts) -> Resolution | None:
        """The merged file, and by which rule; None where none tells. Blocks."""
        if any(glob_pattern(glob).fullmatch(path) for glob in self.union):
            return Resolution("union", favoured(texts, "union"), CHOSEN, ("lines of both sides",))
        small = max(map(len, (texts.base, texts.ours, texts.theirs))) <= MOST_BYTES
        return merge_structured(form_of(path), texts) if self.structured and small else None
