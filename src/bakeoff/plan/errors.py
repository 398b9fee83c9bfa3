"""Errors of splitting a project and of ordering subplans; `PlanError` stands beside the plan, in `run/plan.py`."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class DecomposeError(BakeoffError):
    """Files, limits, subplans or owners that no hierarchy can be made of; the message names them."""


class ScheduleError(BakeoffError):
    """The subplans cannot be put into an order; the message names which."""
