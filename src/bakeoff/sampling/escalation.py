"""Escalation: a fast model tries and repairs; when it does not get there, a slow one has the last word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from bakeoff.model.protocol import Model, Request
from bakeoff.sampling.action import Ask, Ticket
from bakeoff.sampling.feedback import best_failure, feedback, with_last, with_turns
from bakeoff.sampling.repair import MultiTurnStrategy
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import Sampler
from bakeoff.sampling.strategy import Mode

Handover = Literal["fresh", "conversation", "best"]
HANDOVERS = ("fresh", "conversation", "best")


class EscalationStrategy(MultiTurnStrategy):
    """`loop_budget` x `concurrency_budget` attempts of a fast model in conversations, then one of a slow model.

    A lane of the fast model ends early when it fails the same requirements for the same reasons twice running. The
    slow attempt has the id `loop_budget * concurrency_budget + 1`; when it fails, too, the best failure of all is
    returned.

    Args:
        fast: the model that tries first.
        slow: the model that is asked in the end.
        loop_budget, concurrency_budget, mode, template: see `MultiTurnStrategy`.
        handover: what the slow model is given: the request as it was (`fresh`), the conversation of the best
            failure (`conversation`), or the request with the best failure and what it failed (`best`).

    Raises:
        ValueError: an argument is out of its range.
    """

    brings_model = True

    def __init__(
        self,
        fast: Model,
        slow: Model,
        *,
        loop_budget: int = 1,
        concurrency_budget: int = 1,
        mode: Mode = "deterministic",
        template: str | None = None,
        handover: Handover = "fresh",
    ) -> None:
        super().__init__(loop_budget=loop_budget, concurrency_budget=concurrency_budget, mode=mode, template=template)
        if handover not in HANDOVERS:
            raise ValueError(f"handover is one of {', '.join(HANDOVERS)}; not {handover!r}")
        self.fast, self.slow, self.handover = fast, slow, handover

    @property
    def identity(self) -> str:
        """See `SamplingStrategy.identity`."""
        return f"{super().identity}\0{self.handover}"

    async def search(self, sampler: Sampler) -> Attempt | None:
        """The fast model's lanes, then the slow model's attempt."""
        winner = await super().search(sampler)
        if winner is not None or sampler.stopped is not None:
            return winner
        rounds, lanes = sampler.loop_budget, sampler.concurrency_budget
        last = Ticket(rounds * lanes + 1, 0, rounds, model=self.slow)
        best = best_failure(sampler.attempts.values())
        if best is not None:
            last.previous, last.feedback = best, feedback(sampler.requirements, best)
            if isinstance(sampler.action, Ask):
                last.request = self._handed_over(sampler.action.request, best, last.feedback)
            await sampler.repaired(f"escalation: {self.handover}", last)
        attempt = await sampler.attempt(last)
        return attempt if attempt is not None and self.accept(attempt) else None

    def _handed_over(self, request: Request, best: Attempt, said: str) -> Request:
        if self.handover == "conversation":
            assert best.request is not None
            return with_turns(best.request, str(best.output), self.text(said))
        if self.handover == "best":
            return with_last(request, f"The best answer so far:\n{best.output}\n\n{self.text(said)}")
        return request

    def lane_maker(self, sampler: Sampler, model: Model | None = None) -> Callable[[int], Any]:
        """Lanes that ask the fast model and end when they go round in circles."""
        make = super().lane_maker(sampler, model or self.fast)
        said: dict[int, Attempt] = {}
        stuck: set[int] = set()

        async def attempt(rank: int) -> Attempt | None:
            lane = rank % sampler.concurrency_budget
            if lane in stuck:
                return None
            made: Attempt | None = await make(rank)
            if made is not None and made.judged:
                before = said.get(lane)
                if before is not None and made.status == "failed" and _failures(before) == _failures(made):
                    stuck.add(lane)
                said[lane] = made
            return made

        return attempt


def _failures(attempt: Attempt) -> list[tuple[bool, str, float | None, str | None]]:
    return [(verdict.result, verdict.reason, verdict.score, verdict.error) for verdict in attempt.verdicts]
