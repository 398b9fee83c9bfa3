"""What pytest is given: of a project's own options those that say how tests are found and understood."""

from __future__ import annotations

import configparser
import os
import shlex
import tomllib

VALUED = ("-p", "-W", "--pythonwarnings", "--import-mode", "--asyncio-mode", "--doctest-glob", "-o", "--confcutdir")
PLAIN = ("--strict-markers", "--strict-config", "--strict", "--doctest-ignore-import-errors", "--anyio-mode",
         "--pyargs", "--runxfail")  # fmt: skip
OFF = ("cacheprovider", "xdist", "xdist.looponfail", "cov", "pytest_cov", "randomly", "random_order", "codspeed",
       "memray", "profiling", "sugar", "rerunfailures", "testmon", "instafail")  # fmt: skip
"""Plugins that would run tests elsewhere, in another order, more than once, or write files."""
DROPPED = ("xdist", "cov", "pytest_cov", "cacheprovider", "randomly")
"""Plugins that are off in any case."""


FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Where pytest's configuration stands, the first first."""


def home(root: str, path: str) -> str:
    """The folder that tests of a file are run in: the project's top, unless only one further down is configured.

    Args:
        root: the project's top.
        path: of the file or folder, relative to it; of several configured folders the nearest counts.
    """
    if configuration(root) is not None:
        return root
    folder = os.path.join(root, path)
    while folder.startswith(os.path.join(root, "")):
        if os.path.isdir(folder) and configuration(folder) is not None:
            return folder
        folder = os.path.dirname(folder)
    return root


def arguments(root: str, folder: str, given: list[str]) -> list[str]:
    """What is given to pytest to find tests by, as it is run in `folder`."""
    if folder == root:
        return given
    return [os.path.join(root, path) for path in given] or [folder]


def flags(root: str, folder: str) -> list[str]:
    """The options for one run of tests in this process, configured in `folder`."""
    found = ["-q", "--no-header", "--no-summary", "--tb=short", f"--rootdir={root}", "-o", "addopts="]
    configured = configuration(folder)
    if folder != root and configured is not None:
        found += ["-c", configured[0]]
    for name in OFF:
        found += ["-p", f"no:{name}"]
    return [*found, *kept_options(folder), "-W", "ignore::pytest.PytestAssertRewriteWarning"]


def kept_options(root: str) -> list[str]:
    """The options to give."""
    words = addopts(root)
    found: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        name, equals, value = word.partition("=")
        index += 1
        if name in VALUED and not equals and index < len(words):
            value = words[index]
            index += 1
            if not (name == "-p" and value.removeprefix("no:") in DROPPED):
                found += [name, value]
        elif word[:2] == "-p" and word[2:].removeprefix("no:") in DROPPED:
            continue
        elif (name in VALUED and equals) or word in PLAIN or (word[:2] in ("-W", "-p") and len(word) > 2):
            found.append(word)
    return found


def addopts(folder: str) -> list[str]:
    """What the first configuration file says that is one of pytest's."""
    found = configuration(folder)
    return found[1] if found is not None else []


def configuration(folder: str) -> tuple[str, list[str]] | None:
    """The first file in a folder that is one of pytest's, with its `addopts`; None where there is none."""
    for name in FILES:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        try:
            found = _from_toml(path, name) if name.endswith("toml") else _from_ini(path, name)
        except (OSError, ValueError, configparser.Error):
            continue  # pytest will say so
        if found is not None:
            return path, found
    return None


def _from_toml(path: str, name: str) -> list[str] | None:
    with open(path, "rb") as file:
        table = tomllib.load(file)
    if name == "pyproject.toml":
        tool = table.get("tool", {}).get("pytest")
        if tool is None:
            return None
        table = tool.get("ini_options", tool)
    else:
        table = table.get("pytest", table)
    given = table.get("addopts", [])
    return shlex.split(given) if isinstance(given, str) else [str(word) for word in given]


def _from_ini(path: str, name: str) -> list[str] | None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(path, encoding="utf-8")
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    if not parser.has_section(section):
        return [] if name in ("pytest.ini", ".pytest.ini") else None
    return shlex.split(parser.get(section, "addopts", fallback=""))
