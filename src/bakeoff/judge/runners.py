"""What test runners print: how many tests ran, and which failed. A runner that ran none has not judged anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from xml.etree import ElementTree

from bakeoff.judge.failing import cargo, go, jest, named

MOST_NAMES = 50
"""Names of failing tests that are kept."""

REPORT_LIMIT = 64 << 20
"""Bytes of a JUnit report that are read."""

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Tests:
    """What a test run says of itself.

    Attributes:
        runner: who ran them.
        ran: how many were run; None where the runner does not tell, but some did.
        failed: how many of them failed.
        skipped: how many were not run.
        failing: names of those that failed.
        source: `junit` (a report in a file) or `output` (what it printed).
        names: of those that ran to their end; `left_out`: of those that were skipped. Known by a report alone.
    """

    runner: str
    ran: int | None
    failed: int = 0
    skipped: int = 0
    failing: tuple[str, ...] = ()
    source: str = "output"
    names: frozenset[str] = field(default=frozenset(), repr=False)
    left_out: frozenset[str] = field(default=frozenset(), repr=False)

    def fewer_than(self, base: Tests) -> str | None:
        """Which tests it left out that `base` ran; None where there are none, or nobody can say."""
        if self.source == "junit" and base.source == "junit":
            # Cases of one test may differ, as where they are made of what the code lists.
            whole = {_whole(name) for name in self.names | self.left_out}
            missing = {name for name in base.names if name in self.left_out or _whole(name) not in whole}
            if not missing:
                return None
            said = ", ".join(sorted(missing)[:5]) + (", ..." if len(missing) > 5 else "")
            return f"{len(missing)} of the tests that run on the snapshot did not run: {said}"
        if self.ran is None or base.ran is None or self.runner != base.runner or self.ran >= base.ran:
            return None
        return f"{self.ran} tests ran; {base.ran} run on the snapshot"

    def to_json(self) -> dict[str, object]:
        """For a receipt."""
        found = {name: getattr(self, name) for name in ("runner", "ran", "failed", "skipped", "source")}
        return found | ({"failing": list(self.failing)} if self.failing else {})


@dataclass(frozen=True, slots=True)
class _Runner:
    """How one runner is known.

    Attributes:
        called: found in a command that names it.
        ran: found once for each part of the run; its groups are numbers of tests that ran.
        failing: its group is the name of a test that failed; or what finds the names.
        none: found when it ran nothing, where no number says so.
        skipped: as `ran`, numbers of tests that were not run; and `counted`: whether `ran` counts them, too.
    """

    name: str
    called: str
    ran: str
    failing: str | Callable[[str], Iterable[str]]
    none: str = r"(?!)"
    skipped: str = r"(?!)"
    counted: bool = False


def _word(name: str) -> str:
    """A program's name where a shell would take it for a command or an argument of one."""
    return rf"(?:^|[\s;&|(/]){name}(?=$|[\s;&|)])"


_RUNNERS = (
    _Runner(
        "pytest", _word(r"(?:pytest|py\.test)"),
        r"(\d+) (?:passed|failed)\b(?=[^\n;]* in \d[\d.]*s)",
        r"(?m)^(?:FAILED|ERROR) (\S+)",
        skipped=r"(\d+) skipped\b(?=[^\n;]* in \d[\d.]*s)",
    ),
    _Runner(
        "unittest", _word("unittest"), r"(?m)^Ran (\d+) tests? in", r"(?m)^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)",
        skipped=r"(?m)^(?:OK|FAILED) \(.*\bskipped=(\d+)", counted=True,
    ),
    _Runner(
        "go test", r"\bgo\s+test\b", r"(?!)", go,
        none=r"\[no test files\]|\[no tests to run\]|no packages to test",
    ),
    _Runner(
        "cargo test", r"\bcargo\s+(?:test|nextest)\b",
        r"test result: \w+\. (\d+) passed; (\d+) failed|Summary \[[^\]]*\]\s+(\d+) tests? run",
        cargo, skipped=r"test result: .* (\d+) ignored",
    ),
    _Runner(
        "jest", _word("jest"), r"(?m)^Tests:\s+(?:.*, )?(\d+) total", jest,
        skipped=r"(?m)^Tests:.*?(\d+) (?:skipped|todo)(?:.*?(\d+) (?:skipped|todo))?", counted=True,
    ),
    _Runner(
        "vitest", _word("vitest"), r"(?m)^\s*Tests\s+.*\((\d+)\)", r"(?m)^\s*(?:FAIL|×)\s+(.+)$",
        skipped=r"(?m)^\s*Tests\s.*?(\d+) (?:skipped|todo)(?:.*?(\d+) (?:skipped|todo))?", counted=True,
    ),
    _Runner(
        "mocha", _word("mocha"), r"(?m)^\s*(\d+) (?:passing|failing)", r"(?m)^\s+\d+\) (.+)$",
        skipped=r"(?m)^\s*(\d+) pending",
    ),
    _Runner(
        "node --test", r"\bnode\b.*--test\b", r"(?m)^(?:#|ℹ) tests (\d+)", r"(?m)^\s*(?:not ok \d+ -|✖) (.+)$",
        skipped=r"(?m)^(?:#|ℹ) (?:skipped|todo|cancelled) (\d+)", counted=True,
    ),
    _Runner(
        "rspec", _word("rspec"), r"(\d+) examples?, \d+ failures?", r"(?m)^rspec (\S+)",
        skipped=r"examples?, \d+ failures?, (\d+) pending", counted=True,
    ),
)  # fmt: skip


def read_output(command: str, output: str) -> Tests | None:
    """What a command's output says of tests; None where neither it nor its output names a known runner."""
    text = _ANSI.sub("", output)
    # Who is named comes first: what others print may look alike.
    for runner in sorted(_RUNNERS, key=lambda runner: re.search(runner.called, command) is None):
        counts = _numbers(runner.ran, text)
        if re.search(runner.called, command) is None and not any(counts):
            continue
        names = re.findall(runner.failing, text) if isinstance(runner.failing, str) else runner.failing(text)
        failing = named(names)
        if runner.name == "go test":
            some = re.search(r"(?m)^(?:ok|FAIL)\s+\S+\s+[\d.(](?!.*no tests to run)|^\s*--- FAIL: ", text)
            return Tests(runner.name, None if some else 0, len(failing), 0, failing[:MOST_NAMES])
        skipped = sum(_numbers(runner.skipped, text))
        ran = max(0, sum(counts) - skipped) if runner.counted else sum(counts)
        return Tests(runner.name, ran, len(failing), skipped, failing[:MOST_NAMES])
    return None


def _numbers(pattern: str, text: str) -> list[int]:
    """For each place where the pattern is found, the sum of its groups."""
    return [sum(int(number or 0) for number in found.groups()) for found in re.finditer(pattern, text)]


def names_pytest(command: str) -> bool:
    """Whether the command runs pytest itself."""
    return re.search(_RUNNERS[0].called, command) is not None


def names_python(command: str) -> bool:
    """Whether the command runs Python by name, or a tool that is written in it and runs the project's code."""
    return _PYTHON.search(command) is not None


_PYTHON = re.compile(_word(r"(?:python[\d.]*|pytest|py\.test|unittest|tox|nox|coverage|trial|nose2|stestr|hypothesis)"))


def read_junit(data: bytes | None, runner: str) -> Tests | None:
    """What a JUnit report says; None where there is none that can be read."""
    # No report has these, and they can be made to explode.
    if data is None or b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        return None
    try:
        root = ElementTree.fromstring(data)  # noqa: S314  (see above)
    except ElementTree.ParseError:
        return None
    ran = failed = skipped = 0
    failing: list[str] = []
    names, left_out = set(), set()
    for case in root.iter("testcase"):
        name, owner = case.get("name") or "?", case.get("classname")
        name = f"{owner}.{name}" if owner else name
        if case.find("skipped") is not None:
            skipped += 1
            left_out.add(name)
            continue
        ran += 1
        broken = case.find("error") is not None  # a file that cannot be imported has a case of its own
        if broken or case.find("failure") is not None:
            failed += 1
            failing.append(name)
        if not broken:
            names.add(name)
    first = tuple(dict.fromkeys(failing))[:MOST_NAMES]
    return Tests(runner, ran, failed, skipped, first, "junit", frozenset(names), frozenset(left_out))


def _whole(name: str) -> str:
    """The test that a case belongs to."""
    return name.partition("[")[0]
