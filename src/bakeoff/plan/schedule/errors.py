"""What is wrong with what is to be scheduled."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class ScheduleError(BakeoffError):
    """The subplans cannot be put into an order; the message names which."""
