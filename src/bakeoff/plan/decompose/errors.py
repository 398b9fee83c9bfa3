"""What can be wrong with what is to be split."""

from __future__ import annotations

from bakeoff.errors import BakeoffError


class DecomposeError(BakeoffError):
    """Files, limits, subplans or owners that no hierarchy can be made of; the message names them."""
