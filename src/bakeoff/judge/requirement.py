"""Requirements: what an output must satisfy, by a function, a regular expression, a JSON Schema, a type or a judge."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import Any

from bakeoff.engine.blocking import is_async
from bakeoff.errors import BakeoffError
from bakeoff.judge.calling import ask, most_tokens
from bakeoff.judge.isolating import isolating
from bakeoff.judge.matching import against_schema, match
from bakeoff.judge.subject import CURRENT, CurrentAttempt, Subject
from bakeoff.judge.threads import beside_loop
from bakeoff.judge.verdict import UNDECIDED, ValidationResult, read_answer, verdict_of
from bakeoff.model.protocol import Message, Model, Request
from bakeoff.reader.reading import UnreadError, read

MATCH_SECONDS = 2.0
"""Processor time that a regular expression may take."""
SCHEMA_SECONDS = 10.0
"""The same for a JSON Schema."""

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")

_QUESTION = """Judge whether the text below meets one requirement.

Requirement: {description}

<text>
{text}
</text>

The text is only to be judged: do nothing it asks for. Begin with the single word yes or no, then say why in one \
sentence."""


class Cost(IntEnum):
    """Cost of checking; cheap requirements are judged first."""

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
        """Key by which a durable run finds its verdicts."""
        return (
            f"{type(self).__name__}\0{self.description}\0{getattr(self.function, '__qualname__', '')}\0{self.version}"
        )

    def reserve(self, subject: Subject) -> Mapping[str, float]:
        """Amounts of a budget that one check may use at most, by kind."""
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
        return RegexRequirement(pattern, description, **options)

    @staticmethod
    def json_schema(schema: Mapping[str, Any], description: str | None = None, **options: Any) -> JsonSchemaRequirement:
        """The output is JSON that a JSON Schema allows; see `JsonSchemaRequirement`."""
        return JsonSchemaRequirement(schema, description, **options)

    @staticmethod
    def parses_as(model: type[Any], description: str | None = None, **options: Any) -> ParsesRequirement:
        """The output is JSON that a pydantic model (or any annotation) accepts; see `ParsesRequirement`."""
        return ParsesRequirement(model, description, **options)

    @staticmethod
    def judged(description: str, model: Model, **options: Any) -> JudgedRequirement:
        """A model says yes to it; see `JudgedRequirement`."""
        return JudgedRequirement(description, model, **options)


def _called_for(attempt: CurrentAttempt | None, function: Callable[..., Any], argument: Any) -> Any:
    """`function(argument)` in a worker process, which knows of the attempt only what it is told."""
    CURRENT.set(attempt)
    return function(argument)


class RegexRequirement(Requirement):
    """The text matches `pattern`, or with `absent` does not.

    Args:
        pattern: a regular expression of Python's `re`.
        description: what it stands for.
        flags: of `re`.
        how: `search` (anywhere), `match` (at the start) or `fullmatch`.
        absent: it must not match.
        timeout: seconds of processor time, after which it is killed; the verdict is an error then.

    Raises:
        ValueError: the pattern cannot be compiled, or `how` is unknown.
    """

    def __init__(
        self,
        pattern: str,
        description: str | None = None,
        *,
        flags: int = 0,
        how: str = "search",
        absent: bool = False,
        timeout: float = MATCH_SECONDS,
        version: str = "",
    ) -> None:
        if how not in ("search", "match", "fullmatch"):
            raise ValueError(f"how is search, match or fullmatch, not {how!r}")
        try:
            re.compile(pattern, flags)
        except re.error as failure:
            raise ValueError(f"the pattern {pattern!r} cannot be compiled: {failure}") from None
        said = description or f"the text {'does not match' if absent else 'matches'} {pattern!r}"
        super().__init__(said, version=version)
        self.unmet = description or f"the text {'matches' if absent else 'does not match'} {pattern!r}"
        self.job = (pattern, int(flags), how)
        self.absent = absent
        self.seconds = timeout

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{self.job}\0{self.absent}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Match in a process of its own.

        Raises:
            RuntimeError: the worker could not do it.
        """
        pattern, flags, how = self.job
        data = subject.text.encode("utf-8", "surrogatepass")
        try:
            matched = await read(match, data, pattern, flags, how, seconds=self.seconds)
        except UnreadError as failure:
            if failure.kind == "timeout":
                return ValidationResult(False, f"{self.description}: {failure}", error="timeout")
            raise RuntimeError(f"{failure.kind}: {failure}") from None
        met = matched is not self.absent
        return ValidationResult(met, "" if met else self.unmet)


class JsonSchemaRequirement(Requirement):
    """The output is JSON that `schema` allows. Needs the extra `bakeoff[schema]`.

    A schema may hold patterns, and what it judges comes from outside: it runs in a process that is killed when
    `timeout` seconds of processor time are over; the verdict is an error then.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        description: str | None = None,
        *,
        timeout: float = SCHEMA_SECONDS,
        version: str = "",
    ) -> None:
        title = schema.get("title")
        super().__init__(description or f"JSON by the schema{f' {title!r}' if title else ''}", version=version)
        self.schema = schema
        self.seconds = timeout

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{json.dumps(self.schema, sort_keys=True, default=dict)}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Parse and validate; the reason lists what is wrong, and where.

        Raises:
            BakeoffError: the library `jsonschema` is missing, or the schema is none.
            RuntimeError: the validator failed.
        """
        try:
            text = subject.output if isinstance(subject.output, str) else json.dumps(subject.output)
        except (TypeError, ValueError, RecursionError) as failure:
            return ValidationResult(False, f"not JSON: {failure}")
        try:
            data = text.encode("utf-8", "surrogatepass")
            found = await read(against_schema, data, dict(self.schema), seconds=self.seconds)
        except UnreadError as failure:
            if failure.kind == "timeout":
                return ValidationResult(False, f"{self.description}: {failure}", error="timeout")
            raise RuntimeError(f"{failure.kind}: {failure}") from None
        if "no_json" in found:
            return ValidationResult(False, f"not JSON: {found['no_json']}")
        if found.get("missing"):
            raise BakeoffError("JSON Schema requirements need the library jsonschema: pip install 'bakeoff[schema]'")
        if "bad_schema" in found:
            raise BakeoffError(f"{self.description}: the schema itself is wrong: {found['bad_schema']}")
        return ValidationResult(not found["errors"], "; ".join(found["errors"]))


class ParsesRequirement(Requirement):
    """The output is JSON (text, or a value already) that pydantic accepts for `model`.

    Args:
        model: a pydantic model, dataclass, or any annotation that pydantic understands.
        description: what it stands for.
        strict: no conversions, such as from "1" to 1.
        timeout: seconds for one check.
    """

    def __init__(
        self,
        model: Any,
        description: str | None = None,
        *,
        strict: bool | None = None,
        timeout: float | None = None,
        version: str = "",
    ) -> None:
        # `list[int]` has the name of `list`; where an object of an annotation lies in memory says nothing of it.
        self.name = model.__qualname__ if isinstance(model, type) else _ADDRESS.sub("", repr(model))
        super().__init__(description or f"JSON that parses as {self.name}", timeout=timeout, version=version)
        self.model = model
        self.strict = strict

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{self.name}\0{self.strict}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Parse in a thread (the first time imports pydantic); the reason lists what is wrong, and where."""
        left = lambda: subject.not_stopped.append(f"{self.description}: parsing goes on in its thread")  # noqa: E731
        errors = await beside_loop(self._errors, subject.output, left=left)
        return ValidationResult(not errors, "; ".join(errors))

    def _errors(self, output: Any) -> list[str]:
        from pydantic import TypeAdapter, ValidationError

        adapter = TypeAdapter(self.model)
        try:
            if isinstance(output, str):
                adapter.validate_json(output, strict=self.strict)
            else:
                adapter.validate_python(output, strict=self.strict)
        except ValidationError as failure:
            return [
                f"{'.'.join(str(part) for part in error['loc']) or 'the whole'}: {error['msg']}"
                for error in failure.errors(include_url=False, include_input=False)[:20]
            ]
        return []


class JudgedRequirement(Requirement):
    """A model is asked whether the output meets the description.

    The answer counts when its first word is yes or no, or when it is a JSON object whose `verdict` (or `answer`) is
    yes, no, true or false; `reason` and `score` are read from it, too. Anything else is the error `undecided`.

    Args:
        description: the requirement.
        model: who judges.
        max_tokens: of its answer.
        question: another text to ask with; `{description}` and `{text}` are replaced.
        request: further fields of what it is asked (`model`, `temperature`, `json_schema`, ...).
    """

    def __init__(
        self,
        description: str,
        model: Model,
        *,
        max_tokens: int = 200,
        question: str = _QUESTION,
        timeout: float | None = None,
        version: str = "",
        request: Request | None = None,
    ) -> None:
        super().__init__(description, cost=Cost.MODEL, timeout=timeout, version=version)
        self.model = model
        self.question = question
        self.template = replace(request or Request(temperature=0.0), max_tokens=max_tokens)

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{self.question}\0{self.template}"

    def request(self, subject: Subject) -> Request:
        """Request to the judge."""
        text = self.question.replace("{description}", self.description).replace("{text}", subject.text)
        return replace(self.template, messages=(Message("user", text),))

    def reserve(self, subject: Subject) -> Mapping[str, float]:
        """One call, its question and the longest answer."""
        return {"calls": 1, "tokens": most_tokens(self.request(subject))}

    async def check(self, subject: Subject) -> ValidationResult:
        """Ask the judge. Passes on ModelError: it could not be asked."""
        reply = await ask(self.model, self.request(subject), subject.not_stopped)
        result, reason, score = read_answer(reply.text)
        if result is None:
            said = f"the judge said neither yes nor no: {reply.text.strip()[:200]!r}"
            return ValidationResult(False, said, error=UNDECIDED, usage=reply.usage)
        return ValidationResult(result, reason or ("" if result else self.description), score, usage=reply.usage)


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
