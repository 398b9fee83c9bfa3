"""Options of an optimisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from bakeoff.errors import BakeoffError
from bakeoff.jobs.options import (
    BASE,
    BENCH_OUTPUT,
    CEILINGS,
    CHECK_TIMEOUT,
    MAX_CALLS,
    MAX_COST,
    MAX_TOKENS,
    MEASURING,
    MIN_SPEEDUP,
    SANDBOX,
    changed_amounts,
)
from bakeoff.options.kinds import Choice, Flag, Text, Texts, Whole
from bakeoff.options.option import Options, check_values, option, shared

PATCHES = (".patch", ".diff")
"""Endings of candidates that are no whole files."""
CHECKS, TESTS, NOTHING = "checks", "tests", "nothing"
"""What judges behaviour where a command is timed: commands, the tests that reach a function, or nobody."""
CHANGEABLE = (*CEILINGS, "seconds")
"""What a run can be resumed with another value of."""
Inputs = Literal["derived", "recorded"]


@dataclass(frozen=True, slots=True)
class OptimizeOptions(Options):
    """Options of an optimisation. Their order is part of the keys of steps in journals: a new one comes last.

    Attributes:
        target: `pkg/mod.py:Class.method`, relative to the project's root; with `bench` also a file of any kind, or
            nothing; with `every` a folder or file.
        every: all functions below `target` are optimised, one after the other.
    """

    target: str = option(
        ..., Text(empty=True), "FILE.py:FUNCTION, from the project's root; with `bench` any file, or nothing."
    )
    candidates: tuple[str, ...] = option(
        (), Texts(), "New versions of the whole file to try, or patches.", flag="--candidate", metavar="FILE"
    )
    refs: tuple[str, ...] = option((), Texts(), "Commits or branches to try.", flag="--ref", metavar="REF")
    rules: bool = option(True, Flag(), "Have the rewriting rules propose.")
    models: tuple[str, ...] = option(
        (), Texts(), "Models to ask: local, one of your settings, or PROVIDER:MODEL.", flag="--model", metavar="NAME"
    )
    samples: int = option(4, Whole(1), "First versions that each model writes.")
    agents: tuple[str, ...] = option((), Texts(), "Coding agents to ask.", flag="--agent", metavar="NAME")
    agent_samples: int = option(1, Whole(1), "How often each agent is asked at first.")
    endpoint: str | None = option(
        None,
        Text(),
        "Set agents up for this endpoint of your settings; with no `agents` and `models` ask its model.",
        metavar="NAME",
    )
    repairs: int = option(1, Whole(0), "How often versions that behave otherwise go back to whom they came from.")
    refinements: int = option(3, Whole(0), "How often the fastest versions so far go back to become faster still.")
    parallel: int | None = option(
        None,
        Whole(1),
        "Candidates whose behaviour is judged at once; the processors you may use if left out.",
        flag="--parallel-candidates",
        metavar="N",
    )
    min_speedup: float = shared(1.05, MIN_SPEEDUP)
    seconds: float = shared(20.0, MEASURING)
    seed: int = option(0, Whole(), "Of everything that is left to chance.")
    inputs: str = option(
        "derived",
        Choice(get_args(Inputs)),
        "Compare on inputs derived from those of the tests, too, or on these alone.",
    )
    tests: tuple[str, ...] = option((), Texts(), "Tests to judge by, instead of all that pytest finds.", metavar="PATH")
    trust: bool = option(False, Flag(), "Accept what can be judged only in the candidate's own process.")
    cold: bool = option(False, Flag(), "A fresh interpreter for each evaluation: slower, the same verdicts.")
    level: str | None = shared(None, replace(SANDBOX, flag="--sandbox"))
    memory: bool = option(False, Flag(), "Measure peak memory, too.")
    base: str | None = shared(None, BASE)
    bench: str | None = option(
        None,
        Text(command=True),
        "Time this command instead of a function, in any language; what is named then may also be any file, or "
        "nothing.",
        metavar="CMD",
    )
    bench_output: str = shared("same", BENCH_OUTPUT)
    checks: tuple[str, ...] = option(
        (),
        Texts(command=True),
        "With `bench`: commands that must end with exit status 0.",
        flag="--check",
        metavar="CMD",
    )
    check_timeout: float | None = shared(None, CHECK_TIMEOUT)
    protect: tuple[str, ...] = option(
        (), Texts(), "With `bench`: further files that candidates may not change.", metavar="GLOB"
    )
    every: bool = False
    top: int = option(10, Whole(1), "With --all: how many at most.")
    max_cost: float | None = shared(None, MAX_COST)
    max_tokens: float | None = shared(None, MAX_TOKENS)
    max_calls: float | None = shared(None, MAX_CALLS)
    messages: bool = option(False, Flag(), "Compare the texts of exceptions and warnings, too.")

    def __post_init__(self) -> None:
        check_values(self)
        if not (self.rules or self.candidates or self.refs or self.models or self.agents):
            raise BakeoffError(
                "there is nothing to try: give --candidate, --ref, --model or --agent, or leave --no-rules out"
            )
        self._check_bench()
        if self.every:
            self._check_every()
        for names, flag in ((self.models, "--model"), (self.agents, "--agent")):
            if len(set(names)) < len(names):
                raise BakeoffError(f"{flag}: one is named twice; for more of its versions set the number of samples")

    @property
    def subject(self) -> str:
        """Subject that is to become faster, for people."""
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

    def with_inputs(self, inputs: Mapping[str, str]) -> OptimizeOptions:
        """The same with another budget or more time, for a run that is resumed.

        Passes on BakeoffError: something else was given, or no number.
        """
        return replace(self, **changed_amounts(inputs, CHANGEABLE, "an optimisation"))  # type: ignore[arg-type]
