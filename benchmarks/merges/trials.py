"""Tests of merged projects: those that fail on what the rules made of a merge, and pass on what people made of it."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bakeoff.plan.merge.hunks import texts_of
from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.merge.trees import Merged
from bakeoff.workspace.repository.git import Git
from benchmarks.merges.cases import blob, remade

SECONDS = 600
"""For the tests of one tree."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One merge of which every Python file in conflict was resolved.

    Attributes:
        merge: the commit that people made.
        files: the Python files that were in conflict.
        passed: how many of the touched tests pass on what people made; none where they cannot be run here.
        broken: those of them that fail, twice, on what the rules made; or files of tests that it cannot collect.
    """

    merge: str
    files: tuple[str, ...]
    passed: int
    broken: tuple[str, ...]


def try_merges(clone: Path, python: str) -> Iterator[Trial]:
    """The merges of a clone that touch tests, each with what these gave when run by `python`; the newest first.

    Touched are files of tests in conflict, and those that are named after a module in conflict. Other files than
    Python's that are not resolved are taken from what people made.
    """
    rules = Rules()
    for git, merge, made in remade(clone):
        files = _resolved(git, rules, merge, made)
        tests = _touched(git, merge, files)
        if not tests:
            continue
        with (
            tempfile.TemporaryDirectory(prefix="people-") as theirs,
            tempfile.TemporaryDirectory(prefix="ours-") as ours,
        ):
            _write(git, merge, {}, Path(theirs))
            passed, failed = _outcomes(python, Path(theirs), tests)
            broken: set[str] = set()
            if passed:
                _write(git, made.tree, files, Path(ours))
                broken = _outcomes(python, Path(ours), tests)[1] - failed
            if broken:
                broken &= _outcomes(python, Path(ours), tests)[1]
            named = tuple(path for path in files if path.endswith(".py"))
            yield Trial(merge, named, len(passed), tuple(sorted(broken)))


def _resolved(git: Git, rules: Rules, merge: str, made: Merged) -> dict[str, bytes | None]:
    """What stands at each path that was in conflict; nothing where a file of Python stays in conflict."""
    files: dict[str, bytes | None] = {}
    for clash in made.clashes:
        texts = texts_of(git, clash)
        found = None if texts is None else rules.resolve(clash.path, texts)
        if found is None and clash.path.endswith(".py"):
            return {}
        files[clash.path] = blob(git, merge, clash.path) if found is None else found.content
    return files


def _touched(git: Git, merge: str, files: Mapping[str, bytes | None]) -> list[str]:
    names = {Path(path).stem.removeprefix("test_").strip("_") for path in files if path.endswith(".py")}
    there = git.run("ls-tree", "-r", "--name-only", "-z", merge).decode().split("\0") if names else []
    return [path for path in there if (test := re.fullmatch(r"(?:.*/)?test_(\w+)\.py", path)) and test[1] in names]


def _write(git: Git, tree: str, files: Mapping[str, bytes | None], folder: Path) -> None:
    """Write a tree with other contents of some files; None for no file."""
    with tarfile.open(fileobj=io.BytesIO(git.run("archive", "--format=tar", tree))) as archive:
        archive.extractall(folder, filter="data")
    for path, content in files.items():
        (folder / path).unlink(missing_ok=True)
        if content is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


def _outcomes(python: str, folder: Path, tests: list[str]) -> tuple[set[str], set[str]]:
    """The tests that pass, and those that fail or cannot be collected."""
    report = folder / ".junit.xml"
    report.unlink(missing_ok=True)
    source = folder / "src" if (folder / "src").is_dir() else folder
    there = [test for test in tests if (folder / test).exists()]
    command = [python, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", f"--junitxml={report}", *there]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, subprocess.TimeoutExpired, ElementTree.ParseError):
        return set(), set()
    failed = {_name(case) for case in cases if case.find("failure") is not None or case.find("error") is not None}
    passed = {_name(case) for case in cases if case.find("skipped") is None} - failed
    return passed, failed


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"
