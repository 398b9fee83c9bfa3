"""Every reader of what others wrote, as a function of bytes that a reader process can run.

What one raises that is not confined is a fault.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bakeoff.agent import failures, output_reader
from bakeoff.agent.clis import entry_of
from bakeoff.judge import python_tests
from bakeoff.judge.checks import junit, missing_files, protected, runner_output, score
from bakeoff.judge.checks.check_runner import tail
from bakeoff.judge.checks.diagnosis import broken, why_unrunnable
from bakeoff.judge.codec import Malformed, encode
from bakeoff.judge.timing.inside import frames as timing_frames
from bakeoff.judge.timing.plan import Job
from bakeoff.judge.timing.sample import Sample
from bakeoff.judge.timing.sample import read as read_sample
from bakeoff.judge.verdict import ValidationResult, read_answer
from bakeoff.optimize.behaviour import explanation
from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.behaviour.runs import Call, TestRun
from bakeoff.optimize.context.profiling import profile
from bakeoff.plan.merge.rules import structured
from bakeoff.plan.run import interfaces
from bakeoff.plan.run.split import question as asking
from bakeoff.report import escape
from bakeoff.sampling.similarity import exact, normalised, numeric
from bakeoff.settings import BUILT_IN
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.guard import guarded
from bakeoff.workspace.results.scan import entries_of


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes:
        function: of the bytes.
        examples: what it is made for.
        confined: it runs in reader processes only: whoever asks takes whatever it raises.
        wild: it uses parsers that can be made to run out of time or memory, or to end their process.
    """

    function: Callable[..., Any]
    examples: tuple[bytes, ...]
    confined: bool = False
    wild: bool = False


def index(data: bytes) -> int:
    try:
        return sum(1 for _ in entries_of(data, 20, "it"))
    except (WorkspaceError, struct.error, ValueError, IndexError):
        return -1


FORMATS = sorted({"text", *(entry_of(name).events for name in BUILT_IN)})


def agents(data: bytes) -> None:
    for name in FORMATS:
        output_reader.begin(b"", name)
        output_reader.feed(data[: len(data) // 2])
        output_reader.feed(data[len(data) // 2 :])
        json.dumps(output_reader.end(data[-16_384:]))


def said(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    failures.kind_of(text)
    failures.error_lines(text)
    failures.pause_of(text)
    failures.one_line(text)
    escape.visible(text)
    escape.one_line(text)
    escape.path_text(text)
    escape.markup(text)
    failed = ValidationResult(False, tail(text), receipt={"exit_code": 1})
    broken(failed)
    why_unrunnable("make test", failed)
    list(missing_files._named(tail(text)))
    score.last_number(text)
    read_answer(text)


def answers(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for key in (exact, normalised, numeric(2)):
        key(text)


def output(data: bytes) -> None:
    for command in (
        "make test",
        "go test ./...",
        "npx jest",
        "cargo test",
        "npx vitest",
        "npx mocha",
        "rspec",
        "node --test",
    ):
        runner_output.printed(data, command)


def reports(data: bytes) -> None:
    try:
        header, parts = frames.unpack(data, b"")
    except frames.BrokenFrame:
        return
    run = TestRun()
    try:
        run.take(header, parts)
        Call.read("t", 0, header, parts)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return


def samples(data: bytes) -> None:
    try:
        header = timing_frames.parsed(data)
    except timing_frames.Broken:
        return
    job = Job(inputs=(b"x",), calls=(1,), order=(0,), repeats=1, seed=1, seconds=1.0, depth=0)
    found = Sample(0)
    read_sample(found, job, header, data)
    if found.failure is None:
        found.quiet(0, job, True)
        found.used(0, job)


def results(data: bytes) -> None:
    for sizes in ([len(data), 0, len(SMALL), 0], [0, len(data), 0, len(SMALL)]):
        try:
            explanation.results(data + SMALL, sizes)
        except Malformed:
            continue
    try:
        explanation.arguments(data, [len(data)])
    except (Malformed, ValueError, AttributeError):
        return


def project(data: bytes) -> None:
    for name in ("pyproject.toml", "package.json"):
        try:
            protected.configuration(data, name)
        except (ValueError, AttributeError):
            continue


def merged(data: bytes) -> None:
    for form in {*structured.FORMS.values(), "list", structured.OTHER}:
        structured.merged(data * 2, [0, len(data), len(data)], form)


def offered(data: bytes) -> None:
    for path in ("a.py", "a.ts"):
        interfaces.lines_of(data, path)


def cases(data: bytes) -> None:
    for value in python_tests.lines(data, 100):
        repr(value)
        python_tests.same(value, value)


SMALL = encode([1, "x", {"a": (2.0, None)}])

PRINTED = (
    b"======= 2 failed, 5 passed in 0.31s =======\n", b"Ran 3 tests in 0.1s\n\nFAILED (failures=1, skipped=1)\n",
    b"--- FAIL: TestAdd (0.00s)\nFAIL\texample.org/m\t0.002s\n", b"ok  \texample.org/m\t0.002s\n",
    b"Tests:       1 failed, 2 passed, 3 total\n  \xe2\x97\x8f adds\nFAIL src/a.test.js (5.2 s)\n",
    b" Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", b"  3 passing (5ms)\n  1 failing\n\n  1) adds\n",
    b"# tests 2\nnot ok 1 - adds\n", b"test a ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n",
    b"3 examples, 1 failure\nrspec ./a_spec.rb:3 # adds\n", b"        FAIL [   0.005s] (2/3) a tests::same\n",
)  # fmt: skip
EVENTS = (
    b'{"type": "result", "subtype": "success", "result": "done", "num_turns": 2, "usage": {"input_tokens": 10}}\n',
    b'{"type": "item.completed", "item": {"type": "agent_message", "text": "x"}}\n{"type": "turn.completed", "usage": {}}\n',
    b'{"type": "message", "role": "assistant", "content": "x", "delta": true}\n', b"Tokens: 1.2k sent, 30 received.\n",
    b'{"type": "step_finish", "part": {"reason": "stop", "tokens": {"input": 1, "cache": {"read": 2}}, "cost": 0.1}}\n',
    b'[{"type": "system", "session_id": "s-1"}]', b'{"info": {"exit_status": "x"}, "messages": [{"role": "assistant"}]}',
)  # fmt: skip
WORDS = (
    b"Rate limit reached. Please try again in 1m30s", b"[API Error: 529]", b"Error: permission denied by api", b"yes, it is",
    b'{"verdict": "yes", "score": 0.5, "reason": "x"}', b"a 1 b -2.5e1\n", b"\x1b[31mred\x1b[0m", b"1,000.5 or 3e7",
)  # fmt: skip
XML = (b'<testsuites><testsuite><testcase name="a" classname="c"><failure/></testcase></testsuite></testsuites>',)
FILES = (
    b"[tool.pytest.ini_options]\naddopts = '-q'\n", b'{"scripts": {"test": "jest"}, "jest": {}}', b"a: &a [1, 2]\nb: *a\n",
    b"import os\n\n\nclass A(B):\n    def f(self, x: int) -> str:\n        return x\n", b"export function f(a) {\n}\n",
)  # fmt: skip
FRAMES = tuple(
    json.dumps([{"say": say, "test": "t", "index": 1, "phase": "call", "outcome": "passed", "seconds": 0.1, "tests": []}, []])
    .encode()
    for say in ("begin", "call", "phase", "collected", "lost", "end")
)  # fmt: skip
SAMPLE = json.dumps({
    "changed": [], "modules": [], "cold": [[5, 5]], "warm": [[[5, 5]]], "waits": 0, "changes": [], "kept": [],
    "digests": [["a"]], "sizes": [1], "peak": 1,
}).encode()  # fmt: skip
INDEX = b"DIRC" + struct.pack(">2I", 4, 2) + (bytes(60) + struct.pack(">H", 0) + b"\0a.txt\0") * 2

TARGETS = {
    "output of test runners": Target(output, PRINTED),
    "JUnit reports": Target(junit.read, XML, confined=True),
    "project files": Target(project, FILES, confined=True, wild=True),
    "output of agents": Target(agents, EVENTS),
    "words": Target(said, WORDS),
    "answers": Target(answers, WORDS),
    "reports of tests": Target(reports, FRAMES),
    "reports of timing": Target(samples, (SAMPLE,)),
    "results of calls": Target(results, (SMALL, encode(((1,), {"a": [2]}))), confined=True),
    "results of cases": Target(cases, (b'{"value": [1]}\n', b'{"raised": "x"}\n'), confined=True),
    "structured files": Target(merged, FILES, confined=True, wild=True),
    "interfaces": Target(offered, FILES, confined=True, wild=True),
    "profiles": Target(profile.rows_in, (b'{"lines": [[1, 2, 3]]}',), confined=True),
    "subplans": Target(
        asking.subplans_in, (b'{"subplans": [{"name": "a", "files": ["b"], "goal": ""}]}',), confined=True, wild=True
    ),
    "notes of modules": Target(guarded.scanned, (b"('a', '/x')\n",), confined=True, wild=True),
    "indexes": Target(index, (INDEX, INDEX.replace(b"\0\0\0\4", b"\0\0\0\2"))),
}


def run(data: bytes, name: str) -> None:
    """One of them, in a reader process."""
    TARGETS[name].function(data)
