"""What the jobs must know of a project's language: which files are tests, and how they are run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass


class Unusable(Exception):
    """The project cannot be tried in this way; the text is the reason for the table."""


def _no_test(path: str) -> bool:
    return False


def _no_counts(text: str) -> Counter[str]:
    return Counter()


@dataclass(frozen=True, slots=True)
class Language:
    """A language, with the runner of one project's tests.

    Attributes:
        name: as the table has it.
        suffixes: what the names of its files end in.
        suite: the command that runs test files and says how many passed; empty where tests cannot be run.
        check: the same, ending at the first failure.
        parallel: `suite` with the number of cores in braces; empty where the runner has its own way.
        is_test: whether a file of this name is tests.
        counts: the numbers in what the runner printed, by words such as `passed`.
        comment: what a comment at the end of a line begins with.
        broken: a line that no file of the language may have.
        empty_test: a file with one test that passes.
    """

    name: str
    suffixes: tuple[str, ...]
    suite: str = ""
    check: str = ""
    parallel: str = ""
    is_test: Callable[[str], bool] = _no_test
    counts: Callable[[str], Counter[str]] = _no_counts
    comment: str = "//"
    broken: str = "this is no program ("
    empty_test: str = ""

    def check_of(self, tests: Iterable[str]) -> str:
        """The shell command that checks by some test files; one that passes where tests cannot be run."""
        return f"{self.check} {' '.join(tests)}" if self.check else "true"


UNTESTED = Language("its tests cannot be run here", (".rs", ".go", ".c", ".h", ".java", ".js", ".ts"))
"""Of projects whose history alone is of use."""
