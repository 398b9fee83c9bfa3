"""Commits of a project's history that can be replayed: a change of the product with the tests that show it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.world.language import UNTESTED, Unusable
from benchmarks.world.project import Project

LOOKED_AT = 400
TRIED = 12
CHECK_SECONDS = 120
SEARCH_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Change:
    """A commit as its files: what it made of the product, and the tests that came with it.

    Attributes:
        commit: its id.
        product, tests: paths that it modified or added.
        check: the project's own tests of it, as a shell command.
    """

    commit: str
    product: tuple[str, ...]
    tests: tuple[str, ...]
    check: str


def changes(project: Project, most_files: int, least_product: int = 1) -> Iterator[Change]:
    """Commits near HEAD that modify or add code alone, newest first, with tests among them where they can be run."""
    language = project.language
    log = project.git("log", "--no-merges", "--format=%x00%H", "--name-status", "--no-renames", "-n", str(LOOKED_AT))
    for part in log.split("\0")[1:]:
        commit, *lines = [line for line in part.splitlines() if line]
        paths = [line.split("\t", 1)[1] for line in lines if line[0] in "AM"]
        code = [path for path in paths if path.endswith(language.suffixes)]
        tests = [path for path in code if language.is_test(path)]
        product = [path for path in code if "test" not in path and not path.endswith(("setup.py", "noxfile.py"))]
        if any(line[0] not in "AM" for line in lines) or len(paths) > most_files:
            continue
        if len(product) >= least_product and (tests or not language.check):
            yield Change(commit, tuple(product), tuple(tests), language.check_of(tests))


def red_then_green(project: Project, most_files: int = 8, least_product: int = 1) -> Change | None:
    """The newest change whose tests fail without it and pass with it; the clone is left in the state without it.

    That state is a commit of its own: the parent with the tests of the change, as a bug that was reported with a test.
    Raises Unusable where tests cannot be run.
    """
    if not project.language.check:
        raise Unusable(UNTESTED.name)
    until = time.monotonic() + SEARCH_SECONDS
    for number, change in enumerate(changes(project, most_files, least_product)):
        if number == TRIED or time.monotonic() > until:
            break
        project.git("checkout", "--quiet", "--force", f"{change.commit}^")
        project.git("checkout", change.commit, "--", *change.tests)
        project.git("commit", "--quiet", "--no-verify", "--allow-empty", "-m", "Report it with a test")
        if project.run(["sh", "-c", change.check], CHECK_SECONDS).status != 1:
            continue
        project.git("checkout", change.commit, "--", *change.product)
        green = project.run(["sh", "-c", change.check], CHECK_SECONDS).status == 0
        project.git("reset", "--quiet", "--hard")
        if green:
            return change
    return None


def differing(project: Project, change: Change) -> str:
    """The product's files that stand in the work tree otherwise than the commit has them, new ones included."""
    project.git("add", "--intent-to-add", "--all")
    return project.git("diff", "--name-only", change.commit, "--", *change.product)


def files_of(project: Project, change: Change, folder: Path) -> Path:
    """The product's files as the change has them, laid out below `folder`."""
    for path in change.product:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(project.content(change.commit, path))
    return folder
