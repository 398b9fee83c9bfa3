"""Requirements: what an output must satisfy. The plainest is a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from bakeoff.engine.blocking import is_async
from bakeoff.judge.isolating import isolating
from bakeoff.judge.subject import CURRENT, CurrentAttempt, Subject
from bakeoff.judge.threads import beside_loop
from bakeoff.judge.verdict import ValidationResult, verdict_of

if TYPE_CHECKING:
    from bakeoff.judge.json_schema import JsonSchemaRequirement
    from bakeoff.judge.judged import JudgedRequirement
    from bakeoff.judge.parses import ParsesRequirement
    from bakeoff.judge.regex import RegexRequirement
    from bakeoff.model.protocol import Model


class Cost(IntEnum):
    """What checking costs; cheap requirements are judged first."""

    CHEAP = 1
    PROCESS = 2
    MODEL = 3


class Requirement:
    """One thing an output must satisfy: here, what a function says.

    Subclass it with a `check` of your own, or hand in any object with `description`, `cost` and
    `async check(subject) -> ValidationResult`.

    Args:
        description: what is asked for; it stands in feedback to the next attempt.
        function: takes the output and returns True, False, (bool, reason) or a ValidationResult. An async one is
            awaited; a plain one runs in a thread.
        takes_subject: call the function with the whole `Subject` instead of its output.
        isolate: run a plain function in a process of its own that is killed at its timeout. It must stand at the
            top of a module.
        cost: see `Cost`.
        timeout: seconds for one check.
        version: change it when the requirement now means something else; a durable run then judges again.
    """

    def __init__(
        self,
        description: str,
        function: Callable[..., Any] | None = None,
        *,
        takes_subject: bool = False,
        isolate: bool = False,
        cost: Cost = Cost.CHEAP,
        timeout: float | None = None,
        version: str = "",
    ) -> None:
        self.description = description
        self.function = function
        self.takes_subject = takes_subject
        self.isolate = isolate
        self.cost = cost
        self.timeout = timeout
        self.version = version

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description!r})"

    @property
    def identity(self) -> str:
        """What a durable run finds its verdicts by."""
        return (
            f"{type(self).__name__}\0{self.description}\0{getattr(self.function, '__qualname__', '')}\0{self.version}"
        )

    def reserve(self, subject: Subject) -> Mapping[str, float]:
        """What one check may use of a budget at most, by kind."""
        return {}

    async def check(self, subject: Subject) -> ValidationResult:
        """Judge an output. What is raised counts as an error of this requirement, and never as a pass.

        Raises:
            NotImplementedError: there is neither a function nor an overriding `check`.
        """
        if self.function is None:
            raise NotImplementedError(f"{self!r} has no function: give one, or override `check`")
        argument = subject if self.takes_subject else subject.output
        if is_async(self.function):
            return verdict_of(await self.function(argument))
        if self.isolate:
            return verdict_of(await self._isolated(argument))
        left = lambda: subject.not_stopped.append(f"requirement {self.description!r} goes on in its thread")  # noqa: E731
        return verdict_of(await beside_loop(self.function, argument, left=left))

    async def _isolated(self, argument: Any) -> Any:
        async with isolating() as (workers, limiter):
            return await workers.call(_called_for, CURRENT.get(), self.function, argument, limiter=limiter)

    @staticmethod
    def regex(pattern: str, description: str | None = None, **options: Any) -> RegexRequirement:
        """The text matches a regular expression; see `RegexRequirement`."""
        from bakeoff.judge.regex import RegexRequirement

        return RegexRequirement(pattern, description, **options)

    @staticmethod
    def json_schema(schema: Mapping[str, Any], description: str | None = None, **options: Any) -> JsonSchemaRequirement:
        """The output is JSON that a JSON Schema allows; see `JsonSchemaRequirement`."""
        from bakeoff.judge.json_schema import JsonSchemaRequirement

        return JsonSchemaRequirement(schema, description, **options)

    @staticmethod
    def parses_as(model: type[Any], description: str | None = None, **options: Any) -> ParsesRequirement:
        """The output is JSON that a pydantic model (or any annotation) accepts; see `ParsesRequirement`."""
        from bakeoff.judge.parses import ParsesRequirement

        return ParsesRequirement(model, description, **options)

    @staticmethod
    def judged(description: str, model: Model, **options: Any) -> JudgedRequirement:
        """A model says yes to it; see `JudgedRequirement`."""
        from bakeoff.judge.judged import JudgedRequirement

        return JudgedRequirement(description, model, **options)


def _called_for(attempt: CurrentAttempt | None, function: Callable[..., Any], argument: Any) -> Any:
    """`function(argument)` in a worker process, which knows of the attempt only what it is told."""
    CURRENT.set(attempt)
    return function(argument)


def as_requirement(given: Any, judge: Model | None) -> Any:
    """A requirement from what a user gave: one, a function, or a text for a model to judge.

    Raises:
        TypeError: it is none of them, or a text without a model.
    """
    if isinstance(given, str):
        if judge is None:
            raise TypeError(f"the requirement {given!r} is a text, and there is no model to judge it: give judge=")
        return Requirement.judged(given, judge)
    if callable(getattr(given, "check", None)) and hasattr(given, "cost"):
        return given
    if callable(given):
        name = getattr(given, "__doc__", None) or getattr(given, "__name__", type(given).__name__)
        return Requirement(str(name).strip().splitlines()[0], given)
    raise TypeError(f"a requirement is a text, a function or has `check` and `cost`; {given!r} has not")
