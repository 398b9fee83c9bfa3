"""Requirements that are tests of a Python function, given as calls and what they should return.

The function runs in a process of its own that only learns the arguments. What should come out, and the comparing,
stay here: the code under test cannot write its own verdict.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from bakeoff.api.codec import strict_json
from bakeoff.judge.calls_worker import READY
from bakeoff.judge.fences import unfenced
from bakeoff.judge.requirement import Cost, Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import ValidationResult
from bakeoff.process.command import Command, Finished, Processes
from bakeoff.reader.reading import UnreadError, read
from bakeoff.report.escape import one_line

PYTHON = os.path.realpath(sys.executable)
"""The real interpreter, which a sandbox shows under this name; an environment's is not needed."""
PROGRAM = str(Path(__file__).with_name("calls_worker.py"))
PIECE = 100_000
"""Characters of one argument of a program: Linux takes 131,071."""
OUTPUT = 1 << 20
"""Bytes that all results may have together."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test: a call, and what it returns.

    Attributes:
        arguments: JSON values.
        expected: a JSON value, compared type by type (1 is neither True nor 1.0); or a function of the result that
            says whether it is right, called in this process.
    """

    arguments: Sequence[Any]
    expected: Any

    def accepts(self, value: Any) -> bool:
        """Whether a result, plain JSON, is right."""
        if callable(self.expected):
            return self.expected(value) is True
        return same(value, self.expected)

    def shown(self, function: str) -> str:
        """The call as a person writes it."""
        return f"{function}({', '.join(_short(argument) for argument in self.arguments)})"


class Placing(Protocol):
    """Makes a command of an argument list: `command` of a slot or of a sandbox, or `scrubbed`."""

    def __call__(self, argv: Sequence[str], **more: Any) -> Command:
        """The command; `more` as for `Command`."""
        ...


def scrubbed(argv: Sequence[str], **more: Any) -> Command:
    """A command without any of this process's variables, so that it sees no key. It is no sandbox: files are there."""
    return Command(argv, "/", dict.fromkeys(os.environ), **more)


class PythonTests(Requirement):
    """The output is Python whose `function` passes all cases; it may use the standard library.

    It runs in a fresh interpreter with limits, started anew for each output. A verdict passes only on a complete
    report: a result of every call, all right, and an end in order. Whatever the code does instead (an endless loop,
    `os._exit`, printing, closing or filling descriptors) is a failure with its reason. The score is the share of
    cases passed.

    Args:
        function: its name.
        cases: the tests; at least one.
        processes: runs the process.
        description: what it stands for.
        source: makes the program of an output; if left out, the output itself is, without Markdown fences around it.
            A durable run does not see that it changed: change `version` then.
        place: makes the command. Code of strangers belongs in a sandbox: give its `command` here.
        timeout: seconds for all calls together.
        cpu: seconds of processor time for them, whole.
        memory: bytes.

    Raises:
        ValueError: there are no cases.

    Passes on TypeError: arguments, or what is expected, are not JSON.
    """

    def __init__(
        self,
        function: str,
        cases: Iterable[Case],
        *,
        processes: Processes,
        description: str | None = None,
        source: Callable[[str], str] | None = None,
        place: Placing = scrubbed,
        timeout: float = 10.0,
        cpu: int = 1,
        memory: int = 512 << 20,
        version: str = "",
    ) -> None:
        self.cases = tuple(cases)
        if not self.cases:
            raise ValueError(f"there are no tests of {function}: nothing would always pass")
        said = description or f"{function} passes {len(self.cases)} tests"
        super().__init__(said, cost=Cost.PROCESS, version=version)
        self.name = function
        self.processes = processes
        self.source = source or (lambda text: unfenced(text, function))
        self.given = source is not None
        self.place = place
        self.seconds = timeout
        self.limits = {"cpu": cpu, "memory": memory}
        self._cases = [[_json(list(case.arguments)), _expected(case.expected)] for case in self.cases]

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{self.name}\0{strict_json(self._cases)}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Run it. Cancelled, the process is gone before this returns.

        Passes on SpawnError: there is no process. Passes on RuntimeError: it did not get as far as the code.
        """
        program = self.source(subject.text)
        job = {
            "source": program,
            "function": self.name,
            "calls": [list(case.arguments) for case in self.cases],
            **self.limits,
        }
        text = json.dumps(job)
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        command = self.place(
            [PYTHON, "-I", "-S", PROGRAM, *pieces], timeout=self.seconds, grace=0.0, output_limit=OUTPUT
        )
        finished = await self.processes.run(command)
        printed = str(finished.stdout.value).encode("utf-8", "surrogatepass")
        try:
            verdict = self._verdict(finished, await read(lines, printed, len(self.cases) + 2))
        except UnreadError as failure:
            return ValidationResult(False, f"what its process reported cannot be read: {failure}")
        if verdict.result or program == subject.text or self.given:
            return verdict
        return replace(verdict, reason=f"{verdict.reason}; the code was taken out of its Markdown fences")

    def _verdict(self, finished: Finished, lines: list[Any]) -> ValidationResult:
        if not lines or lines[0] != READY:
            raise RuntimeError(
                f"the process of the tests did not begin: {_how(finished)} {one_line(str(finished.stderr.value))}"
            )
        outcomes = lines[1:]
        wrong = [self._wrong(case, outcome) for case, outcome in zip(self.cases, outcomes, strict=False)]
        passed = sum(not text for text in wrong)
        count = len(self.cases)
        reasons = [text for text in wrong if text]
        if len(outcomes) < count and not any(_broken(outcome) for outcome in outcomes):
            reasons.append(f"{_how(finished)} during {self.cases[len(outcomes)].shown(self.name)}")
        elif len(outcomes) > count:
            reasons.append(f"it reported {len(outcomes)} results of {count} calls")
        elif not reasons and (finished.exit_code != 0 or finished.ended_by):
            reasons.append(f"{_how(finished)} after the last call")
        receipt = {"tests": count, "passed": passed, "exit_code": finished.exit_code, "judged": "out-of-process"}
        return ValidationResult(not reasons, "; ".join(reasons[:3]), passed / count, receipt=receipt)

    def _wrong(self, case: Case, outcome: Any) -> str:
        """Complaint of the outcome of a case; empty if it is right."""
        call = case.shown(self.name)
        match outcome:
            case {"value": value} if len(outcome) == 1:
                if case.accepts(value):
                    return ""
                return f"{call} is {_short(value)}" + ("" if callable(case.expected) else f", not {case.expected!r}")
            case {"raised": str(text)}:
                return f"{call} raised {one_line(text)}"
            case {"odd": str(text)}:
                return f"{call} returned no plain value: {one_line(text)}"
            case {"broken": str(text)}:
                return f"the code cannot be loaded: {one_line(text)}"
        return f"{call} has no readable result"


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal in type, too."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    return bool(left == right)


def lines(data: bytes, most: int) -> list[Any]:
    """The first lines of what the process reported, as the values that they are in JSON; for a reader process."""
    found = []
    for line in data.decode("utf-8", "replace").split("\n", most)[:-1]:  # what follows the last line end was cut off
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None  # it counts, and is right for no case
        found.append(value if is_shallow(value) else None)
    return found


def is_shallow(value: Any) -> bool:
    """Whether a JSON value nests no deeper than can be compared and shown anywhere."""
    layer = [value]
    for _ in range(DEPTH):
        layer = [
            inner
            for each in layer
            if isinstance(each, list | dict)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not layer:
            return True
    return False


DEPTH = 100
"""Values inside each other."""


def _broken(outcome: Any) -> bool:
    return isinstance(outcome, dict) and "broken" in outcome


def _how(finished: Finished) -> str:
    code = finished.exit_code
    if finished.ended_by == "timeout":
        return f"it was ended after {finished.seconds:.1f} s"
    if finished.ended_by:
        return f"it was ended ({finished.ended_by})"
    return f"it died of signal {-code}" if code < 0 else f"it ended with status {code}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json(value: Any) -> Any:
    """The value, which JSON keeps as it is.

    Raises:
        TypeError: it does not.
    """
    if not same(json.loads(strict_json(value)), value):
        raise TypeError(f"{value!r:.100} changes when written as JSON: use lists and text keys")
    return value


def _expected(expected: Any) -> Any:
    if callable(expected):
        return f"{getattr(expected, '__module__', '')}.{getattr(expected, '__qualname__', repr(type(expected)))}"
    return _json(expected)
