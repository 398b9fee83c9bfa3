"""Rejection sampling: independent attempts, the first good one wins."""

from __future__ import annotations

from bakeoff.sampling.strategy import SamplingStrategy


class RejectionSamplingStrategy(SamplingStrategy):
    """Independent attempts at the same request, drawn from one pool of `loop_budget * concurrency_budget` tickets.

    A request with a seed is sent with the seeds from there on, one to each ticket.
    """
