"""Names of test machinery that a project's own product may bear, too: a package `_pytest`, a folder `testing`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

FOLDERS = frozenset({"testing", "pytest", "_pytest", "unittest", "pluggy", "iniconfig"})
MODULES = frozenset({"pytest.py", "unittest.py", "pluggy.py", "iniconfig.py"})

GLOBS = (*sorted(MODULES), *(f"**/{name}/**" for name in sorted(FOLDERS)))
"""What is protected unless the snapshot has it: new, it would be loaded in place of a test run's own."""

_PYTHON_TESTS = re.compile(r"test_.*\.py|.*_test\.py|tests\.py|conftest\.py")
_TESTS = re.compile(r"(?i).*tests?[._-].*|.*[._-](?:tests?|spec)\..*")


def namesakes(path: str) -> Iterator[str]:
    """The path and the folders above it, as far as they bear such a name."""
    parts = path.split("/")
    if parts[-1] in MODULES:
        yield path
    if not FOLDERS.isdisjoint(parts):
        yield from ("/".join(parts[: place + 1]) for place, part in enumerate(parts) if part in FOLDERS)


def of_product(files: Iterable[str]) -> frozenset[str]:
    """The folders and modules of a snapshot that bear such a name and are the project's product.

    A folder with tests in it is none: one of its files is a Python test, or most are named as tests are.

    Args:
        files: all paths of the snapshot.
    """
    found: set[str] = set()
    direct: dict[str, list[str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        if name in MODULES:
            found.add(path)
        for above in namesakes(folder):
            names = direct.setdefault(above, [])
            if above == folder:
                names.append(name)
    return frozenset(found | {folder for folder, names in direct.items() if not _are_tests(names)})


def _are_tests(names: list[str]) -> bool:
    tests = sum(_TESTS.fullmatch(name) is not None for name in names)
    return any(_PYTHON_TESTS.fullmatch(name) for name in names) or tests * 2 > len(names)
