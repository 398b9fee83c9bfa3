"""Baseline: tests that reach the original, what they see of it, and the calls that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from bakeoff.optimize.behaviour.evaluation import ProcessConfig
from bakeoff.optimize.behaviour.inside.serving import ONCE
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Call
from bakeoff.optimize.source_code.added_attributes import added_attributes
from bakeoff.optimize.target import Target

RECORDED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call of the original that a candidate has to make, too.

    Attributes:
        before: the arguments, encoded.
        expected: what comes of it.
        derived: the arguments were never seen in a test, but made from such.
    """

    before: bytes
    expected: Call
    derived: bool = False


@dataclass(slots=True)
class Baseline:
    """The original, as candidates are compared with it.

    Attributes:
        target: the function.
        source: its file.
        module: the name that its file is imported by.
        sys_path: where the tests import from, as evaluations of the original see it.
        tests: those that are judged with the candidate in another process, with the seconds they take.
        in_process: those that can be judged only in the candidate's process, and why.
        set_aside: those that judge nothing, and why.
        uncollected: files whose tests are not known, as pytest could not collect them, and why.
        passing: all tests that pass and can be repeated, whether they reach the function or not.
        expected: the calls of each of `tests`.
        here: the calls of each of `in_process`, as far as they can be compared.
        printed: what each of `in_process` printed.
        unrepeatable: tests whose calls are not the same from run to run: only their outcome is compared.
        recorded: calls to be repeated, derived ones last.
        evidence: what the original does besides computing.
        evidence_here: what the tests do besides, where it runs in their process.
        wrote: files of the project that it changes.
        leaves: it leaves processes running.
        peak: bytes of memory it takes.
        tree: the snapshot's.
        facts: interpreter and pytest.
        protection: of the sandbox, for the receipt.
        dropped: how many recorded and derived calls are not used.
        root: the project's top, as evaluations of the original see it.
        reusable: it does the same when arguments are objects of earlier calls with other contents.
        later: what comes of calls whose results are used as callers may, by their place in `recorded`.
        state: state around it after all recorded calls, by name: a digest, empty for what is as it was before.
        inner: the tests reach the function itself, and not what its decorators give.
        line: of its definition; where a file has several of its name, of the one that is in force.
    """

    target: Target
    source: bytes
    module: str
    sys_path: list[str]
    tests: dict[str, float]
    in_process: dict[str, str]
    set_aside: dict[str, str]
    passing: dict[str, float]
    expected: dict[str, list[Call]]
    here: dict[str, list[Call]]
    printed: dict[str, tuple[str, ...]]
    unrepeatable: set[str]
    recorded: list[Recorded]
    evidence: set[tuple[str, str]]
    evidence_here: set[tuple[str, str]]
    wrote: set[str]
    leaves: bool
    peak: int
    tree: str
    facts: Mapping[str, Any]
    protection: Mapping[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)
    root: str = ""
    reusable: bool = False
    later: dict[int, Call] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    inner: bool = False
    line: int = 0
    uncollected: Mapping[str, str] = field(default_factory=dict)

    @property
    def unseen(self) -> list[str]:
        """Function and classes whose code is what changes."""
        return unseen_of(self.module, self.target.qualname)

    def added_by(self, files: Mapping[str, bytes | None]) -> Mapping[str, Mapping[str, str]]:
        """Attributes that changed files give the instances of the target's class, as `codec.decode` takes them."""
        own = files.get(str(self.target.path))
        if own is None or "." not in self.target.qualname:
            return {}
        found = added_attributes(self.source, own, self.target.qualname)
        return {f"{self.module}:{name}": attributes for name, attributes in found.items()}

    def serve(self, options: BehaviourOptions, root: str) -> dict[str, Any]:
        """Order for a process that loads a candidate in a project whose top it sees at `root`."""
        return serve_job(self.module, self.target.qualname, self.seen_from(root), root, options, inner=self.inner)

    def seen_from(self, root: str) -> list[str]:
        """`sys_path` as it is where the project's top is seen at `root`: without a sandbox each slot has its own."""
        inside = f"{self.root}/"
        return [root + path[len(self.root) :] if f"{path}/".startswith(inside) else path for path in self.sys_path]

    def receipt(self) -> dict[str, Any]:
        """For the record; JSON types only."""
        derived = sum(call.derived for call in self.recorded)
        return {
            "target": str(self.target),
            "tree": self.tree,
            "tests": len(self.tests),
            "test_names": list(self.tests)[:50],
            "in_process": dict(self.in_process),
            "set_aside": dict(self.set_aside),
            "uncollected": dict(self.uncollected),
            "only_outcome": sorted(self.unrepeatable),
            "calls": sum(map(len, self.expected.values())),
            "recorded": len(self.recorded) - derived,
            "derived": derived,
            "dropped": dict(self.dropped),
            "arguments_reused": self.reusable,
            "results_used_later": len(self.later),
            "state_compared": sorted(name for name, digest in self.state.items() if digest)[:50],
            "environment": {name: self.facts.get(name) for name in ("python", "pytest", "executable")},
            "protection": dict(self.protection),
        }


def names_of(added: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Added attributes as the codec names those that do not count: no caller of the original knows of them."""
    return [f"{cls}.{name}" for cls, attributes in added.items() for name in attributes]


def unseen_of(module: str, qualname: str) -> list[str]:
    """A function and the classes around it, as the codec names them."""
    parts = qualname.split(".")
    return [f"{module}:{'.'.join(parts[: count + 1])}" for count in range(len(parts))]


def serve_job(
    module: str, qualname: str, sys_path: list[str], root: str, options: BehaviourOptions, *, inner: bool
) -> dict[str, Any]:
    """As `inside.serving.Served` takes it."""
    return {
        "module": module,
        "qualname": qualname,
        "sys_path": sys_path,
        "root": root,
        "unseen": unseen_of(module, qualname),
        "added": {},
        "before": [],
        "mode": ONCE,
        "inner": inner,
        **limits_of(options),
    }


def limits_of(options: BehaviourOptions) -> dict[str, int]:
    """Limits on the arguments and results of one call."""
    return {"result_limit": options.result, "items_limit": 10_000, "noted_limit": options.noted}


def job_of_tests(
    target: Target,
    config: ProcessConfig,
    options: BehaviourOptions,
    mode: str,
    *,
    wanted: Mapping[str, float] | None = None,
    module: str = "",
    fit: bool = False,
    doctests: bool = False,
    inner: bool = False,
) -> dict[str, Any]:
    """As `inside.testing.run_tests` takes it.

    Args:
        target: the function.
        config: of the process that runs the tests.
        options: see there.
        mode: of the proxy.
        wanted: tests to run, with the seconds they take; None for all.
        module: the target's, where it is known.
        fit: find out whether tests can be judged out of process.
        doctests: run the doctests of the target's file, too.
        inner: notice calls of the function itself, not of what its decorators give.
    """
    arguments = list(options.tests)
    if wanted is not None:
        files = [test.partition("::")[0] for test in wanted]
        own = str(PurePosixPath(target.path))
        doctests = doctests and any(path == own for path in files)
        arguments = list(dict.fromkeys(path for path in files if path != own or not doctests))
    longest = max((wanted or {}).values(), default=options.timeout)
    return {
        "root": config.root,
        "target": [str(target.path), target.qualname],
        "sources": config.sources,
        "mode": mode,
        "fit": fit,
        "wanted": None if wanted is None else list(wanted),
        "arguments": arguments,
        "timeout": options.time_limit(longest) if wanted is not None else max(60.0, options.timeout),
        "timeouts": {test: options.time_limit(seconds) for test, seconds in (wanted or {}).items()},
        "doctests": doctests,
        "inner": inner,
        "unseen": unseen_of(module, target.qualname) if module else [],
        **limits_of(options),
    }
