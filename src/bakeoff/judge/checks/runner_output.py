"""Output of test runners: how many tests ran, and which failed. A runner that ran none has not judged anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

MOST_NAMES = 50
"""Names of failing tests that are kept."""

_ANSI = re.compile(r"\x1b\[[0-9;]{0,40}m")


@dataclass(frozen=True, slots=True)
class Tests:
    """Counts and names that a test run tells.

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
        """Complaint of tests that `base` ran and this left out; None where there are none, or nobody can say."""
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

    @classmethod
    def of(cls, found: dict[str, Any], **more: Any) -> Tests:
        """From what a reader process found, with more of what is known."""
        known = found | more | {"failing": tuple(found["failing"])[:MOST_NAMES]}
        return cls(**known | {name: frozenset(found.get(name, ())) for name in ("names", "left_out")})

    def to_json(self) -> dict[str, object]:
        """For a receipt."""
        found = {name: getattr(self, name) for name in ("runner", "ran", "failed", "skipped", "source")}
        return found | ({"failing": list(self.failing)} if self.failing else {})


# What is printed may be anything. So every repetition in what is sought in it has a bound: looking takes time in
# proportion to the text alone, and no number is too long to be one.

_GO = re.compile(
    r"(?m)^[ \t]{0,80}--- FAIL: (?P<name>\S{1,500})|^(?:FAIL|ok)[ \t]{1,20}(?P<owner>\S{1,500})[ \t]{1,20}"
    r"(?:\[(?:build|setup) (?P<unmade>failed)\]|[\d.(\[])"
)
_CARGO = re.compile(
    r"(?m)^test (?P<name>\S[^\n]{0,500}?) \.\.\. FAILED$|^test result: (?P<section>FAILED)"
    r"|to rerun pass [`'](?P<owner>[^`'\n]{1,200})[`']"
)
_NEXTEST = re.compile(
    r"(?m)^[ \t]{0,40}(?:FAIL|SIG\w{1,10}|TIMEOUT|ABORT) \[[^\]\n]{0,40}\](?: {0,20}\([^)\n]{0,40}\))?"
    r" (\S{1,200}) (\S[^\n]{0,500})"
)
_JEST = re.compile(
    r"(?m)^(?:FAIL|PASS)[ \t]{1,20}(?P<owner>\S[^\n]{0,500}?)(?: \([\d.]{1,20} m?s\))?[ \t]{0,20}$"
    r"|^[ \t]{0,40}● (?P<name>[^\n]{1,500})"
)
_NO_TESTS = ("Console", "Validation Error:", "Validation Warning:")
"""What jest marks likewise."""


def named(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(name.strip() for name in names))


def go(text: str) -> Iterator[str]:
    """Tests with their package, which is named behind them; packages that could not be built, by their own name."""
    waiting: list[str] = []
    for found in _GO.finditer(text):
        if found["name"] is not None:
            waiting.append(found["name"])
            continue
        # A package that is not built has no test that failed; without its name another's red test would stand for it.
        yield from ([found["owner"]] if found["unmade"] else [f"{name} ({found['owner']})" for name in waiting])
        waiting = [] if not found["unmade"] else waiting
    yield from waiting


def cargo(text: str) -> Iterator[str]:
    """Tests with what `cargo test` is to be passed to run their target again.

    It says that on standard error, once for each target with a red test, in their order; where there are as many of
    these as of red results, they belong together.
    """
    sections: list[list[str]] = [[]]
    owners: list[str] = []
    for found in _CARGO.finditer(text):
        if found["name"] is not None:
            sections[-1].append(found["name"])
        elif found["section"] is not None:
            sections.append([])
        else:
            owners.append(found["owner"])
    red = sections[:-1]
    if len(owners) == len(red) and not sections[-1]:
        yield from (f"{name} ({owner})" for names, owner in zip(red, owners, strict=True) for name in names)
    else:
        yield from (name for names in sections for name in names)
    yield from (f"{name.rstrip()} ({owner})" for owner, name in _NEXTEST.findall(text))


def jest(text: str) -> Iterator[str]:
    """Tests with their file, which is named before them."""
    owner = None
    for found in _JEST.finditer(text):
        if found["owner"] is not None:
            owner = found["owner"].rpartition(" ")[2]
        elif not found["name"].strip().startswith(_NO_TESTS):
            yield found["name"].strip() + ("" if owner is None else f" ({owner})")


@dataclass(frozen=True, slots=True)
class _Runner:
    """Patterns by which one runner, and what it prints, is known.

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
        r"(?<!\d)(\d{1,9}) (?:passed|failed)\b(?=[^\n;]{0,200} in \d[\d.]{0,12}s)",
        r"(?m)^(?:FAILED|ERROR) (\S{1,500})",
        skipped=r"(?<!\d)(\d{1,9}) skipped\b(?=[^\n;]{0,200} in \d[\d.]{0,12}s)",
    ),
    _Runner(
        "unittest", _word("unittest"), r"(?m)^Ran (\d{1,9}) tests? in",
        r"(?m)^(?:FAIL|ERROR): (\S{1,500}(?: \([\w.]{1,500}\))?)",
        skipped=r"(?m)^(?:OK|FAILED) \([^\n]{0,100}\bskipped=(\d{1,9})", counted=True,
    ),
    _Runner(
        "go test", r"\bgo\s+test\b", r"(?!)", go,
        none=r"\[no test files\]|\[no tests to run\]|no packages to test",
    ),
    _Runner(
        "cargo test", r"\bcargo\s+(?:test|nextest)\b",
        r"test result: \w{1,20}\. (\d{1,9}) passed; (\d{1,9}) failed|"
        r"Summary \[[^\]\n]{0,40}\] {1,20}(\d{1,9}) tests? run",
        cargo, skipped=r"test result: [^\n]{0,100}? (\d{1,9}) ignored",
    ),
    _Runner(
        "jest", _word("jest"), r"(?m)^Tests:[ \t]{1,20}(?:[^\n]{0,200}, )?(\d{1,9}) total", jest,
        skipped=r"(?m)^Tests:[^\n]{0,200}?(?<!\d)(\d{1,9}) (?:skipped|todo)"
        r"(?:[^\n]{0,100}?(\d{1,9}) (?:skipped|todo))?",
        counted=True,
    ),
    _Runner(
        "vitest", _word("vitest"), r"(?m)^[ \t]{0,40}Tests[ \t]{1,20}[^\n]{0,200}\((\d{1,9})\)",
        r"(?m)^[ \t]{0,40}(?:FAIL|×)[ \t]{1,20}(\S[^\n]{0,500})",
        skipped=r"(?m)^[ \t]{0,40}Tests[ \t][^\n]{0,200}?(?<!\d)(\d{1,9}) (?:skipped|todo)"
        r"(?:[^\n]{0,100}?(\d{1,9}) (?:skipped|todo))?",
        counted=True,
    ),
    _Runner(
        "mocha", _word("mocha"), r"(?m)^[ \t]{0,40}(\d{1,9}) (?:passing|failing)",
        r"(?m)^[ \t]{1,40}\d{1,9}\) ([^\n]{1,500})", skipped=r"(?m)^[ \t]{0,40}(\d{1,9}) pending",
    ),
    _Runner(
        "node --test", r"\bnode\b.*--test\b", r"(?m)^(?:#|ℹ) tests (\d{1,9})",
        r"(?m)^[ \t]{0,40}(?:not ok \d{1,9} -|✖) ([^\n]{1,500})",
        skipped=r"(?m)^(?:#|ℹ) (?:skipped|todo|cancelled) (\d{1,9})", counted=True,
    ),
    _Runner(
        "rspec", _word("rspec"), r"(?<!\d)(\d{1,9}) examples?, \d{1,9} failures?", r"(?m)^rspec (\S{1,500})",
        skipped=r"examples?, \d{1,9} failures?, (\d{1,9}) pending", counted=True,
    ),
)  # fmt: skip


def printed(data: bytes, command: str) -> dict[str, Any] | None:
    """`read_output` for a reader process: its result as JSON."""
    found = read_output(command, data.decode("utf-8", "replace"))
    return None if found is None else {name: getattr(found, name) for name in _TOLD}


_TOLD = ("runner", "ran", "failed", "skipped", "failing")


def read_output(command: str, output: str) -> Tests | None:
    """Counts and names in a command's output; None where neither it nor its output names a known runner."""
    text = _ANSI.sub("", output.replace("\r\n", "\n"))
    # Who is named comes first: what others print may look alike.
    for runner in sorted(_RUNNERS, key=lambda runner: re.search(runner.called, command) is None):
        counts = _numbers(runner.ran, text)
        if re.search(runner.called, command) is None and not any(counts):
            continue
        names = re.findall(runner.failing, text) if isinstance(runner.failing, str) else runner.failing(text)
        failing = named(names)
        if runner.name == "go test":
            return Tests(runner.name, None if _GO_SOME.search(text) else 0, len(failing), 0, failing[:MOST_NAMES])
        skipped = sum(_numbers(runner.skipped, text))
        ran = max(0, sum(counts) - skipped) if runner.counted else sum(counts)
        return Tests(runner.name, ran, len(failing), skipped, failing[:MOST_NAMES])
    return None


_GO_SOME = re.compile(
    r"(?m)^(?:ok|FAIL)[ \t]{1,20}\S{1,500}[ \t]{1,20}[\d.(](?![^\n]{0,500}no tests to run)|^[ \t]{0,80}--- FAIL: "
)


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


def _whole(name: str) -> str:
    """The test that a case belongs to."""
    return name.partition("[")[0]
