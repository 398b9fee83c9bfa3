"""Errors of splitting a project, of ordering subplans, and of plans."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class DecomposeError(BakeoffError):
    """Files, limits, subplans or owners that no hierarchy can be made of; the message names them."""


class ScheduleError(BakeoffError):
    """The subplans cannot be put into an order; the message names which."""


class PlanError(BakeoffError):
    """A plan cannot be carried out as it is written; the message says where and why."""
