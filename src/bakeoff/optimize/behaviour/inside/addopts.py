"""Options of pytest: the project's own, without those that a run in this process cannot have."""

from __future__ import annotations

import configparser
import os
import shlex
import tomllib

BREAKING = {
    # where, how often and in which order tests run, and when they stop
    "--numprocesses": True, "--maxprocesses": True, "--dist": True, "--tx": True, "--max-worker-restart": True,
    "--rsyncdir": True, "--rsyncignore": True, "--looponfail": False, "--forked": False, "--boxed": False,
    "--exitfirst": False, "--maxfail": True, "--lf": False, "--last-failed": False, "--ff": False,
    "--failed-first": False, "--nf": False, "--new-first": False, "--lfnf": True, "--last-failed-no-failures": True,
    "--sw": False, "--stepwise": False, "--sw-skip": False, "--stepwise-skip": False, "--only-rerun": True,
    "--rerun-except": True,
    # what is shown, and who is asked
    "--verbose": False, "--verbosity": True, "--quiet": False, "--capture": True, "--show-capture": True,
    "--tb": True, "--showlocals": False, "--no-showlocals": False, "--full-trace": False, "--color": True,
    "--code-highlight": True, "--no-header": False, "--no-summary": False, "--pdb": False, "--pdbcls": True,
    "--trace": False, "--pastebin": True, "--setup-show": False, "--setup-only": False, "--setup-plan": False,
    "--co": False, "--collect-only": False, "--fixtures": False, "--markers": False, "--debug": False,
    # where things stand
    "--config-file": True, "--rootdir": True, "--basetemp": True,
}  # fmt: skip
"""Options that a run in this process cannot have, and whether a word follows; all others are the project's to say."""
BREAKING_KINDS = ("--cov", "--no-cov", "--junit", "--durations", "--reruns", "--random", "--testmon", "--codspeed",
                  "--memray", "--profile", "--html", "--self-contained-html", "--css", "--log-file", "--cache",
                  "--json-report", "--report-log", "--instafail", "--benchmark-save", "--benchmark-autosave",
                  "--benchmark-json", "--benchmark-storage")  # fmt: skip
"""What the names of such options begin with, for families of them."""
BREAKING_FLAGS = ("--no-cov", "--cov-append", "--cov-branch", "--testmon", "--codspeed", "--memray", "--profile",
                  "--self-contained-html", "--cache-clear", "--instafail", "--benchmark-autosave")  # fmt: skip
"""Those of them that no word follows."""
ALONE = ("--strict-markers", "--strict-config", "--strict", "--pyargs", "--runxfail", "--doctest-modules", "--sugar",
         "--doctest-ignore-import-errors", "--doctest-continue-on-failure", "--continue-on-collection-errors",
         "--keep-duplicates", "--collect-in-virtualenv", "--noconftest", "--disable-warnings",
         "--disable-pytest-warnings", "--benchmark-disable", "--benchmark-skip", "--benchmark-enable",
         "--benchmark-only")  # fmt: skip
"""Kept options that no word follows: a word behind them is a place to look for tests in."""
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
    """Arguments for pytest to find tests by, as it is run in `folder`."""
    if folder == root:
        return given or kept_options(folder)[1]
    return [os.path.join(root, path) for path in given] or kept_options(folder)[1] or [folder]


def flags(root: str, folder: str) -> list[str]:
    """The options for one run of tests in this process, configured in `folder`."""
    found = ["-q", "--no-header", "--no-summary", "--tb=short", f"--rootdir={root}", "-o", "addopts="]
    found.append("--continue-on-collection-errors")  # a file that lacks a module says nothing of the others
    configured = configuration(folder)
    if folder != root and configured is not None:
        found += ["-c", configured[0]]
    for name in OFF:
        found += ["-p", f"no:{name}"]
    return [*found, *kept_options(folder)[0], "-W", "ignore::pytest.PytestAssertRewriteWarning"]


def kept_options(folder: str) -> tuple[list[str], list[str]]:
    """The options that the project's configuration gives to every run, and the places of tests that it names."""
    options: list[str] = []
    places: list[str] = []
    words = addopts(folder)
    value_of = ""  # the option whose value the next word may be
    while words:
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        if not word.startswith("-"):
            (options if value_of else places).append(word)
            value_of = ""
        elif _is_breaking(name):
            if not equals and _takes_value(name) and words and not words[0].startswith("-"):
                words.pop(0)
            value_of = ""
        elif word == "-p" and words:
            plugin = words.pop(0)
            if plugin.removeprefix("no:") not in DROPPED:
                options += [word, plugin]
        elif not (word.startswith("-p") and word[2:].removeprefix("no:") in DROPPED):
            options.append(word)
            joined = equals or (len(word) > 2 and word[1] != "-")
            value_of = "" if joined or name in ALONE else name
    return options, places


def _is_breaking(name: str) -> bool:
    if name.startswith("--"):
        return name in BREAKING or name.startswith(BREAKING_KINDS)
    rest = name[1:].lstrip("vqsxlf")  # several letters may stand in one word
    return not rest or rest[0] in "nrc"


def _takes_value(name: str) -> bool:
    if name.startswith("--"):
        return BREAKING[name] if name in BREAKING else not name.startswith(BREAKING_FLAGS)
    return name[-1] in "nrc"


def addopts(folder: str) -> list[str]:
    """`addopts` of the first configuration file that is one of pytest's."""
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
