"""Repair: each attempt of a lane is told what the one before it failed."""

from __future__ import annotations

from bakeoff.model.protocol import Request
from bakeoff.sampling.action import Ask
from bakeoff.sampling.feedback import with_last, with_turns
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import Sampler
from bakeoff.sampling.strategy import Mode, SamplingStrategy

_TEMPLATE = """An earlier answer did not meet these requirements:
{failures}
Write a new answer that meets all of them."""

_TURN = """That does not meet these requirements:
{failures}
Try again, and meet all of them."""


class _Repairing(SamplingStrategy):
    chained = True
    template = ""

    def __init__(
        self,
        *,
        loop_budget: int = 1,
        concurrency_budget: int = 1,
        mode: Mode = "deterministic",
        template: str | None = None,
    ) -> None:
        super().__init__(loop_budget=loop_budget, concurrency_budget=concurrency_budget, mode=mode)
        if template is not None:
            if "{failures}" not in template:
                raise ValueError("the template has no {failures}: the next attempt would not hear what was wrong")
            self.template = template

    @property
    def identity(self) -> str:
        """See `SamplingStrategy.identity`."""
        return f"{super().identity}\0{self.template}"

    def text(self, said: str) -> str:
        """The template, filled."""
        return self.template.replace("{failures}", said)


class RepairTemplateStrategy(_Repairing):
    """The original request once more, with what the last answer failed put after it.

    There are `concurrency_budget` lanes of `loop_budget` rounds. A lane works on its own budget: what it does not
    use is not given to another.

    Args:
        loop_budget, concurrency_budget, mode: see `SamplingStrategy`.
        template: what is put after the request; `{failures}` is replaced.
    """

    repair = "template"
    template = _TEMPLATE

    def revise(self, sampler: Sampler, failed: Attempt, said: str) -> Request | None:
        """See `SamplingStrategy.revise`."""
        assert isinstance(sampler.action, Ask)
        return with_last(sampler.action.request, self.text(said))


class MultiTurnStrategy(_Repairing):
    """The conversation goes on: the answer stays in it, and a message says what it failed.

    Lanes and arguments as for `RepairTemplateStrategy`; the template is the message.
    """

    repair = "conversation"
    template = _TURN

    def revise(self, sampler: Sampler, failed: Attempt, said: str) -> Request | None:
        """See `SamplingStrategy.revise`."""
        assert failed.request is not None
        return with_turns(failed.request, str(failed.output), self.text(said))
