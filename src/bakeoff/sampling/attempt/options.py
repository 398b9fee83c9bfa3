"""What an attempt run was asked for; it stands on the run's record, so that the run can be resumed by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.protected import Protection
from bakeoff.settings import Settings

MOST_CALLS = 10_000
"""Attempts and repairs of one run at most: a mistyped number is no bill, and no machine without memory."""


@dataclass(frozen=True, slots=True)
class AttemptOptions:
    """See `bakeoff attempt --help`.

    Attributes:
        task: what the agent is to do; for a comparison what is compared.
        agent: name of its entry; None for the one in the settings.
        endpoint: name of the endpoint that it is set up for; None for the one in the settings, if any.
        refs: commits or patches that exist already and are judged instead of an agent's work.
        checks: shell commands that must end with exit status 0.
        score: shell command that prints a number.
        bench: shell command that is timed; of what passes and is faster than the base, the fastest wins.
        bench_output: `same` or `any`: whether it must print what it prints on the base.
        min_speedup: what the lower bound of the speed-up must reach, and `seconds`: of measuring.
        base: a commit to start from; None for the work tree as it is.
        retries: further calls in place of one that the agent's model turned away.
        timeout: seconds for one call of the agent; `check_timeout`: for one check.
        sandbox: what protects from the attempts' code, `agent_sandbox` from the agent: `full`, `weak` or `none`; None
            for the setting, which a run keeps from its start on.
        preflight: whether checks are run on the snapshot before anything is paid; `require_red`: and must fail there.
        max_cost: USD; `max_tokens`, `max_calls`: the other ceilings of the run.
    """

    task: str
    agent: str | None = None
    model: str | None = None
    endpoint: str | None = None
    refs: tuple[str, ...] = ()
    attempts: int = 1
    repair: int = 0
    retries: int = 2
    checks: tuple[str, ...] = ()
    score: str | None = None
    base: str | None = None
    may_edit: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    max_cost: float | None = None
    max_tokens: float | None = None
    max_calls: float | None = None
    timeout: float | None = None
    check_timeout: float | None = None
    mode: str = "deterministic"
    sandbox: str | None = None
    agent_sandbox: str | None = None
    bench: str | None = None
    bench_output: str = "same"
    min_speedup: float = 1.05
    seconds: float = 20.0
    preflight: bool = True
    require_red: bool = False

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise BakeoffError("the task is empty: say what is to be done, as an argument, @FILE, or - for stdin")
        for command in (*self.checks, self.score, self.bench):
            if command is not None and not command.strip():
                raise BakeoffError(
                    "a --check, --score or --bench is empty: an empty command says nothing of what was made"
                )
        if not (math.isfinite(self.min_speedup) and self.min_speedup >= 1):
            raise BakeoffError(f"--min-speedup must be a number from 1, not {self.min_speedup}")
        for name, seconds in (("--timeout", self.timeout), ("--check-timeout", self.check_timeout)):
            if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
                raise BakeoffError(f"{name} must be a number of seconds above 0, not {seconds}")
        if not self.checks and not self.score:
            raise BakeoffError("there is nothing to judge by: give a --check, as in --check 'pytest -q'")
        if self.require_red and not self.preflight:
            raise BakeoffError("--require-red and --no-preflight: only a check that is run first is known to fail")
        if self.attempts < 1 or self.repair < 0 or self.retries < 0:
            raise BakeoffError("--attempts is at least 1, --repair and --retries at least 0")
        if (calls := self.attempts * (self.repair + 1)) > MOST_CALLS:
            raise BakeoffError(
                f"--attempts {self.attempts} with --repair {self.repair} are {calls:,} calls of the agent; "
                f"{MOST_CALLS:,} are the most of one run"
            )

    @property
    def protection(self) -> Protection:
        """What attempts may not change."""
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

    def to_json(self) -> dict[str, Any]:
        """As the run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> AttemptOptions:
        """What `to_json` gave; what a later version added has its default."""
        names = {field.name for field in fields(cls)}
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        return cls(**{name: value for name, value in found.items() if name in names})

    def with_inputs(self, inputs: Mapping[str, str]) -> AttemptOptions:
        """The same with another budget.

        Raises:
            BakeoffError: something else was asked for, or no number.
        """
        changes: dict[str, float] = {}
        for name, value in inputs.items():
            if name not in ("max_cost", "max_tokens", "max_calls"):
                raise BakeoffError(
                    f"-i {name}: of an attempt run only max_cost, max_tokens and max_calls can be changed"
                )
            try:
                amount = float(value)
            except ValueError:
                raise BakeoffError(f"-i {name}={value}: it must be a number") from None
            if not math.isfinite(amount) or amount <= 0:
                raise BakeoffError(f"-i {name}={value}: it must be a number above 0, or it is no ceiling")
            changes[name] = amount
        return replace(self, **changes)  # type: ignore[arg-type]
