"""Tests and their configuration: which paths an attempt is judged by, so that it cannot write its own exam."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

PROTECTED = (
    # tests
    "**/tests/**", "**/test/**", "**/testing/**", "**/__tests__/**", "**/spec/**", "**/testdata/**",
    "**/__snapshots__/**", "test_*.py", "*_test.py", "tests.py", "conftest.py", "*_test.go", "*.test.*", "*.spec.*",
    "*_spec.rb",
    # what configures them
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "noxfile.py", ".coveragerc",
    "jest.config.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", "karma.conf.*", ".mocharc*",
    "playwright.config.*", "cypress.config.*", "phpunit.xml*", ".rspec",
    # what bakeoff itself obeys the next time
    "/bakeoff.toml", "/.bakeoff/**",
    # what a Python test run would load before the tests, or in place of its runner
    "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.py", "**/pytest/**", "**/_pytest/**", "unittest.py",
    "**/unittest/**", "pluggy.py", "**/pluggy/**", "iniconfig.py", "**/iniconfig/**",
    "**/*.dist-info/**", "**/*.egg-info/**",
)  # fmt: skip
"""Globs; one without a slash names a file in any folder."""

_RECIPES = {
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"), "gmake": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
    "just": ("justfile", ".justfile", "Justfile"), "task": ("Taskfile.y*ml", "Taskfile.dist.y*ml"),
    "rake": ("Rakefile", "rakefile", "*.rake"), "invoke": ("/tasks.py",),
}  # fmt: skip
"""What says which tests are run, by the program that a check starts."""


@dataclass(frozen=True, slots=True)
class Protection:
    """Which paths of an attempt are taken from the snapshot when it is judged.

    Attributes:
        may_edit: globs of paths that attempts may change although they are tests or configure them.
        protect: further globs that they may not change.
        checks: the commands that judge; what `make` and its like read for them is protected, too.
    """

    may_edit: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Whether the path is taken from the snapshot, whatever an attempt made of it."""
        return self._allowed(path) is False

    def _allowed(self, path: str) -> bool | None:
        """True: it may be edited; False: it may not; None: nothing is said of it."""
        recipes = tuple(glob for name in self._words & _RECIPES.keys() for glob in _RECIPES[name])
        for globs, answer in ((self.protect, False), (self.may_edit, True), (PROTECTED, False), (recipes, False)):
            # What stands in the place of a folder of tests counts as one of them.
            if any(glob_pattern(glob).fullmatch(path) or glob_pattern(glob).fullmatch(f"{path}/x") for glob in globs):
                return answer
        return None

    def touched(self, paths: Iterable[str], before: Callable[[str], bytes], after: Callable[[str], bytes]) -> list[str]:
        """Those of the changed `paths` that are taken from the snapshot.

        Args:
            paths: what an attempt added, modified or deleted.
            before: the content of a path in the snapshot, empty where there is none.
            after: the same of the attempt.
        """
        found = []
        for path in paths:
            allowed = self._allowed(path)
            parts = _PARTS.get(path.rpartition("/")[2])
            if allowed is False or (allowed is None and parts and parts(before(path)) != parts(after(path))):
                found.append(path)
        return found

    def named(self, paths: Iterable[str]) -> list[str]:
        """Those of the `paths` that a check names: a script that it runs, or the program that it judges."""
        words = self._words
        return [path for path in paths if path in words]

    @property
    def _words(self) -> set[str]:
        """The words of the checks, paths as the tree has them."""
        return {os.path.normpath(word) for command in self.checks for word in _words(command)}

    @property
    def identity(self) -> str:
        """What tells two of them apart."""
        return json.dumps([self.may_edit, self.protect, sorted(self._words & _RECIPES.keys())])


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote is not closed, as the shell will say
        return command.split()


def _pyproject(content: bytes) -> Any:
    """What configures tests, or bakeoff, in a pyproject.toml; the rest of the file is an attempt's to change."""
    try:
        tools = tomllib.loads(content.decode()).get("tool", {})
    except (ValueError, AttributeError):
        return content
    return {name: tools.get(name) for name in ("pytest", "coverage", "tox", "nox", "hatch", "bakeoff")}


def _package(content: bytes) -> Any:
    """The same in a package.json."""
    try:
        found = json.loads(content) if content else {}
        return {name: found.get(name) for name in ("scripts", "jest", "vitest", "mocha", "ava", "tap")}
    except (ValueError, AttributeError):
        return content


_PARTS: dict[str, Callable[[bytes], Any]] = {"pyproject.toml": _pyproject, "package.json": _package}

_cache: dict[str, re.Pattern[str]] = {}


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` and `?` stop at a slash, `**` does not; a glob without a slash may stand in any folder."""
    found = _cache.get(glob)
    if found is None:
        wide = glob if "/" in glob.rstrip("/") else f"**/{glob}"
        wide = wide.removeprefix("/") + ("**" if wide.endswith("/") else "")
        parts: Sequence[str] = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", wide)
        found = _cache[glob] = re.compile("".join(_WILD.get(part) or _literal(part) for part in parts), re.DOTALL)
    return found


def _literal(part: str) -> str:
    return part.replace("[!", "[^", 1) if part.startswith("[") and part.endswith("]") else re.escape(part)


_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
