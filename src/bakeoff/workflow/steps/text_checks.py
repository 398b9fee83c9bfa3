"""Requirements on a text as workflow files write them: pattern, schema, command, model, function."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from bakeoff.engine.blocking import is_async
from bakeoff.engine.record import Outcome, Status
from bakeoff.engine.run import Run
from bakeoff.jobs.options import CHECK_TIMEOUT
from bakeoff.judge.checks.check_runner import tail, text_of
from bakeoff.judge.checks.command import LANE
from bakeoff.judge.checks.diagnosis import why_unrunnable
from bakeoff.judge.requirement import Cost, Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import ValidationResult, to_json
from bakeoff.model.protocol import Model
from bakeoff.process.command import Command, Processes, SpawnError
from bakeoff.sampling.attempt.preflight import NODE, PATIENCE, Ways, tried_all, unable
from bakeoff.system.temporary import temporary_folder
from bakeoff.workflow.models import Positive, Strict
from bakeoff.workflow.steps.job_step import RefusedError
from bakeoff.workflow.steps.shell import DEFAULT_TIMEOUT

KINDS = ("regex", "schema", "check", "judge", "function")
"""The keys of which a requirement has one."""


class TextRequirement(Strict):
    """One thing that a text must satisfy."""

    regex: str | None = Field(None, description="A regular expression that it contains.")
    absent: bool = Field(False, description="It must not contain `regex`.")
    schema_: dict[str, Any] | None = Field(None, alias="schema", description="A JSON Schema that it fulfils.")
    check: str | None = Field(
        None, description="A shell command that must end with exit status 0; the text is its standard input."
    )
    judge: str | None = Field(None, description="What a model must say yes to.")
    function: str | None = Field(None, description="A Python function of the text, as `module:function`.")
    description: str | None = Field(None, description="What is asked for; the next attempt is told when it is not met.")
    timeout: Positive | None = Field(None, description=CHECK_TIMEOUT.help)


def _judged(value: Any) -> Any:
    return {"judge": value} if isinstance(value, str) else value


OneRequirement = Annotated[TextRequirement, BeforeValidator(_judged)]
"""As files write it: a bare text is for a model to judge."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Bench that requirements are made with.

    Attributes:
        cwd: the folder that they start in; `env`: their variables; `log`: what names of their log files begin with.
        grace: seconds between TERM and KILL.
        lanes: lanes that a command holds besides `tests`.
        project: where functions are imported from.
        judge: the model that judges, and `judge_name` its name.
    """

    processes: Processes
    cwd: str
    env: Mapping[str, str | None]
    log: str
    grace: float
    lanes: tuple[str, ...]
    project: str
    judge: Model | None
    judge_name: str | None


def make_requirement(given: Mapping[str, Any], bench: Bench) -> Requirement:
    """A requirement from what a file says, evaluated: a mapping with one of `KINDS`.

    Raises:
        RefusedError: it cannot be made.
    """
    options: dict[str, Any] = {"timeout": given["timeout"]} if given.get("timeout") else {}
    said = given.get("description")
    try:
        if given.get("regex") is not None:
            return Requirement.regex(given["regex"], said, absent=bool(given.get("absent")), **options)
        if given.get("schema") is not None:
            return Requirement.json_schema(given["schema"], said, **options)
        if given.get("check") is not None:
            return TextCommand(given["check"], bench, said, **options)
        if given.get("function") is not None:
            return _function(given["function"], bench, said, **options)
    except ValueError as failure:
        raise RefusedError(str(failure)) from failure
    if bench.judge is None:
        raise RefusedError(f"there is no model to judge {given['judge']!r}: give the step a `judge`, or a `model`")
    version = f"{bench.judge_name}"
    return Requirement.judged(given["judge"], bench.judge, version=version, **options)


def _function(name: str, bench: Bench, said: str | None, **options: Any) -> Requirement:
    function = imported(name, bench.project)
    written = (function.__doc__ or "").strip().partition("\n")[0] or name
    return Requirement(said or written, function, isolate=not is_async(function), version=name, **options)


def imported(name: str, project: str) -> Callable[..., Any]:
    """The function that `module:function` names, from the project's folder too.

    Raises:
        RefusedError: there is none, or its module cannot be imported.
    """
    module, colon, attribute = name.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise RefusedError(f"{name!r} names no function; write `module:function`")
    if project not in sys.path:
        sys.path.append(project)  # last, so that it hides nothing; the processes that call functions get it too
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except Exception as failure:
        raise RefusedError(f"{name}: {type(failure).__name__}: {failure}") from failure
    if not callable(function):
        raise RefusedError(f"{name}: the module {module} has no function {attribute}")
    return function  # type: ignore[no-any-return]


class TextCommand(Requirement):
    """A shell command that ends with exit status 0; the text is its standard input, and the file `$BAKEOFF_TEXT`.

    Args:
        command: for `sh`.
        bench: see `Bench`.
        description: the command itself if left out.
        timeout: seconds.
    """

    def __init__(
        self, command: str, bench: Bench, description: str | None = None, *, timeout: float = DEFAULT_TIMEOUT
    ) -> None:
        super().__init__(description or command, cost=Cost.PROCESS)
        self.command, self.bench, self.seconds = command, bench, timeout
        self.lanes = (LANE, *bench.lanes)

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        env = json.dumps(dict(self.bench.env), sort_keys=True)
        return f"{super().identity}\0{self.command}\0{self.bench.cwd}\0{env}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Run the command on the text."""
        bench = self.bench
        with temporary_folder("text") as folder:
            file = Path(folder, "text")
            file.write_text(subject.text, "utf-8", "surrogateescape")
            try:
                finished = await bench.processes.run(
                    Command(
                        ("sh", "-c", f'exec < "$BAKEOFF_TEXT"\n{self.command}'),
                        bench.cwd,
                        {**bench.env, "BAKEOFF_TEXT": str(file)},
                        log=f"{bench.log}{os.urandom(4).hex()}",
                        timeout=self.seconds,
                        grace=bench.grace,
                    )
                )
            except SpawnError as failure:
                return ValidationResult(False, str(failure), error="spawn")
        receipt: dict[str, Any] = {"command": self.command, "exit_code": finished.exit_code}
        receipt["seconds"] = round(finished.seconds, 3)
        if finished.stdout.path is not None:
            receipt["log"] = os.path.basename(finished.stdout.path)
        printed = tail(text_of(finished))
        if finished.ended_by == "timeout":
            said = f"it did not end within {self.seconds:g} s\n{printed}".rstrip()
            return ValidationResult(False, said, error="timeout", receipt=receipt)
        if finished.ended_by is not None or finished.exit_code != 0:
            said = finished.message or f"exit status {finished.exit_code}"
            return ValidationResult(False, f"{said}\n{printed}".rstrip(), receipt=receipt)
        value = finished.stdout.value
        return self.met(value if isinstance(value, str) else value.excerpt, receipt)

    def met(self, printed: str, receipt: Mapping[str, Any]) -> ValidationResult:
        """The verdict where the command ended well."""
        return ValidationResult(True, receipt=receipt)


async def try_commands(requirements: Sequence[Requirement], run: Run, prefix: str, lanes: tuple[str, ...] = ()) -> None:
    """Run the commands among the requirements once on an empty text, before anything is paid.

    What an earlier session found is found again. One that only fails, or has not ended in `PATIENCE`, is left as it is.

    Args:
        requirements: those that are commands are tried.
        run: where each is a node.
        prefix: what the paths of the nodes begin with.
        lanes: lanes that they hold besides.

    Passes on PreflightError: one cannot judge.
    """
    commands = [one for one in requirements if isinstance(one, TextCommand)]
    works = [partial(_tried, one) for one in commands]
    await tried_all(run, works, prefix, (LANE, *lanes), _WAYS)


async def _tried(given: TextCommand) -> Outcome:
    kind = "score" if isinstance(given, TextScore) else "check"
    short = TextCommand(given.command, given.bench, timeout=min(PATIENCE, given.seconds))
    found = await short.check(Subject(""))
    output = {"command": given.command, "kind": kind, "verdict": to_json(found)}
    # No name in the command counts for missing: what it names may be in the text, which is empty here.
    why = None if found.error == "timeout" else why_unrunnable("", found)
    return (
        Outcome(output=output)
        if why is None
        else Outcome(Status.FAILED, output, unable(kind, given.command, why), NODE)
    )


_WAYS = Ways("Checks were run on an empty text, and nothing was paid", "Where a check needs more than that,")


class TextScore(TextCommand):
    """A shell command that prints a number, the last one counts: the score. Met when it does."""

    def met(self, printed: str, receipt: Mapping[str, Any]) -> ValidationResult:
        """The score."""
        numbers = _NUMBER.findall(printed)
        if not numbers:
            return ValidationResult(False, "the score's command printed no number", error="no score", receipt=receipt)
        return ValidationResult(True, score=float(numbers[-1]), receipt=receipt)


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
