"""Errors of optimisations: of the target, of a candidate's text, and of what candidates are compared with."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class TargetError(BakeoffError):
    """No function or method of that name can be found in its file."""


class InvalidCandidateError(BakeoffError):
    """A candidate's text cannot be applied; the candidate gets the reason `invalid`."""


class BehaviourError(BakeoffError):
    """The behaviour of the original cannot be found out, so no candidate can be compared with it."""


class BenchError(BakeoffError):
    """The command gives nothing to compare with where nothing was changed."""
