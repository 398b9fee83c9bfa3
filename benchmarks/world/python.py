"""Projects of Python: installed in a `.venv`, tested by pytest."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.world.language import Language, Unusable

if TYPE_CHECKING:
    from benchmarks.world.project import Project

GROUPS = ("tests", "test", "testing", "dev")
REQUIREMENTS = (
    "requirements/tests.txt",
    "requirements/test.txt",
    "requirements/dev.txt",
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements-dev.txt",
    "test-requirements.txt",
    "dev-requirements.txt",
    "requirements_test.txt",
)
INSTALL_SECONDS = 600
WORDS = ("passed", "failed", "skipped", "xfailed", "xpassed", "error")


def is_python(top: Path) -> bool:
    """Whether contributors install it with pip."""
    return any((top / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg"))


def is_test(path: str) -> bool:
    """Whether a file of this name is tests, as pytest or a project's own settings have it."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py") or name == "test.py")


def counts(text: str) -> Counter[str]:
    """The numbers of pytest's last line."""
    line = next((line for line in reversed(text.splitlines()) if re.search(r"\d+ \w+.* in [\d.]+s", line)), "")
    found = re.findall(r"(\d+) ([a-z]+)", line)
    return Counter({word.removesuffix("s"): int(number) for number, word in found if word.removesuffix("s") in WORDS})


# Verbose, so that the line with the counts is there also where the project's own options say quiet.
_SUITE = "python -m pytest -v -p no:cacheprovider"
PYTHON = Language(
    "Python",
    (".py",),
    suite=_SUITE,
    check="python -m pytest -q -x",
    parallel=f"{_SUITE} -n {{}}",
    is_test=is_test,
    counts=counts,
    comment="#",
    broken="this is no python",
    empty_test="def test_it():\n    pass\n",
)


def install(project: Project) -> str:
    """Make the `.venv`, and say what could not be installed. Raises Unusable where pytest is not to be had."""
    top = project.top
    project.run([sys.executable, "-m", "venv", top / ".venv"])
    pip: list[str | Path] = [top / ".venv/bin/python", "-m", "pip", "install", "--quiet"]
    project.run([*pip, "--upgrade", "pip"], INSTALL_SECONDS)
    makefile = top / "Makefile"
    if makefile.exists() and "cython" in makefile.read_text():
        project.run([*pip, "cython"], INSTALL_SECONDS)  # contributors make the C of its extensions before
        project.run(["python", "-m", "cython", *project.git("ls-files", "*.pyx").splitlines()], INSTALL_SECONDS)
    missing = [" ".join(words) for words in _installs(top) if project.run([*pip, *words], INSTALL_SECONDS).status]
    if project.run([top / ".venv/bin/python", "-m", "pytest", "--version"]).status:
        raise Unusable("pytest cannot be installed beside it")
    return f"not installed: {', '.join(missing)}" if missing else ""


def collected(project: Project) -> Counter[str]:
    """How many tests pytest collects in each file, of all or of what stands for its suite.

    Raises Unusable where that is none.
    """
    words = ["python", "-m", "pytest", "--collect-only", "-q", "-o", "addopts=", f"--rootdir={project.top}"]
    said = project.run([*words, *project.tests]).out
    found = Counter(line.partition("::")[0] for line in said.splitlines() if "::" in line)
    tracked = project.git("ls-files").splitlines()
    tests = Counter({path: found[path] for path in tracked if path in found})
    if not tests:
        raise Unusable(f"pytest collects nothing: {said[-200:]}")
    return tests


def _installs(top: Path) -> list[list[str]]:
    """What contributors install, as words for pip: the project, its tests' requirements, pytest."""
    try:
        declared = tomllib.loads((top / "pyproject.toml").read_text())
    except (OSError, ValueError):
        declared = {}
    extras = declared.get("project", {}).get("optional-dependencies", {})
    extra = next((name for name in GROUPS if name in extras), None)
    group = next((name for name in GROUPS if name in declared.get("dependency-groups", {})), None)
    listed = next((name for name in REQUIREMENTS if (top / name).exists()), None)
    installs = [["-e", f".[{extra}]" if extra else "."]]
    installs += [["--group", group]] if group else []
    installs += [["-r", listed]] if listed else []
    installs += [poetry] if (poetry := _poetry_groups(declared)) else []
    return [*installs, ["pytest", "pytest-xdist"]]


def _poetry_groups(declared: dict[str, Any]) -> list[str]:
    """The names of what poetry installs for contributors."""
    settings = declared.get("tool", {}).get("poetry", {})
    groups = [group.get("dependencies", {}) for group in settings.get("group", {}).values()]
    return sorted({name for group in [*groups, settings.get("dev-dependencies", {})] for name in group} - {"python"})
