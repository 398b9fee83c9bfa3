"""Diagnosis of failed checks, by what they printed: of a check that cannot judge anything, and of a broken build.

The preflight looks at a check's run where nothing was changed: does it fail by itself, or by the code? An attempt's
verdict tells code that cannot even be loaded from tests that fail.
"""

from __future__ import annotations

import re
import shlex

from bakeoff.judge.verdict import INVALID, ValidationResult

LONGEST = 500
"""Characters of a line beyond which it is not looked at."""

NOT_FOUND, NOT_EXECUTABLE, PYTEST_USAGE, PYTEST_INTERRUPTED = 127, 126, 4, 2
"""Exit statuses of a shell without the program, with one that it may not run; of pytest that was asked wrongly, and of
pytest that ran none of its tests, for some could not be collected."""

_INSTALLED = r"/lib/python[\d.]+/|/(?:site|dist)-packages/"

_OF_CODE = re.compile(
    rf"ImportError while loading conftest|ConftestImportFailure|(?m:^INTERNALERROR> +File \"(?!<|.*(?:{_INSTALLED})))"
)
"""pytest: a `conftest.py` that cannot be imported, and a traceback that leads through code of the project."""

_WHY_NONE = re.compile(r"INTERNALERROR> [A-Za-z_][\w.]*(?:$|: )|ERROR: |!+ .* !+$")
"""Lines by which pytest says why it ran nothing."""

_ASKED_WRONGLY = re.compile(r"(?:\S*/)?[\w.]+: error: ")
"""How argparse says what it did not understand."""

_SIGNS = tuple(map(re.compile, (
    # shells; a number before the colon is a line of the command, and line 0 the script itself
    r"(?:\S*/)?(?:da|ba|z|k)?sh: (?:line )?(?:\d+: )?syntax error", r"(?:\S*/)?sh: 0: cannot open ",
    r"(?:\S*/)?(?:da|ba|z|k)?sh: (?:line )?(?:\d+: )?(?:Syntax error|cd: )",
    # Python, pytest, unittest
    r"\S*python[\d.]*: (?:can't open file|No module named|Error while finding module)",
    r"ERROR: (?:file or directory not found|not found|usage): ", r"(?:\S*/)?(?:pytest|py\.test): error: ",
    r"ImportError: Start directory is not importable", r"usage: python[\d.]* -m unittest",
    # make and its like
    r"g?make(?:\[\d+\])?: \*\*\* (?:No rule to make target [^,]*\.  Stop|No targets|no makefile|\[.*\] Error 12[67])",
    r"g?make: [^:]*: No such file or directory$", r"error: [Jj]ustfile does not contain recipe",
    r"task: Task \"[^\"]*\" does not exist", r"Don't know how to build task ", r"No idea what '[^']*' is!",
    r".*provided environments not found in configuration file",
    # JavaScript
    r"npm (?:ERR!|error) (?:Missing script:|.*ENOENT.*package\.json)", r"error Command \"[^\"]*\" not found",
    r"\W*ERR_PNPM_(?:NO_SCRIPT|NO_IMPORTER_MANIFEST)", r"Could not find '[^']*'$",
    r"No tests? (?:files )?found, exiting with code", r"\W*Error: No test files found",
    # Go, Rust, Ruby
    r"go: (?:cannot find main module|go\.mod file not found|.*matched no packages)", r"no Go files in ",
    r".*: directory not found$", r"error: (?:could not find `Cargo\.toml`|no (?:test|bin|example|bench) target named)",
    r"error: no such command: ",
)))  # fmt: skip
"""Lines by which programs say that they were asked for what is not there."""

_NONE_RAN = re.compile(r"(?i)\b(?:0|no) (?:tests?|test files?|examples|passing|specs?)\b|\btests 0\b")
"""Words of a runner that had nothing to run. One that ends well without them may only print what is not understood."""

_UNNAMED = re.compile(
    r"(?:ModuleNotFoundError: No module named '(?P<module>[^']+)'"
    r"|AttributeError: module '(?P<owner>[^']+)' has no attribute '(?P<name>[^']+)'"
    r"|AttributeError: type object '(?P<type>[^']+)' has no attribute '(?P<method>[^']+)'"
    r"|.*Cannot find module '(?P<script>[^']+)'|.*cannot load such file -- (?P<file>\S+))"
)
"""Lines that say so only where the command names what is missing: else it is the code that misses it."""

_PYTHON = re.compile(r"(?:^|/)python[\d.]*$")
_INLINE = re.compile(r'\s*File "<(?:string|stdin)>", line \d+, in <module>$')
_UNMAKEABLE = re.compile(
    r"ModuleNotFoundError: No module named '\w+'$"
    rf"|ImportError: cannot import name '\w+' from '[\w.]+' \(.*(?:{_INSTALLED})"
)
"""What Python says of a whole module that is nowhere, and of a name that is not in a module of others."""


def why_unrunnable(command: str, found: ValidationResult) -> str | None:
    """Reason why a check cannot judge, by its verdict on the snapshot; None for one that passes or simply fails.

    It cannot where its program is missing or may not be run, where it would meet another tree or ran no test, and
    where a shell, an interpreter or a runner says that it was asked for what is not there.
    """
    if found.result:
        return None
    said = found.reason.strip()
    status = (found.receipt or {}).get("exit_code")
    lines = [line.rstrip() for line in said.splitlines() if len(line) <= LONGEST]
    if found.error == INVALID or found.error in ("sandbox", "spawn"):
        unsaid = status == 0 and lines and lines[0].endswith("ran no test")
        if unsaid and not any(_NONE_RAN.search(line) for line in lines[1:]):
            return None
        sign = next((line for line in lines if _says_so(command, line)), None)
        if sign is not None and "usage: " in sign:  # what was wrong with it comes behind
            sign = next((line for line in lines if _ASKED_WRONGLY.match(line)), sign)
        sign = sign or next((line for line in reversed(lines) if _WHY_NONE.match(line)), None)
        return ": ".join(filter(None, (lines[0] if lines else found.error, sign)))
    if status in (NOT_FOUND, NOT_EXECUTABLE):
        what = "was not found" if status == NOT_FOUND else "may not be executed"
        words = ("not found", "No such file") if status == NOT_FOUND else ("denied", "format error", "Is a directory")
        line = next((line for line in reversed(lines) if any(word in line for word in words)), "")
        return f"its program {what}, exit status {status}" + (f": {line}" if line else "")
    if _tests_ran(found):  # what they print says nothing of the check
        lines = [line for line in lines if _UNNAMED.match(line)] if _all_failed(found) else []
    return next((line for line in lines if _says_so(command, line)), None) or _missed_by_itself(lines)


def _missed_by_itself(lines: list[str]) -> str | None:
    """Line on a missing import of code that stands in the command itself (`python -c`), which no attempt can make."""
    inside = False
    for line in lines:
        if line.lstrip().startswith('File "'):
            inside = _INLINE.match(line) is not None
        elif inside and _UNMAKEABLE.match(line):
            return line
    return None


def without_code(command: str) -> str:
    """A command without what it has Python run as code: the names in that are no files."""
    words = _words(command)
    for place in range(len(words) - 1, 1, -1):
        before = words[place - 1]
        if re.fullmatch(r"-[A-Za-z]*c", before) and any(_PYTHON.search(word) for word in words[:place]):
            del words[place]
    return shlex.join(words)


def _tests_ran(found: ValidationResult) -> bool:
    tests = (found.receipt or {}).get("tests")
    return isinstance(tests, dict) and bool(tests.get("ran"))


def _all_failed(found: ValidationResult) -> bool:
    """Whether each test failed: unittest has one for a module that is not there."""
    tests = (found.receipt or {})["tests"]
    return bool(tests["runner"] == "unittest" and tests["ran"] == tests["failed"])


def of_code(printed: str) -> bool:
    """Whether pytest ended because of the project's code: of a `conftest.py` that cannot be imported, or of a hook."""
    return _OF_CODE.search(printed) is not None


def _says_so(command: str, line: str) -> bool:
    if any(sign.match(line) for sign in _SIGNS):
        return True
    found = _UNNAMED.match(line)
    if found is None:
        return False
    parts = found.groupdict()
    if parts["module"] or parts["owner"] or parts["type"]:
        missing = parts["module"] or ".".join(filter(None, (parts["owner"], parts["name"])))
        missing = missing or f"{parts['type']}.{parts['method']}"
        return any(_is_below(word, missing) for word in _words(command))
    file = (parts["script"] or parts["file"]).rpartition("/")[2]
    return any(word.rpartition("/")[2] == file for word in _words(command))


def _is_below(word: str, missing: str) -> bool:
    """Whether a dotted name, or a path of a Python file, is the missing one or inside of it."""
    dotted = word.removesuffix(".py").replace("/", ".")
    return f".{dotted}.".find(f".{missing}.") >= 0


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


_UNLOADED = re.compile(
    r"(?:E\s+|\w+: )*(?:ModuleNotFoundError|ImportError(?! while)|SyntaxError|IndentationError|TabError)\b"
    r"|.*(?:Cannot find module|error\[E\d+\]|: undefined: |\[build failed\]|could not compile|error TS\d+:)"
)


def broken(verdict: ValidationResult) -> str | None:
    """The line that says why the code could not be loaded; None where it could, or nobody can say.

    A failed verdict is meant where no test passed and the output names an import, a syntax or a build that failed.
    """
    if verdict.result or verdict.error is not None:
        return None
    tests = (verdict.receipt or {}).get("tests")
    if isinstance(tests, dict) and (tests.get("ran") or 0) > (tests.get("failed") or 0):
        return None
    lines = (line.strip() for line in verdict.reason.splitlines() if len(line) <= LONGEST)
    return next((line.removeprefix("E").strip() for line in lines if _UNLOADED.match(line)), None)


def is_near(verdict: ValidationResult) -> bool:
    """Whether a verdict tells that its requirement was nearly met: what was judged was loaded, and judged."""
    return not verdict.result and verdict.error is None and broken(verdict) is None
