"""Protected paths: tests and what configures them, from the snapshot, so that no attempt writes its own exam."""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.reader.reading import UnreadError, read_here

PROTECTED = (
    # tests
    "**/tests/**", "**/test/**", "**/__tests__/**", "**/spec/**", "**/testdata/**",
    "**/__snapshots__/**", "test_*.py", "*_test.py", "tests.py", "conftest.py", "*_test.go", "*.test.*", "*.spec.*",
    "*_spec.rb", "*[-_]test.[jt]s", "*[-_]test.[cm][jt]s", "/test.py", "/test.[jt]s", "/test.[cm][jt]s",
    # what configures them
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "noxfile.py", ".coveragerc",
    "jest.config.*", "ava.config.*", "vitest.config.*", "vitest.workspace.*", "vite.config.*", "karma.conf.*",
    ".mocharc*", "playwright.config.*", "cypress.config.*", "phpunit.xml*", ".rspec",
    # what bakeoff itself obeys the next time
    "/bakeoff.toml", "/.bakeoff/**", "/.worktreeinclude", "/.specify/integration.json",
    # what a Python test run would load before the tests, or in place of its runner
    "sitecustomize.py", "usercustomize.py", "*.pth", "**/*.dist-info/**", "**/*.egg-info/**",
    # what an interpreter takes in place of a test's source, and what a checker believes in place of looking
    "*.py[co]", "**/__pycache__/**", "**/test_*/__init__.*", "**/*_test/__init__.*", "**/conftest/**", "test_*.so",
    "test_*.pyd", "*_test.so", "*_test.*.so", "*_test.pyd", "*_test.*.pyd", "conftest.so", "conftest.*.so",
    "conftest.pyd", "conftest.*.pyd", "**/.mypy_cache/**", "*.tsbuildinfo", ".eslintcache",
)  # fmt: skip
"""Globs; one without a slash names a file in any folder."""

_TEST = re.compile(r"(?:.*[._-])?tests?(?:[._-].*)?\.(?:py|rb|[cm]?[jt]sx?)")
"""The name of a file with `test` as a word in it, in a language whose tests may be called as they like."""

_RECIPES = {
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk"), "gmake": ("Makefile", "makefile", "GNUmakefile", "*.mk"),
    "just": ("justfile", ".justfile", "Justfile"), "task": ("Taskfile.y*ml", "Taskfile.dist.y*ml"),
    "rake": ("Rakefile", "rakefile", "*.rake"), "invoke": ("/tasks.py",),
}  # fmt: skip
"""What says which tests are run, by the program that a check starts."""


_MACHINERY_FOLDERS = frozenset({"testing", "pytest", "_pytest", "unittest", "pluggy", "iniconfig"})
_MACHINERY_MODULES = frozenset({"pytest.py", "unittest.py", "pluggy.py", "iniconfig.py"})

_MACHINERY_GLOBS = (*sorted(_MACHINERY_MODULES), *(f"**/{name}/**" for name in sorted(_MACHINERY_FOLDERS)))
"""What is protected unless the snapshot has it: new, it would be loaded in place of a test run's own."""

_PYTHON_TESTS = re.compile(r"test_.*\.py|.*_test\.py|tests\.py|conftest\.py")
_ANY_TESTS = re.compile(r"(?i).*tests?[._-].*|.*[._-](?:tests?|spec)\..*")


@dataclass(frozen=True, slots=True)
class Protection:
    """Rules for which paths of an attempt are taken from the snapshot when it is judged.

    Attributes:
        may_edit: globs of paths that attempts may change although they are tests or configure them.
        protect: further globs that they may not change.
        checks: the commands that judge; what `make` and its like read for them is protected, too.
        product: folders and modules that are the project's own, though they are named as test machinery is.
    """

    may_edit: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    product: frozenset[str] = frozenset()

    def within(self, files: Iterable[bytes]) -> Protection:
        """The same for a project whose snapshot has these files."""
        return replace(self, product=_of_product(map(os.fsdecode, files)))

    def covers(self, path: str) -> bool:
        """Whether the path is taken from the snapshot, whatever an attempt made of it."""
        return self._allowed(path) is False

    def allows(self, path: str) -> bool:
        """Whether attempts were given leave to change the path, whatever it is."""
        return self._allowed(path) is True

    def _allowed(self, path: str) -> bool | None:
        """True: it may be edited; False: it may not; None: nothing is said of it."""
        usual = [*PROTECTED, *(glob for name in self._words & _RECIPES.keys() for glob in _RECIPES[name])]
        if not self.product.issuperset(_namesakes(path)):
            usual += _MACHINERY_GLOBS
        for globs, answer in ((self.protect, False), (self.may_edit, True), (usual, False)):
            # What stands in the place of a folder of tests counts as one of them.
            if any(glob_pattern(glob).fullmatch(path) or glob_pattern(glob).fullmatch(f"{path}/x") for glob in globs):
                return answer
        # A file that is called a test and is named by a check is one, wherever it stands.
        return False if _TEST.fullmatch(path.rpartition("/")[2]) and path in self._words else None

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
            if allowed is None and path.rpartition("/")[2] in _PARTS:
                allowed = _configures(path, before(path)) == _configures(path, after(path))
            if allowed is False:
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


def unmatched(globs: Iterable[str], files: Iterable[bytes]) -> list[str]:
    """Warnings, one on each pattern that fits none of the files. Blocks."""
    paths = [os.fsdecode(path) for path in files]
    folders = {path[:end] for path in paths for end, sign in enumerate(path) if sign == "/"}
    said = []
    for glob in dict.fromkeys(globs):
        pattern = glob_pattern(glob)
        if any(pattern.fullmatch(path) for path in paths):
            continue
        inside = any(pattern.fullmatch(folder) for folder in folders)
        hint = f"; for what is in that folder give {glob}/**" if inside else ""
        what = (
            f"--protect {glob} (`protect` in files) matches no file of the snapshot, so it protects none that is there"
        )
        said.append(f"{what}{hint}")
    return said


USUAL = Protection()
"""What holds where nobody says more."""


def _namesakes(path: str) -> Iterator[str]:
    """The path and the folders above it, as far as they bear such a name."""
    parts = path.split("/")
    if parts[-1] in _MACHINERY_MODULES:
        yield path
    if not _MACHINERY_FOLDERS.isdisjoint(parts):
        yield from ("/".join(parts[: place + 1]) for place, part in enumerate(parts) if part in _MACHINERY_FOLDERS)


def _of_product(files: Iterable[str]) -> frozenset[str]:
    """The folders and modules of a snapshot that bear such a name and are the project's product.

    A folder with tests in it is none: one of its files is a Python test, or most are named as tests are.
    """
    found: set[str] = set()
    direct: dict[str, list[str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        if name in _MACHINERY_MODULES:
            found.add(path)
        for above in _namesakes(folder):
            names = direct.setdefault(above, [])
            if above == folder:
                names.append(name)
    return frozenset(found | {folder for folder, names in direct.items() if not _are_tests(names)})


def _are_tests(names: list[str]) -> bool:
    tests = sum(_ANY_TESTS.fullmatch(name) is not None for name in names)
    return any(_PYTHON_TESTS.fullmatch(name) for name in names) or tests * 2 > len(names)


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote is not closed, as the shell will say
        return command.split()


def _configures(path: str, content: bytes) -> str | bytes:
    """Part of a project file that configures tests; all of one that cannot be read. The rest may be changed."""
    if len(content) <= _LARGEST:
        with suppress(UnreadError):
            return str(read_here(configuration, content, path.rpartition("/")[2], seconds=_SECONDS))
    return content


def configuration(data: bytes, name: str) -> str:
    """Configuration of tests, or of bakeoff, in a `pyproject.toml` or `package.json`; for a reader process.

    Passes on ValueError: it is not what its name says.
    """
    if not data.strip():
        whole: Any = {}
    else:
        whole = tomllib.loads(data.decode()).get("tool", {}) if name == "pyproject.toml" else json.loads(data)
    return json.dumps({key: whole.get(key) for key in _PARTS[name]}, sort_keys=True, default=repr)


_PARTS = {
    "pyproject.toml": ("pytest", "coverage", "tox", "nox", "hatch", "bakeoff"),
    "package.json": ("scripts", "jest", "vitest", "mocha", "ava", "tap"),
}
_LARGEST = 4 << 20
"""Bytes of a project file that is looked into."""
_SECONDS = 3.0
"""Seconds of processor time that this may take."""

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
