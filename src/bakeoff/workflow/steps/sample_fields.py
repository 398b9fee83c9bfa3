"""The fields of a `sample` step."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bakeoff.sampling.attempt.options import AttemptOptions, Mode
from bakeoff.sampling.options import Options as SampleOptions
from bakeoff.workflow.models import (
    Amount,
    Ceiling,
    Count,
    Deep,
    NotNegative,
    Positive,
    ShellText,
    StepModel,
    Strict,
    Text,
    option_field,
)
from bakeoff.workflow.steps.text_checks import OneRequirement


class Ceilings(Strict):
    """Ceilings by kind."""

    usd: Ceiling = Field(None, description="Money, in US dollars.")
    tokens: Ceiling = Field(None, description="Tokens, in and out.")
    calls: Ceiling = Field(None, description="Calls of models.")


class Reserved(Strict):
    """Amounts by kind, which may be nothing."""

    usd: Amount = Field(None, description="Money, in US dollars.")
    tokens: Amount = Field(None, description="Tokens, in and out.")
    calls: Amount = Field(None, description="Calls of models.")


class Sample(StepModel):
    """Asks a model several times, judges every answer, and keeps the best."""

    model_keys: ClassVar[tuple[str, ...]] = ("model", "judge", "slow")

    prompt: Text | None = Field(None, description="What the model is asked.")
    system: Text | None = Field(None, description="What it is told before.")
    action: str | None = Field(None, description="In place of a prompt an async Python function, `module:function`.")
    model: Text | None = Field(None, description="Which model; the workflow's own, or the setting's, if left out.")
    requirements: Annotated[list[OneRequirement], Deep("check")] = Field(
        default_factory=list, description="What the text must satisfy; a bare text is judged by a model."
    )
    judge: Text | None = Field(None, description="The model that judges; `model` if left out.")
    strategy: Literal["rejection", "repair", "multi-turn", "best-of-n", "majority", "escalation"] = Field(
        "rejection", description="Which attempts are made, and which is chosen."
    )
    loop_budget: Count = Field(2, description="Rounds.")
    concurrency_budget: Count = Field(1, description="Attempts at work at once.")
    mode: Mode = option_field(AttemptOptions, "mode")
    slow: Text | None = Field(None, description="The model that `escalation` asks in the end.")
    handover: Literal["fresh", "conversation", "best"] = Field("fresh", description="What that one is given.")
    score: Annotated[str | None, ShellText()] = Field(
        None, description="A shell command that prints a number for the text on its standard input: the highest wins."
    )
    good_enough: int | float | None = Field(None, description="A score that ends `best-of-n` at once.")
    similarity: Literal["exact", "normalised", "numeric", "rouge_l"] = Field(
        "exact", description="Which answers count as the same for `majority`."
    )
    threshold: int | float | None = Field(None, description="Share of votes that ends `majority` early.", gt=0, le=1)
    min_votes: int = Field(4, description="Least votes for such an end.", ge=1)
    max_tokens: Count = Field(None, description="Tokens of one answer at most.")
    temperature: NotNegative | None = Field(None, description="0 for the likeliest text.")
    seed: int | None = Field(None, description="Of the first attempt; the next ones have the numbers after it.")
    stop: list[str] = Field(default_factory=list, description="Texts that end an answer.")
    json_schema: dict[str, Any] | None = Field(
        None, description="What the answer fulfils, where the model can do that."
    )
    budget: Annotated[Ceilings, Deep()] = Field(
        default_factory=Ceilings, description="Ceilings for this step alone, judges included."
    )
    reserve: Annotated[Reserved, Deep()] = Field(
        default_factory=Reserved, description="What one attempt may use at most, where nobody can tell before."
    )
    attempt_timeout: Positive | None = option_field(SampleOptions, "attempt_timeout")
    check_timeout: Positive | None = option_field(SampleOptions, "check_timeout")
    preflight: bool = Field(True, description="Run the commands that judge on an empty text before anything is paid.")

    @property
    def most_calls(self) -> int | None:
        """Calls of models at most, those that judge included; None where expressions say how many."""
        counts = (self.loop_budget, self.concurrency_budget)
        if any(isinstance(count, str) for count in counts):
            return None
        judged = sum(one.judge is not None for one in self.requirements)
        attempts = int(self.loop_budget * self.concurrency_budget) + (self.strategy == "escalation")
        return attempts * (1 + judged)

    @property
    def has_ceilings(self) -> bool:
        """Whether what this step alone may use is bounded."""
        return self.budget != Ceilings()
