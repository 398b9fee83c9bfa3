"""Options of judging behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DERIVED, RECORDED = "derived", "recorded"


@dataclass(frozen=True, slots=True)
class BehaviourOptions:
    """Settings of one job.

    Attributes:
        level: of the sandbox: `full`, `weak`, `none`.
        trust: accept what can only be judged in the process of the candidate, which hostile code can forge.
        cold: start a fresh interpreter for each evaluation instead of forking a warm one.
        inputs: `derived` (recorded and derived ones), or `recorded` alone.
        tests: what pytest is given: files and folders, relative to the root; empty for what the project configures.
        python: the interpreter; None to look for one that has pytest.
        timeout: seconds of a test; a quick test gets less, a slow one more (see `time_limit`).
        floor: seconds that every test gets at least.
        messages: compare the texts of exceptions and warnings, too.
        warnings: compare which warnings are given, too.
        stderr: compare standard error, too.
        derived: how many derived inputs.
        recorded: how many recorded calls.
        repeats: processes in which recorded and derived calls are repeated.
        memory: bytes that the original may take, and a candidate at least; it may take four times the original's peak.
        output: bytes that may be printed.
        disk: bytes that may be written.
        result: bytes of one call's arguments or results.
        noted: values in the arguments of one test's calls that are noted in the test's own process, some microseconds
            each: an object that grows is noted at each call of its methods. 64 bytes of a long one count as a value.
    """

    level: str = "full"
    trust: bool = False
    cold: bool = False
    inputs: str = DERIVED
    tests: Sequence[str] = ()
    python: str | None = None
    timeout: float = 15.0
    floor: float = 5.0
    messages: bool = False
    warnings: bool = True
    stderr: bool = True
    derived: int = 60
    recorded: int = 300
    repeats: int = 2
    memory: int = 256 << 20
    output: int = 4 << 20
    disk: int = 256 << 20
    result: int = 32 << 20
    noted: int = 1_000_000

    def __post_init__(self) -> None:
        if self.inputs not in (DERIVED, RECORDED):
            raise ValueError(f"inputs must be {DERIVED} or {RECORDED}, not {self.inputs!r}")

    def time_limit(self, took: float) -> float:
        """Seconds for what took the original `took`: twenty times as long, at least `floor`, at most `timeout`.

        What takes the original long gets five times that, whatever `timeout` says.
        """
        return max(min(self.timeout, max(self.floor, 20 * took)), 5 * took)
