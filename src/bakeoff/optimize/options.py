"""What an optimisation was asked for; it stands on the run's record, so that the run can be resumed by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from bakeoff.errors import BakeoffError

PATCHES = (".patch", ".diff")
"""Endings of candidates that are no whole files."""
CHECKS, TESTS, NOTHING = "checks", "tests", "nothing"
"""What judges behaviour where a command is timed: commands, the tests that reach a function, or nobody."""
CEILINGS = ("max_cost", "max_tokens", "max_calls")
CHANGEABLE = (*CEILINGS, "seconds")
"""What a run can be resumed with another value of."""


@dataclass(frozen=True, slots=True)
class OptimizeOptions:
    """See `bakeoff optimize --help`.

    Attributes:
        target: `pkg/mod.py:Class.method`, relative to the project's root; with `bench` also a file of any kind, or
            nothing; with `every` a folder or file.
        bench: shell command that is timed instead of the function.
        bench_output: `same` or `any`: whether it must print what it prints where nothing was changed.
        checks: shell commands that judge behaviour beside `bench`, and `check_timeout`: seconds for one of them.
        protect: further files that candidates may not change, by globs, beside `bench`.
        every: all functions below `target` are optimised, one after the other, and `top`: how many at most.
        candidates: files that the user brings: whole new versions of the target's file, or patches.
        refs: commits that the user brings, by any name that git knows.
        rules: whether the rewriting rules propose.
        models: names of models that are asked, and `samples`: for how many first versions each.
        agents: names of coding agents that are asked, and `agent_samples`: how often each.
        endpoint: name of the endpoint that they are set up for; None for the one in the settings, if any.
        repairs: how often failures go back to their sources.
        refinements: how often winners go back to their sources.
        parallel: candidates whose behaviour is judged at once; None for the processors that may be used.
        min_speedup: what the lower bound of the speed-up must reach.
        seconds: of measuring for one race.
        seed: of everything that is left to chance.
        inputs: `derived` or `recorded`: see `BehaviourOptions`, as for `tests`, `trust`, `cold`.
        level: of the sandbox; None for the setting.
        memory: whether peak memory is measured, too.
        base: a commit to start from; None for the work tree as it is.
        max_cost: USD; `max_tokens`, `max_calls`: the other ceilings of the run.
    """

    target: str
    candidates: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    rules: bool = True
    models: tuple[str, ...] = ()
    samples: int = 4
    agents: tuple[str, ...] = ()
    agent_samples: int = 1
    endpoint: str | None = None
    repairs: int = 1
    refinements: int = 3
    parallel: int | None = None
    min_speedup: float = 1.05
    seconds: float = 20.0
    seed: int = 0
    inputs: str = "derived"
    tests: tuple[str, ...] = ()
    trust: bool = False
    cold: bool = False
    level: str | None = None
    memory: bool = False
    base: str | None = None
    bench: str | None = None
    bench_output: str = "same"
    checks: tuple[str, ...] = ()
    check_timeout: float | None = None
    protect: tuple[str, ...] = ()
    every: bool = False
    top: int = 10
    max_cost: float | None = None
    max_tokens: float | None = None
    max_calls: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.min_speedup) and self.min_speedup >= 1):
            raise BakeoffError(f"--min-speedup must be a number from 1, not {self.min_speedup}")
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise BakeoffError(f"--seconds must be a number above 0, not {self.seconds}")
        if not (self.rules or self.candidates or self.refs or self.models or self.agents):
            raise BakeoffError(
                "there is nothing to try: give --candidate, --ref, --model or --agent, or leave --no-rules out"
            )
        if self.samples < 1 or self.agent_samples < 1 or self.repairs < 0:
            raise BakeoffError("--samples and --agent-samples are at least 1, --repairs at least 0")
        self._check_bench()
        if self.every:
            self._check_every()
        for names, option in ((self.models, "--model"), (self.agents, "--agent")):
            if len(set(names)) < len(names):
                raise BakeoffError(f"{option}: one is named twice; for more of its versions set the number of samples")

    @property
    def subject(self) -> str:
        """What is to become faster, for people."""
        if self.bench is None:
            return f"functions of {self.target}" if self.every else self.target
        return f"{self.bench} ({self.target})" if self.target else self.bench

    def _check_bench(self) -> None:
        """See that what is asked for together can be had together.

        Raises:
            BakeoffError: it cannot.
        """
        if self.bench is None:
            if self.checks or self.protect or self.bench_output != "same":
                raise BakeoffError(
                    "--check, --protect and --bench-output go with --bench: without it a function is judged by the "
                    "tests that reach it"
                )
            return
        if not self.bench.strip() or not all(check.strip() for check in self.checks):
            raise BakeoffError("--bench or a --check is empty: give a command")
        whole = [name for name in self.candidates if not name.endswith(PATCHES)]
        if not self.target and (whole or self.models):
            raise BakeoffError(
                f"{whole[0] if whole else 'a model'} gives a whole file: name the one that it replaces, "
                "as in bakeoff optimize src/main.c --bench ..."
            )
        if self.tests and (self.checks or ":" not in self.target):
            raise BakeoffError("--tests says which tests judge a function: name one, and give no --check")
        if "local" in self.models and ":" not in self.target:
            raise BakeoffError("--model local writes functions only: name one, as in pkg/mod.py:function")
        if self.memory or self.cold:
            raise BakeoffError("--memory and --cold are for functions: leave them out with --bench")
        if not (self.candidates or self.refs or self.models or self.agents or (self.rules and ":" in self.target)):
            raise BakeoffError(
                "there is nothing to try: give --candidate, --ref, --agent or --model; rules propose where a Python "
                "function is named, as in pkg/mod.py:function"
            )

    def _check_every(self) -> None:
        """The same for `--all`.

        Raises:
            BakeoffError: something is asked for that is about one function.
        """
        if self.bench is not None or self.candidates or self.refs:
            raise BakeoffError(
                "--all takes candidates from rules, models and agents: leave --bench, --candidate, --ref"
            )
        if self.top < 1:
            raise BakeoffError("--top is at least 1")

    @property
    def ceilings(self) -> dict[str, float]:
        """The run's budget."""
        asked = {"usd": self.max_cost, "tokens": self.max_tokens, "calls": self.max_calls}
        return {kind: amount for kind, amount in asked.items() if amount is not None}

    @property
    def most_model_calls(self) -> int:
        """Requests to one model at most, tries in place of those that failed apart."""
        return (self.samples + self.repairs + self.refinements) * self._functions

    @property
    def most_agent_calls(self) -> int:
        """Calls of one agent at most, the same apart."""
        return (self.agent_samples * (1 + self.repairs) + self.refinements) * self._functions

    @property
    def _functions(self) -> int:
        return self.top if self.every else 1

    def to_json(self) -> dict[str, Any]:
        """As the run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> OptimizeOptions:
        """What `to_json` gave; what a later version added has its default."""
        names = {field.name for field in fields(cls)}
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        return cls(**{name: value for name, value in found.items() if name in names})

    def with_inputs(self, inputs: Mapping[str, str]) -> OptimizeOptions:
        """The same with another budget or more time, for a run that is resumed.

        Raises:
            BakeoffError: something else was given, or no number.
        """
        changes: dict[str, Any] = {}
        for name, value in inputs.items():
            if name not in CHANGEABLE:
                raise BakeoffError(f"-i {name}: of an optimisation only {', '.join(CHANGEABLE)} can be changed")
            try:
                changes[name] = float(value)
            except ValueError:
                raise BakeoffError(f"-i {name}={value}: it must be a number") from None
            if not math.isfinite(changes[name]) or changes[name] <= 0:
                raise BakeoffError(f"-i {name}={value}: it must be a number above 0")
        return replace(self, **changes)
