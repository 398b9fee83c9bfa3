"""What can be wrong with a target or with the text of a candidate."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class TargetError(BakeoffError):
    """What was named is no function or method that can be found in its file."""


class InvalidCandidateError(BakeoffError):
    """A candidate's text cannot be applied; the candidate gets the reason `invalid`."""


class BenchError(BakeoffError):
    """What a command gives where nothing was changed leaves nothing to compare with."""
