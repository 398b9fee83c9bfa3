"""What can be wrong before a candidate is judged at all."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class BehaviourError(BakeoffError):
    """The behaviour of the original cannot be found out, so no candidate can be compared with it."""
