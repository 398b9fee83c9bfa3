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


def flags(root: str) -> list[str]:
    """The options for one run of tests in this process."""
    found = ["-q", "--no-header", "--no-summary", "--tb=short", f"--rootdir={root}", "-o", "addopts="]
    for name in OFF:
        found += ["-p", f"no:{name}"]
    return [*found, *kept_options(root), "-W", "ignore::pytest.PytestAssertRewriteWarning"]


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


def addopts(root: str) -> list[str]:
    """What the first configuration file says that is one of pytest's."""
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        path = os.path.join(root, name)
        if not os.path.isfile(path):
            continue
        try:
            found = _from_toml(path, name) if name.endswith("toml") else _from_ini(path, name)
        except (OSError, ValueError, configparser.Error):
            continue  # pytest will say so
        if found is not None:
            return found
    return []


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
