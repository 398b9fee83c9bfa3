"""Options of attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from bakeoff.errors import BakeoffError
from bakeoff.jobs.options import (
    BASE,
    BENCH_OUTPUT,
    CEILINGS,
    CHECK_TIMEOUT,
    CHECKS,
    MAX_CALLS,
    MAX_COST,
    MAX_TOKENS,
    MEASURING,
    MIN_SPEEDUP,
    SANDBOX,
    changed_amounts,
)
from bakeoff.options.kinds import LEVEL, SECONDS, Choice, Flag, Text, Texts, Whole
from bakeoff.options.option import Options, check_values, option, shared

if TYPE_CHECKING:
    from bakeoff.judge.checks.protected import Protection
    from bakeoff.settings import Settings

MOST_CALLS = 10_000
"""Attempts and repairs of one run at most: a mistyped number is no bill, and no machine without memory."""


Mode = Literal["deterministic", "fastest"]


@dataclass(frozen=True, slots=True)
class AttemptOptions(Options):
    """Options of attempts. Their order is part of the keys of steps in journals: a new one comes last.

    Attributes:
        refs: commits or patches that exist already and are judged instead of an agent's work.
        bench: shell command that is timed; of what passes and is faster than the base, the fastest wins.
    """

    task: str = option(..., Text(), "What the agent is to do.")
    agent: str | None = option(
        None, Text(), "The coding agent; the one in the settings, or the workflow's, if left out."
    )
    model: str | None = option(None, Text(), "The agent's model; its own default if left out.")
    endpoint: str | None = option(
        None, Text(), "Set the agent up for this endpoint of your settings; its model, too.", metavar="NAME"
    )
    refs: tuple[str, ...] = ()
    attempts: int = option(1, Whole(1), "Independent attempts.")
    repair: int = option(0, Whole(0), "Repairs of each that fails.")
    retries: int = option(2, Whole(0), "Further calls in place of one that the agent's model turned away.")
    checks: tuple[str, ...] = shared((), CHECKS)
    score: str | None = option(
        None,
        Text(command=True),
        "A command that prints a number, the last one counts: the highest wins.",
        metavar="CMD",
    )
    base: str | None = shared(None, BASE)
    may_edit: tuple[str, ...] = option(
        (), Texts(), "Tests or test configuration that attempts may change.", metavar="GLOB"
    )
    protect: tuple[str, ...] = option((), Texts(), "Further files that attempts may not change.", metavar="GLOB")
    max_cost: float | None = shared(None, MAX_COST)
    max_tokens: float | None = shared(None, MAX_TOKENS)
    max_calls: float | None = shared(None, MAX_CALLS)
    timeout: float | None = option(None, SECONDS, "Seconds for one call of the agent.")
    check_timeout: float | None = shared(None, CHECK_TIMEOUT)
    mode: str = option(
        "deterministic", Choice(get_args(Mode)), "The first attempt that passes, or whichever passes first."
    )
    sandbox: str | None = shared(None, SANDBOX)
    agent_sandbox: str | None = option(None, LEVEL, "The same for the agent, which keeps network and login.")
    bench: str | None = option(
        None,
        Text(command=True),
        "Time this command: of what passes, the fastest wins if it is faster than the base.",
        metavar="CMD",
    )
    bench_output: str = shared("same", BENCH_OUTPUT)
    min_speedup: float = shared(1.05, MIN_SPEEDUP)
    seconds: float = shared(20.0, MEASURING)
    preflight: bool = option(
        True,
        Flag(),
        "Run the checks on the files as they are before anything is paid; without it attempts may make what a check "
        "needs.",
    )
    require_red: bool = option(
        False, Flag(), "Refuse, before anything is paid, when a check passes on the files already."
    )

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise BakeoffError("the task is empty: say what is to be done, as an argument, @FILE, or - for stdin")
        for command in (*self.checks, self.score, self.bench):
            if command is not None and not command.strip():
                raise BakeoffError(
                    "a --check, --score or --bench is empty: an empty command says nothing of what was made"
                )
        check_values(self)
        if not self.checks and not self.score:
            raise BakeoffError("there is nothing to judge by: give a --check, as in --check 'pytest -q'")
        if self.require_red and not self.preflight:
            raise BakeoffError("--require-red and --no-preflight: only a check that is run first is known to fail")
        if (calls := self.attempts * (self.repair + 1)) > MOST_CALLS:
            raise BakeoffError(
                f"--attempts {self.attempts} with --repair {self.repair} are {calls:,} calls of the agent; "
                f"{MOST_CALLS:,} are the most of one run"
            )

    @property
    def protection(self) -> Protection:
        """Protection of what attempts may not change."""
        from bakeoff.judge.checks.protected import Protection

        judges = [command for command in (*self.checks, self.score) if command is not None]
        return Protection(self.may_edit, self.protect, tuple(judges))

    @property
    def ceilings(self) -> dict[str, float]:
        """The run's budget."""
        asked = {"usd": self.max_cost, "tokens": self.max_tokens, "calls": self.max_calls}
        return {kind: amount for kind, amount in asked.items() if amount is not None}

    @property
    def most_calls(self) -> int:
        """Calls of the agent at most, retries apart."""
        return 0 if self.refs else self.attempts * (self.repair + 1)

    def settled(self, settings: Settings) -> AttemptOptions:
        """The same with what the settings say where nothing was asked for."""
        return replace(
            self,
            sandbox=self.sandbox or settings.sandbox,
            agent_sandbox=self.agent_sandbox or settings.agent_sandbox,
        )

    def with_inputs(self, inputs: Mapping[str, str]) -> AttemptOptions:
        """The same with another budget. Passes on BakeoffError: something else was asked for, or no number."""
        return replace(self, **changed_amounts(inputs, CEILINGS, "an attempt run"))  # type: ignore[arg-type]
